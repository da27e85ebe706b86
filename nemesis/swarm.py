"""Fault plans for swarms: each seed has its own selection of kinds, lengths and overlaps.

In *swarm testing* each run leaves out most of what could be done, and another part each time (A.
Groce, C. Zhang, E. Eide, Y. Chen, J. Regehr, "Swarm Testing", ISSTA 2012): kinds of fault that are
always there hide what shows only without them. ``random_plan`` has one fault at a time, each a few
seconds long. Here faults overlap, last from milliseconds to three session timeouts, and some are
*composed*: faults that are known to do harm together are drawn together (``COMPOSED``).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeVar

from rumpus.checker.nearest_name import meant
from rumpus.nemesis.client_fault import ClientFault
from rumpus.nemesis.entry import Entry, PlanError
from rumpus.nemesis.fault import Turn
from rumpus.nemesis.grudges import minority
from rumpus.nemesis.plan import MOST_ENTRIES, VERSION, FaultPlan, conflict, validate
from rumpus.nemesis.random_plan import DEPOSE, MARGIN, TAIL
from rumpus.nemesis.registry import FAULTS, fault_of, known_kinds
from rumpus.nemesis.targets import Targets

T = TypeVar("T")

FIRST: Final = 0.5
"""Seconds of load before the first fault, at least."""

SHORTEST: Final = 0.002
"""Seconds that the shortest faults last: a packet is lost, a connection breaks."""

SESSIONS: Final = 3
"""Session timeouts that the longest faults last."""

WAITING: Final = frozenset({"client-request"})
"""Kinds that wait for a request, and so must be in force for a while to have an effect."""

LEAST_WAIT: Final = 1.0
"""Seconds that those are in force, at least."""

USUAL: Final = {True: 3, False: 1}
"""Weights of kinds that random plans have by default, and of the others, when kinds are drawn."""

APART: Final = 0.01
"""Seconds between the beginnings of two parts of a composition, at least."""

TRIES: Final = 4
"""How often a fault is drawn again that conflicts with earlier ones."""

ELECTION: Final = 2.0
"""Seconds that it takes until a quorum serves again once its leader was killed, or it came back."""


@dataclass(frozen=True)
class Profile:
    """How much happens in a run.

    Args:
        kinds: the least and the most kinds of fault in a run.
        gap: the least and the most mean seconds between faults; each run has its own.
        compositions: the least and the most compositions that a run has, each any number of times.
        composed: the share of composed faults.
        outage: the share of the load for which there may be no quorum, by estimate.
    """

    kinds: tuple[int, int]
    gap: tuple[float, float]
    compositions: tuple[int, int]
    composed: float
    outage: float


ProfileName = Literal["light", "normal", "brutal"]

PROFILES: Final[Mapping[ProfileName, Profile]] = MappingProxyType(
    {
        "light": Profile((1, 3), (3.0, 8.0), compositions=(0, 1), composed=0.3, outage=0.15),
        "normal": Profile((2, 6), (0.8, 3.0), compositions=(1, 3), composed=0.4, outage=0.3),
        "brutal": Profile((3, 8), (0.3, 1.5), compositions=(2, 5), composed=0.5, outage=0.5),
    }
)
"""Profile by name; docs/explanation/swarm.md has the measured shares of time with a quorum."""


class Part(NamedTuple):
    """One fault of a composition. Times are in session expiries: timeout and tick.

    ``first``: the least and the most time after the beginning of the composition. ``length``: the
    same for how long it lasts. ``options``: values are drawn from lists. ``of``: whether it takes
    the targets of the composition's first part, or the servers to which these are connected.
    """

    kind: str
    first: tuple[float, float] = (0.0, 0.0)
    length: tuple[float, float] = (0.1, 1.5)
    options: Mapping[str, Sequence[Any]] = MappingProxyType({})
    of: bool = False


_CUTS = ("black-hole", "half-open", "to-client", "to-server")

COMPOSED: Final[Sequence[Sequence[Part]]] = (
    # A thread is stalled while its connection is reset.
    (
        Part("client-stall", length=(0.1, 1.8)),
        Part("client-partition", (0.02, 0.5), (0.001, 0.2), {"how": ["reset"]}, of=True),
    ),
    # A thread is stalled, and meanwhile the session ends because of a cut.
    (
        Part("client-stall", length=(0.5, 2.0)),
        Part("client-partition", (0.02, 0.3), (1.1, 2.0), {"how": _CUTS}, of=True),
    ),
    # A reply is lost, and then the client's server, or all it asks next, is behind.
    (
        Part("client-request", (0, 0), (0.4, 1.0), {"how": ["drop-reply", "cut-after"]}),
        Part("follower-lag", (0.02, 0.1), (0.5, 1.5), of=True),
    ),
    # A reply is lost, and then the client's server dies.
    (
        Part("client-request", (0, 0), (0.4, 1.0), {"how": ["drop-reply", "cut-after"]}),
        Part("kill", (0.02, 0.4), (0.2, 1.0), of=True),
    ),
    # A cut outlives two sessions: the client's session, and the next one that it gets meanwhile.
    (Part("client-partition", length=(2.1, 2.8), options={"how": (*_CUTS, "reset")}),),
    # A session ends while its process is paused and replies to it are held back.
    (
        Part(
            "client-request", (0, 0), (1.2, 2.0), {"how": ["hold-reply"], "hold": [500.0, 3000.0]}
        ),
        Part("client-pause", (0.05, 0.3), (1.05, 1.6), of=True),
    ),
    # A client is cut off, and when it comes back its server dies.
    (
        Part("client-partition", (0, 0), (0.3, 1.2), {"how": _CUTS}),
        Part("kill", (0.25, 1.2), (0.2, 1.0), of=True),
    ),
    # A client dies while its server does not answer: its session lives until others end it.
    (
        Part("client-kill", (0, 0), (0.1, 0.8)),
        Part("pause", (0.0, 0.1), (0.3, 1.2), of=True),
    ),
    # A thread is stalled just after a reply came too late.
    (
        Part("client-request", (0, 0), (0.5, 1.0), {"how": ["hold-reply"], "hold": [100.0, 900.0]}),
        Part("client-stall", (0.05, 0.4), (0.2, 1.6), of=True),
    ),
    # The clock of a paused client has jumped when it runs again.
    (
        Part("client-pause", (0, 0), (0.3, 1.5)),
        Part("client-clock-skew", (0.05, 0.2), (0.5, 2.0), of=True),
    ),
    # Many clients are cut off at once, for a moment, while a server is behind.
    (
        Part("follower-lag", (0, 0), (0.7, 1.6)),
        Part("client-partition", (0.1, 0.5), (0.001, 0.05), {"how": ["reset"]}, of=True),
    ),
    # The leader dies while a disk is slow.
    (
        Part("file-slow", (0, 0), (0.5, 1.5)),
        Part("kill", (0.1, 0.5), (0.2, 1.0)),
    ),
)
"""Faults that are drawn together; the comments say what they make."""


def swarm_plan(
    kinds: Iterable[str],
    *,
    seed: int,
    profile: ProfileName,
    time_limit: float,
    nodes: int,
    clients: int,
    session_timeout: float,
    tick: float = 0.5,
    requests: Sequence[str] = ("create", "delete", "get-children"),
) -> FaultPlan:
    """Draw a plan with some of the kinds, in a profile of ``PROFILES``.

    The other arguments are those of ``random_plan``. Kinds that the number of servers does not
    allow are left out. Faults that would conflict are not drawn, nor are those with which no quorum
    could serve for longer than the profile allows.

    Raises:
        PlanError: an unknown kind or profile, or no time for any fault.
    """
    if profile not in PROFILES:
        raise PlanError(f"unknown profile {profile!r}; {meant(profile, PROFILES)}")
    pool = known_kinds(kinds)
    if not pool:
        return FaultPlan(version=VERSION, seed=seed)
    if time_limit <= FIRST + TAIL:
        raise PlanError(
            f"{time_limit:g} s of load leave no time for faults; give more than {FIRST + TAIL:g} s"
        )
    able = _able(pool, nodes, clients)
    draft = _Draft(
        Random(f"swarm {seed} {profile}"),
        PROFILES[profile],
        able,
        time_limit - TAIL,
        nodes,
        session_timeout,
        tick,
        requests,
    )
    plan = FaultPlan(version=VERSION, entries=draft.entries(), seed=seed, punctual=True)
    validate(plan, nodes=nodes, clients=clients, time_limit=time_limit, source="swarm plan")
    return plan


def _able(kinds: Sequence[str], nodes: int, clients: int) -> list[str]:
    """The kinds that can occur with so many servers and clients; PlanError if there is none."""
    able = [
        kind
        for kind in kinds
        if (nodes > 1 or not FAULTS[kind].several_nodes)
        and (clients > 0 or not issubclass(FAULTS[kind], ClientFault))
    ]
    if not able:
        why = f"with {nodes} servers and {clients} clients"
        raise PlanError(f"none of these kinds of fault can occur {why}: {', '.join(kinds)}")
    return able


class _Draft:
    """A plan that is being drawn."""

    def __init__(
        self,
        rng: Random,
        profile: Profile,
        kinds: Sequence[str],
        end: float,
        nodes: int,
        session_timeout: float,
        tick: float,
        requests: Sequence[str],
    ) -> None:
        self._rng = rng
        self._profile = profile
        self._kinds = _some(rng, kinds, profile.kinds, [USUAL[FAULTS[k].usual] for k in kinds])
        self._weights = [rng.choice((1, 2, 4)) for _ in self._kinds]
        self._had: set[str] = set()
        self._gap = rng.uniform(*profile.gap)
        possible = [parts for parts in COMPOSED if {part.kind for part in parts} <= set(kinds)]
        self._composed = _some(rng, possible, profile.compositions)
        self._end = end
        self._nodes = nodes
        self._longest = SESSIONS * session_timeout + tick
        self._expiry = session_timeout + tick
        self._requests = requests
        self._entries: list[Entry] = []

    def entries(self) -> tuple[Entry, ...]:
        """Draw all faults, in order of their beginning."""
        rng = self._rng
        if self._end / self._gap > MOST_ENTRIES:
            raise PlanError(
                f"a fault every {self._gap:.1f} s for {self._end:,.0f} s of load; a plan has at "
                f"most {MOST_ENTRIES:,}: use a shorter --time-limit"
            )
        at = min(FIRST + rng.expovariate(1 / self._gap), self._end / 2)
        while at < self._end:
            for _ in range(TRIES):
                drawn = self._draw(round(at, 3))
                if self._can_have(drawn):
                    self._entries += drawn
                    self._had.update(entry.kind for entry in drawn)
                    break
            at += rng.expovariate(1 / self._gap)
        order = sorted(self._entries, key=lambda entry: entry.at)
        number = {entry.id: place for place, entry in enumerate(order, start=1)}
        return tuple(_renumbered(entry, number) for entry in order)

    def _draw(self, at: float) -> list[Entry]:
        if self._composed and self._rng.random() < self._profile.composed:
            return self._composition(at, self._rng.choice(self._composed))
        kind = self._rng.choices(self._kinds, self._weights)[0]
        least = SHORTEST if self._rng.randrange(2) else self._expiry
        if kind in WAITING:
            least = max(least, LEAST_WAIT)
        length = math.exp(self._rng.uniform(math.log(least), math.log(self._longest)))
        return [self._entry(0, at, kind, length)]

    def _composition(self, at: float, parts: Sequence[Part]) -> list[Entry]:
        drawn: list[Entry] = []
        for place, part in enumerate(parts):
            entry = self._entry(
                place,
                at + max(APART * place, self._expiry * self._rng.uniform(*part.first)),
                part.kind,
                self._expiry * self._rng.uniform(*part.length),
            )
            options = {
                name: self._rng.choice(list(values)) for name, values in part.options.items()
            }
            if options.get("how") != "hold-reply" and "how" in options:
                entry.options.pop("hold", None)
            targets = Targets(of=drawn[0].id) if part.of else entry.targets
            if place == 0 and targets.role in ("all", "random"):
                # One client has one server: the next part does not take a majority of them.
                targets = Targets(role=self._rng.choice(("one", "holder", "next-in-line")))
            drawn.append(
                Entry(
                    id=entry.id,
                    at=entry.at,
                    kind=entry.kind,
                    targets=targets,
                    duration=entry.duration,
                    options={**entry.options, **options},
                )
            )
        return drawn

    def _entry(self, place: int, at: float, kind: str, length: float) -> Entry:
        """A fault of this kind, with targets and options drawn as for any random plan."""
        needed = self._expiry + MARGIN
        # The first fault of a kind is aimed, as in other random plans: but not in every run.
        first = kind not in self._had and not self._rng.randrange(2)
        turn = Turn(self._rng, first, self._nodes, needed, self._longest, self._requests)
        draft = FAULTS[kind].draw(turn)
        return Entry(
            id=len(self._entries) + place + 1,
            at=round(at, 3),
            kind=kind,
            targets=draft.targets,
            duration=round(max(SHORTEST, min(length, self._longest, self._end - at)), 3),
            options=dict(draft.options),
        )

    def _can_have(self, drawn: Sequence[Entry]) -> bool:
        """Whether these faults neither conflict nor end the quorum for too long."""
        if any(entry.at >= self._end for entry in drawn):
            return False
        both = sorted([*self._entries, *drawn], key=lambda entry: entry.at)
        return (
            not any(_conflict(one, other) for one in both for other in drawn if one is not other)
            and outage(both, self._nodes) <= self._profile.outage * self._end
        )


def _some(
    rng: Random, items: Sequence[T], numbers: tuple[int, int], weights: Sequence[int] = ()
) -> list[T]:
    """A number of the items between two bounds, or all if there are fewer, in their order.

    An item of weight 2 is drawn as if it were there twice.
    """
    least, most = (min(number, len(items)) for number in numbers)
    left = dict(zip(range(len(items)), weights or [1] * len(items), strict=True))
    chosen = set()
    for _ in range(rng.randint(least, most)):
        (place,) = rng.choices(list(left), list(left.values()))
        chosen.add(place)
        del left[place]
    return [item for place, item in enumerate(items) if place in chosen]


def _conflict(one: Entry, other: Entry) -> bool:
    earlier, later = sorted((one, other), key=lambda entry: entry.at)
    return later.at < earlier.end and conflict(earlier, later) is not None


def _renumbered(entry: Entry, number: Mapping[int, int]) -> Entry:
    of = entry.targets.of
    return Entry(
        id=number[entry.id],
        at=entry.at,
        kind=entry.kind,
        targets=entry.targets if of is None else Targets(of=number[of]),
        duration=entry.duration,
        options=entry.options,
    )


def outage(entries: Sequence[Entry], nodes: int) -> float:
    """Seconds for which no quorum serves, by a pessimistic estimate: overlaps count once.

    A fault of server processes, of their network or of full disks takes away as many servers as it
    has targets; other servers take over from a leader after a while. Faults of different servers
    add up. What comes back, too, may have to elect a leader.
    """
    spans: list[tuple[float, float]] = []
    breaking = [
        (entry, lost) for entry in entries if (lost := _servers_lost(entry, nodes)) is not None
    ]
    for place, (entry, lost) in enumerate(breaking):
        together = lost + sum(
            more for other, more in breaking[:place] if other.end + ELECTION > entry.at
        )
        if together > minority(nodes):
            spans.append((entry.at, entry.end + ELECTION))
        elif entry.kind in ("kill", "power-off", "file-full"):
            spans.append((entry.at, entry.at + ELECTION))
        else:
            spans.append((entry.at, min(entry.end, entry.at + DEPOSE) + ELECTION))
    total, until = 0.0, 0.0
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def _servers_lost(entry: Entry, nodes: int) -> int | None:
    """How many servers a fault takes from the quorum; None if it takes none."""
    fault = fault_of(entry)
    if issubclass(fault, ClientFault) or entry.kind in ("follower-lag", "clock-skew", "file-slow"):
        return None
    if entry.targets.names is not None:
        return len(entry.targets.names)
    return {"minority": minority(nodes), "majority": nodes, "all": nodes}.get(
        entry.targets.role or "", 1
    )
