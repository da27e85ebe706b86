"""Operations that a history acknowledges, and whose writes servers refused by the wire.

Where sound recipes only pass requests to the servers, what is answered last decides an operation.
"""

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from rumpus.checker.history import History
from rumpus.checker.wire.records import WRITES, Request

_PING = "ping"

_LATEST = 1 << 62
"""No clock shows such a time (ns); a file of a stranger may."""


class LastAnswers:
    """When clients sent requests, and which of them were writes that a server refused."""

    def __init__(self) -> None:
        self._sent: defaultdict[int, array[int]] = defaultdict(lambda: array("q"))

    def add(self, request: Request) -> None:
        """Take the next request of the wire."""
        if request.name != _PING and abs(request.sent) < _LATEST:
            refused = request.name in WRITES and bool(request.error)
            self._sent[request.client].append(request.sent << 1 | refused)

    def denied(self, history: History) -> Iterator[str]:
        """The first acknowledged operation whose last request was a write that was refused."""
        sent = {client: sorted(each) for client, each in self._sent.items()}
        for operation in history.operations():
            if operation.outcome != "ok":
                continue
            call, done = operation.invoke, operation.done
            client = history.caller(call)
            requests = sent.get(client, [])
            place = bisect_left(requests, (done.time + 1) << 1) - 1
            if place >= 0 and requests[place] >> 1 >= call.time and requests[place] & 1:
                yield (
                    f"record {done.index}: c{client}'s {call.f} was done, but by the wire a server "
                    "refused the write that it sent last"
                )
                return
