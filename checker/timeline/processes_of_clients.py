"""Whether the operations of clients fit the processes that clients were, and their count.

Compared in the order of the file. The control process writes it, and it alone gives a client its
next process: when an operation ended in ``info`` (but for one clean-up), or when the client's
process exited. So operations that were cut out, or come from another run, leave a process that
nobody was, or one without a reason.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from rumpus.checker.history import History, Op, OpType

OUTCOMES: tuple[OpType, ...] = ("ok", "fail", "info")


@dataclass
class _Client:
    """What a client is at some point of the file.

    Attributes:
        process: its process.
        retired: whether the process calls nothing any more but one clean-up.
        cleaning: whether it is calling that.
        exited: whether its process has ended, and none has begun in its place.
    """

    process: int
    retired: bool = False
    cleaning: bool = False
    exited: bool = False

    def next(self, clients: int) -> None:
        """Go on as the next process."""
        self.process += clients
        self.retired = self.cleaning = False


def unexplained_processes(history: History) -> Iterator[str]:
    """The first record that a client cannot have made as the process that it was then, in words."""
    found = {client: _Client(client) for client in range(history.clients)}
    for op in sorted(history, key=attrgetter("index")):
        told = op.value if isinstance(op.value, dict) else {}
        if isinstance(op.process, int):
            client = history.client_of(op.process)
            take = _called if op.type == "invoke" else _completed
        elif op.process == "session" and op.f in ("exited", "started"):
            client = told["client"]
            take = _exited if op.f == "exited" else _started
        else:
            continue
        if client in found and not take(found[client], op, history.clients):
            yield (
                f"record {op.index} ({op.process} {op.f}) does not fit client c{client}, which was "
                f"process {found[client].process} then"
            )
            return


def _called(client: _Client, op: Op, clients: int) -> bool:
    """Take a call.

    One of an exited process was under way when it ended, and is recorded after its end.
    """
    if client.retired and not client.cleaning:
        if op.process == client.process and not client.exited:
            client.cleaning = True
            return True
        if not client.exited:
            client.next(clients)
    return op.process == client.process


def _completed(client: _Client, op: Op, clients: int) -> bool:
    """Take a completion."""
    if op.process != client.process:
        return False
    if client.exited:
        return op.type == "info"
    if client.cleaning:
        client.next(clients)
    elif op.type == "info":
        client.retired = True
    return True


def _exited(client: _Client, op: Op, clients: int) -> bool:
    """Take the end of the process; it may be the next one if the last had no clean-up to do."""
    process = op.value.get("process")
    if process is None:
        return True
    if client.retired and process == client.process + clients:
        client.next(clients)
    client.exited = True
    return bool(process == client.process)


def _started(client: _Client, op: Op, clients: int) -> bool:
    """Take the beginning of the next process."""
    if not client.exited:
        return False
    client.exited = False
    client.next(clients)
    return op.value.get("process") in (None, client.process)


def miscounted_operations(history: History) -> Iterator[str]:
    """The history has as many completions of each client as were counted at the run's end."""
    for end in history.events("control", "end"):
        counted: Mapping[str, Any] = end.value if isinstance(end.value, dict) else {}
        seen = Counter(
            (op.type, history.client_of(op.process))
            for op in history
            if isinstance(op.process, int)
        )
        for outcome in OUTCOMES if counted else ():
            numbers = counted.get(outcome) or [0] * history.clients
            for client, number in enumerate(numbers):
                if number != seen[outcome, client]:
                    yield (
                        f"by the count at the run's end, {number} operations of c{client} ended "
                        f"with {outcome}, but the history has {seen[outcome, client]}"
                    )
                    return
