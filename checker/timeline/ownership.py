"""Who owned what by the servers: when their sessions ended, and from when to when nodes owned."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from rumpus.checker.timeline.holds import Hold
from rumpus.checker.value_shapes import whole_number

CLOCK_SLACK_NS = 3_000_000
"""Times (ns) of servers and clients nearer than this count as equal: servers stamp whole ms."""


@dataclass(frozen=True)
class SessionEnd:
    """When a session ended on the server (ns on the run's clock), and whether it expired."""

    time: int
    expired: bool


@dataclass(frozen=True, slots=True)
class Ownership:
    """From when to when a session's node owned the lock on the server; ``end`` None: never lost.

    A node owns once it is first in line, or one of the first n for n permits; or, if it is
    ``shared``, once all nodes before it are shared.

    ``created``, ``start`` and ``end`` are nanoseconds on the run's clock. ``grant`` and ``loss``
    are the zxids of the transactions by which it came to own and ceased to. ``deleted``: a request
    of its own session deleted the node.
    """

    path: str
    session: str
    czxid: int
    start: int
    grant: int
    end: int | None = None
    loss: int | None = None
    expired: bool = False
    deleted: bool = False
    shared: bool = False
    created: int = 0


@dataclass(frozen=True)
class ServerView:
    """Who owned by the servers' logs, as the checks need it.

    ``ends`` has an entry for every session that ended; ``known`` is every session of which
    the logs tell whether and when it ended. ``doubts``: session -> spans (ns, in order) in which
    it may have been dead for some server, because of a transaction that was not committed.
    ``reasons`` says in words what the logs leave open.
    ``turns``: for each node of a sequential line when it came to own, None if it never did; nodes
    for which the logs do not tell for certain are left out.
    ``lines_before``: for nodes of a sequential line whose parent was created again, how many lines
    were there before theirs: in each, the numbers begin anew.
    ``lapsed``: of leases, session and token of holds that were not released on the servers: the end
    of the lease removed them. The token is None where the session has one hold.
    ``believed``: nobody sees the servers, and sessions stand for the beliefs of clients
    (``checker.timeline.believed_lives``). Then all times are of one clock.
    """

    ends: Mapping[str, SessionEnd] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    doubts: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)
    owners: Sequence[Ownership] = ()
    reasons: Sequence[str] = ()
    turns: Mapping[str, int | None] = field(default_factory=dict)
    lines_before: Mapping[str, int] = field(default_factory=dict)
    lapsed: frozenset[tuple[str | None, int | None]] = frozenset()
    believed: bool = False

    def ended(self, session: str | None) -> SessionEnd | None:
        """When a session ended; None when it lives on."""
        return self.ends.get(session) if session is not None else None

    def tells(self, session: str | None, at: int) -> bool:
        """Whether it is known if a session was alive at that time (nanoseconds)."""
        if session not in self.known:
            return False
        return not any(start <= at < end for start, end in self.doubts.get(session, ()))

    def told_until(self, session: str | None, at: float) -> float:
        """When after that time the next doubt about a session begins; infinite if none does."""
        spans = self.doubts.get(session, ()) if session is not None else ()
        return min((start for start, _ in spans if start > at), default=inf)


class NodesOfHolds:
    """Which node a hold was granted with: its path and the time of its creation.

    Only a sequential path names just one node. Where all contenders create the same path, it is a
    new node at every grant, often of the same session as an earlier one.
    """

    def __init__(self, server: ServerView) -> None:
        self._lives: dict[tuple[str, str], list[Ownership]] = defaultdict(list)
        for owner in sorted(server.owners, key=lambda owner: owner.created):
            self._lives[owner.session, owner.path].append(owner)

    def node_of(self, hold: Hold) -> Ownership | None:
        """The node of its session and path with its token, else the last one made before it."""
        lives = self._lives.get((hold.session or "", hold.node or ""), [])
        if hold.token is not None:
            return next((owner for owner in lives if owner.czxid == hold.token), None)
        made = bisect_right(lives, hold.granted + CLOCK_SLACK_NS, key=lambda owner: owner.created)
        return lives[made - 1] if made else None


def sequence_number(node: str | None) -> int:
    """The ten-digit number at the end of a sequential node's name; -1 if there is none."""
    tail = node[-10:] if node else ""
    number = whole_number(tail) if len(tail) == 10 else None
    return -1 if number is None else number
