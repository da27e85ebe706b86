"""Whether every read got what the tree was: at the zxid that the server's answer names.

A server applies transactions in the order of their zxids, and a reply's header has the last one
that it had applied when it read. So the committed transactions up to there decide the answer, to
the last field of a Stat, whichever server it was and however far behind
(`checker.wire.model_tree`).
Staleness is no anomaly here; a server that lacks a change is, and one that invents something. But
on one connection nothing goes back: not behind what an answer has shown, nor behind what the client
said that it had seen when it connected.
"""

from collections.abc import Callable, Iterator

from rumpus.checker.check import check
from rumpus.checker.server_promises.rules import (
    MOST,
    WRONG_ANSWER,
    Replay,
    anomaly_of_request,
    asked,
    conversations,
    differing,
    replay,
)
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult
from rumpus.checker.wire.access import ADMIN, READ, allowed, sums
from rumpus.checker.wire.matching import Conversations
from rumpus.checker.wire.model_tree import ModelTree, View, is_servers_own, parent_of
from rumpus.checker.wire.records import Handshake, Part, Request, sum_of_names
from rumpus.checker.wire.rules import NO_AUTH, NO_NODE


@check("server answers", finds=[WRONG_ANSWER])
def check_server_answers(timeline: Timeline) -> CheckResult | None:
    """Compare the servers' answers to reads with the committed transactions.

    None without the servers' logs. Cost: O(n log n) for requests and transactions.
    """
    found = timeline.part(replay)
    if found is None:
        return None
    talk = timeline.part(conversations)
    result = CheckResult(name="server answers")
    result.anomalies += _going_back(timeline, talk)
    reads = 0
    for request in talk.requests:
        if request.answered is None or request.error is None:
            continue
        for part in request.parts if request.name == "multi-read" else [request]:
            judge = _READS.get(part.name)
            if judge is None or part.error is None or _unsure(part.path, found):
                continue
            reads += 1
            words = judge(_Read(part, request, talk, found.tree, found.times))
            if words and len(result.anomalies) < MOST:
                who, node = talk.who(request.client), talk.node_of(request)
                words = (
                    f"{who} asked {node} for {asked(part)} and was told {words} "
                    f"(at 0x{request.zxid:x})"
                )
                result.anomalies.append(anomaly_of_request(WRONG_ANSWER, words, request, talk))
    result.stats = {"reads": reads}
    return result


def _going_back(timeline: Timeline, talk: Conversations) -> Iterator[Anomaly]:
    """Answers that show less than their connection had been shown before."""
    shown: dict[tuple[int, int], int] = {}
    for record in timeline.wire:
        connection = (record.client, record.connection)
        if isinstance(record, Handshake):
            if record.session:
                shown[connection] = max(record.seen, shown.get(connection, 0))
        elif isinstance(record, Request) and record.answered is not None and record.zxid > 0:
            before = shown.get(connection, 0)
            if record.zxid < before:
                words = (
                    f"{talk.node_of(record)} answered {asked(record)} of "
                    f"{talk.who(record.client)} at 0x{record.zxid:x}, and the client had seen "
                    f"0x{before:x}"
                )
                yield anomaly_of_request(WRONG_ANSWER, words, record, talk)
            shown[connection] = max(before, record.zxid)


def _unsure(path: str, found: Replay) -> bool:
    return (
        is_servers_own(path)
        or path in found.contested
        or parent_of(path) in found.contested
        or any(each.startswith(f"{path}/") for each in found.contested)
    )


class _Read:
    """A read, its answer, and what the answer must be."""

    def __init__(
        self, part: Part, request: Request, talk: Conversations, tree: ModelTree, times: bool
    ) -> None:
        self.part = part
        self.request = request
        self.talk = talk
        self.tree = tree
        self.times = times
        self.right: View | None = tree.view(part.path or "/", request.zxid)

    def stat(self) -> str:
        """What is wrong with the Stat."""
        if self.part.stat is None or self.right is None:
            return ""
        return differing(self.part.stat, self.right.stat, times=self.times)

    def error(self, permission: int = 0) -> str | None:
        """What is wrong with the error; None if there is none, rightly.

        Args:
            permission: what the read needs; 0: nothing.
        """
        error = self.part.error or 0
        if error == NO_NODE:
            return "" if self.right is None else "NoNode, and it exists"
        if error not in (0, NO_AUTH):
            return ""
        if self.right is None:
            return "of it, and it does not exist"
        may = None
        if permission:
            may = allowed(self.right.acl, permission, self.talk.identities_of(self.request))
        if error == NO_AUTH:
            return "NoAuth, and may read it" if may else ""
        return "of it, and may not read it" if permission and may is False else None


def _exists(read: _Read) -> str:
    return error if (error := read.error()) is not None else read.stat()


def _data(read: _Read) -> str:
    if (error := read.error(READ)) is not None:
        return error
    if read.right is not None and read.part.told != read.right.data:
        return f"data of {read.part.told and read.part.told[0]} bytes that are not its"
    return read.stat()


def _children(read: _Read) -> str:
    if (error := read.error(READ)) is not None:
        return error
    told = read.part.children
    if read.right is not None and told is not None and told != read.right.children:
        return f"{told[0]} children that are not its {read.right.children[0]}"
    return read.stat()


def _acl(read: _Read) -> str:
    if (error := read.error(READ | ADMIN)) is not None:
        return error
    if read.right is not None and read.part.acl not in sums(read.right.acl):
        return "another access control list than it has"
    return read.stat()


def _count(read: _Read) -> str:
    if read.part.path in ("", "/"):
        return ""  # znodes of the servers' own count there
    if (error := read.error(READ)) is not None:
        return error
    number = sum(1 for _ in read.tree.below(f"{read.part.path}/", read.request.zxid))
    return "" if number == read.part.count else f"{read.part.count} znodes below, of {number}"


def _ephemerals(read: _Read) -> str:
    if read.part.error:
        return ""
    session = read.talk.session_of(read.request)
    prefix = read.part.path or "/"
    own = [
        path.encode()
        for path, view in read.tree.below(prefix, read.request.zxid)
        if view.stat.ephemeralOwner == session
    ]
    told = read.part.children
    if told is None or told == sum_of_names(own):
        return ""
    return f"{told[0]} ephemeral znodes that are not its {len(own)}"


_READS: dict[str, Callable[[_Read], str]] = {
    "exists": _exists,
    "get-data": _data,
    "get-children": _children,
    "get-children2": _children,
    "get-acl": _acl,
    "count-children": _count,
    "get-ephemerals": _ephemerals,
}
