"""One run on one clock: its records, what the servers' files say, and what follows from both.

Checks, story, pictures and figures read a ``Timeline``. Each part is worked out once, when it is
first asked for, and costs time and memory linear in the records (times a logarithm where they have
to be sorted). A part that cannot be known is None; a check that needs it says so.

For example::

    timeline.holds        # who was granted the lock when, and believed it until when
    timeline.servers      # which session owned it by the servers' logs
    timeline.faults       # which fault was in force when
    timeline.disturbances # when something was in a client's way

Clocks: times are nanoseconds on the run's clock; the servers' milliseconds since 1970 are mapped to
it by ``clock``.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from rumpus.checker.history import History
from rumpus.checker.servers.server_truth import ServerTruth
from rumpus.checker.timeline.believed_lives import lives_by_beliefs, name_holds
from rumpus.checker.timeline.calm import Span, disconnected, disturbances, leaderless
from rumpus.checker.timeline.changes import Calls, Change, changes_of
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.derived_line import derive_line
from rumpus.checker.timeline.faults import FaultWindow, fault_windows
from rumpus.checker.timeline.holds import Hold, Words, extract_holds, pauses
from rumpus.checker.timeline.host import Window as HostWindow
from rumpus.checker.timeline.host import windows as host_windows
from rumpus.checker.timeline.ownership import ServerView, sequence_number
from rumpus.checker.timeline.server_view import server_view
from rumpus.checker.timeline.session_proofs import lives_by_grants
from rumpus.checker.timeline.states import Interval, state_intervals
from rumpus.checker.timeline.unasked_holds import unasked_holds
from rumpus.checker.wire.records import WireRecords
from rumpus.checker.wire.settings import ServerSettings

Part = TypeVar("Part")


class Logs(NamedTuple):
    """What the servers' logs say, and the map from their clocks to the run's."""

    truth: ServerTruth
    clock: WallClock


class Place(NamedTuple):
    """A line of contenders; see ``LineOfContenders``."""

    kind: str
    path: str
    mark: str = ""
    shared: str = ""


Effect = Literal["expiry", "leader change"]
"""The effects that the faults of a random plan are meant to have."""


class LineOfContenders(Protocol):
    """Which znodes stand for contenders: see ``server_view``."""

    @property
    def kind(self) -> str:
        """``sequential``, ``pool``, ``single`` or ``unknown``."""

    @property
    def path(self) -> str:
        """The parent of the contenders' znodes, or their only one."""

    @property
    def mark(self) -> str:
        """What the names of sequential ones contain."""

    @property
    def shared(self) -> str:
        """What the names of shared ones contain; empty if none may be shared."""


class Held(Protocol):
    """What a recipe is held to: the part of ``recipes.promises.Promises`` that checks read."""

    @property
    def prevents(self) -> AbstractSet[str]:
        """Kinds of anomaly that never happen."""

    @property
    def wakeups(self) -> int | None:
        """How many waiters one release may wake; None if there is no bound."""

    @property
    def tokens(self) -> bool:
        """Whether grants have tokens that only grow."""

    @property
    def fenced(self) -> bool:
        """Whether the resource checks tokens."""

    @property
    def lock_delay(self) -> float:
        """Seconds after a holder's failure in which nobody is granted it."""

    @property
    def time_boundary(self) -> float:
        """Seconds for which members have not changed when one of them completes a share."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Which faults a run was asked to have.

    Args:
        kinds: kinds of fault.
        effects: what kinds of other repositories among them must have caused.
        directed: whether the fault plan was given by hand, or drawn for a swarm.
        punctual: whether it was a punctual plan (``nemesis.plan``).
        impossible: effects that faults cannot have with these servers.
    """

    kinds: Sequence[str] = ()
    effects: Collection[Effect] = ()
    directed: bool = False
    punctual: bool = False
    impossible: Collection[Effect] = ()


@dataclass(frozen=True)
class Timeline:
    """One run, laid out.

    Args:
        history: its records.
        promises: what the recipe promises.
        truth: what the servers' logs say; None when they are not at hand.
        wire: what passed between clients and servers; empty if nobody recorded it.
        clock: converts the servers' times to the run's clock; None when that is not known.
        leases: of servers that are not ZooKeeper's: when grants began and ended; None if their logs
            are not at hand.
        line: which znodes the recipe's contenders have on the servers.
        words: the operations that begin and end a hold.
        permits: how many clients may hold at the same time.
        modes: the modes in which it can be acquired; empty where there is only one.
        path: the znode below which everything happened.
        session_timeout: the clients' session timeout, in seconds.
        tick_ms: the servers' ``tickTime``, in ms.
        settings: what else the servers were told; None if that is not known.
        asked: which faults there should have been.
        strict: whether hazards are violations.
        lossy: whether a fault made servers' disks lose what they had written: then no server is
            to blame for what it lacks.
        damaged: whether the records were changed, or contradict each other: then nothing that they
            show is a violation.
        foreign: whether the servers are not ZooKeeper's, so that clients have no sessions.
        unseen: whether the servers are foreign and nobody sees what they grant: then what clients
            believe and do is all there is to judge.
        contended: whether a hold keeps other clients waiting.
        unasked: whether clients hold a role that no operation asks for, as long as they believe so.
    """

    history: History
    promises: Held
    truth: ServerTruth | None = None
    wire: WireRecords = field(default_factory=WireRecords)
    clock: WallClock | None = None
    leases: ServerView | None = None
    line: LineOfContenders | None = None
    words: Words = field(default_factory=Words)
    permits: int = 1
    modes: Sequence[str] = ()
    path: str = ""
    session_timeout: float = 0.0
    tick_ms: int = 2000
    settings: ServerSettings | None = None
    asked: Asked = field(default_factory=Asked)
    strict: bool = False
    lossy: bool = False
    damaged: bool = False
    foreign: bool = False
    unseen: bool = False
    contended: bool = False
    unasked: bool = False

    def given(self, **parts: Any) -> "Timeline":
        """This timeline with parts that are not to be worked out; for tests."""
        for name in parts:
            assert isinstance(getattr(type(self), name), cached_property), name
        self.__dict__.update(parts)
        return self

    @cached_property
    def holds(self) -> list[Hold]:
        """All holds in order of grant.

        The session or znode of a hold that its client did not say is filled in from the servers'
        logs where they tell.
        """
        return self._contest[0]

    @cached_property
    def pauses(self) -> Mapping[int, Sequence[Span]]:
        """Client -> when its process was frozen."""
        return pauses(self.history)

    @cached_property
    def bars(self) -> list[Interval]:
        """What pictures draw: states of clients and leaders, and of contended things who held them.

        For each hold when its client believed in it, and for each znode of the recipe's line when
        it owned by the servers' logs.
        """
        found = state_intervals(self.history)
        if not self.contended:
            return found
        found += [
            Interval(kind="belief", start=start, end=end, client=hold.client, token=hold.token)
            for hold in self.holds
            for start, end in hold.beliefs
        ]
        clients = self.history.clients_of_sessions()
        return found + [
            Interval(
                kind="grant",
                start=owner.start,
                end=self.history.end if owner.end is None else owner.end,
                client=clients.get(owner.session),
                label=owner.path,
            )
            for owner in (self.servers.owners if self.servers is not None else ())
            if owner.start < self.history.end
        ]

    @cached_property
    def faults(self) -> list[FaultWindow]:
        """The faults in order of their beginning."""
        return fault_windows(self.history)

    @cached_property
    def leaderless(self) -> Sequence[Span]:
        """When the control process saw no leader."""
        return leaderless(self.history)

    @cached_property
    def disconnected(self) -> Mapping[int, Sequence[Span]]:
        """Client -> when it was not connected, including the time before it first was."""
        return disconnected(self.history)

    @cached_property
    def host(self) -> Sequence[HostWindow]:
        """How late the run's host was, from when to when; empty if nobody measured it."""
        return host_windows(self.history)

    @cached_property
    def disturbances(self) -> Mapping[int, Sequence[Span]]:
        """Client -> when something was in its way: a fault, a pause, no connection, no leader."""
        return disturbances(self.history, self.faults)

    def end_of(self, fault: FaultWindow) -> int:
        """When a fault was over: at the end of the run if it was never healed."""
        return self.history.end if fault.ended is None else fault.ended

    @cached_property
    def servers(self) -> ServerView | None:
        """Which session owned when by the servers' logs, in the recipe's line; None without."""
        return self._contest[1]

    @cached_property
    def underived(self) -> str:
        """Why it is not known which znodes own, in words; empty if it is, or if logs lack."""
        return self._contest[2]

    def owners_in(self, line: LineOfContenders | None) -> ServerView | None:
        """Which session owned when in some other line than the recipe's; None without logs."""
        if self.leases is not None:
            return self.leases
        if self.truth is None or self.clock is None or line is None:
            return None
        return server_view(
            self.truth,
            self.clock,
            kind=line.kind,
            path=line.path,
            mark=line.mark,
            shared=line.shared,
            permits=self.permits,
        )

    @cached_property
    def _contest(self) -> tuple[list[Hold], ServerView | None, str]:
        """Holds and owners, joined where one says what the other leaves out."""
        holds = (
            unasked_holds(self.history) if self.unasked else extract_holds(self.history, self.words)
        )
        if self.unseen:
            name_holds(holds)
        view = self.owners_in(self.line)
        reason = ""
        if view is not None and self.line is not None and self.line.kind == "unknown":
            view, reason = self._derived(view, holds, self.line.path)
        if view is not None:
            sessions = {owner.path: owner.session for owner in view.owners}
            for hold in holds:
                if hold.session is None and sequence_number(hold.node) >= 0:
                    hold.session = sessions.get(hold.node or "")
        return holds, view, reason

    def _derived(
        self, view: ServerView, holds: list[Hold], path: str
    ) -> tuple[ServerView | None, str]:
        """Owners in a line that nobody names, derived from what the grants make."""
        if self.modes or self.truth is None or self.clock is None:
            return view, "nobody says which znodes are readers' (`line`)"
        line = derive_line(
            self.truth,
            self.clock,
            self.history,
            holds,
            self.words,
            path=path,
            permits=self.permits,
        )
        if isinstance(line, str):
            return view, line
        for number, life in line.nodes.items():
            holds[number].node = holds[number].node or life.path
            holds[number].session = life.owner
        found = self.owners_in(line)
        # Nobody has promised that a turn that the logs show is noticed at once.
        return found and replace(found, turns={}), ""

    @cached_property
    def lives(self) -> ServerView:
        """When sessions ended by the servers' logs; without, until when grants prove them alive.

        Where nobody sees what the servers grant, each hold lives as long as it is believed in.
        """
        if self.unseen:
            return lives_by_beliefs(self.holds)
        return self.servers or lives_by_grants(self.holds)

    @cached_property
    def calls(self) -> Calls:
        """The operations of each client."""
        return Calls(self.history)

    @cached_property
    def znodes(self) -> Mapping[str, Sequence[Change]]:
        """Path -> who did what to the znode, in which call; empty without the servers' logs."""
        if self.logs is None:
            return {}
        return changes_of(self.history, *self.logs, self.calls)

    @property
    def logs(self) -> "Logs | None":
        """The servers' logs and the clock to read them by; None if one of them lacks."""
        if self.truth is None or self.clock is None:
            return None
        return Logs(self.truth, self.clock)

    def part(self, build: Callable[["Timeline"], Part]) -> Part:
        """What a function makes of this timeline: worked out once, as the other parts are."""
        made: dict[Any, Any] = self.__dict__.setdefault("_made", {})
        if build not in made:
            made[build] = build(self)
        found: Part = made[build]
        return found

    @cached_property
    def expiries(self) -> int:
        """How many sessions expired by the servers' logs; without logs, how many clients lost."""
        if self.truth is None:
            return count_lost_sessions(self.history)
        return sum(life.expired for life in self.truth.sessions().values())

    @cached_property
    def leader_changes(self) -> int:
        """How often the leader changed: to one that committed something, or else was seen."""
        if self.truth is None or not self.truth.committed:
            return count_elections(self.history) - 1
        return len(self.truth.epochs()) - 1


def count_lost_sessions(history: History) -> int:
    """How many sessions clients were told to have lost: at most as many as expired.

    The sessions of killed clients expire too, but no client is told of that.
    """
    return len({op.value.get("session") for op in history.events("session", "lost")} - {None})


def count_elections(history: History) -> int:
    """How many times a server was seen to begin to lead; at least 1."""
    seen = [op.value["leader"] for op in history.events("control", "leader")]
    return max(1, sum(leader is not None for leader in seen))
