"""Random fault plans: a pure function of a seed and of the run it is meant for.

Kinds come in shuffled rounds, one fault a slot. The first of every kind strikes where it tells
most: the leader, or the holder for longer than its session lives. Later ones are drawn.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from rumpus.nemesis.grudges import keeps_majority, minority
from rumpus.nemesis.partition import shape_grudge
from rumpus.nemesis.plan import (
    DEEDS,
    FAMILIES,
    VERSION,
    Entry,
    FaultPlan,
    Options,
    PlanError,
    shape_needs,
    validate,
)
from rumpus.nemesis.targets import SHAPES, Targets

FIRST = 1.0
"""Seconds of load before the first fault, at least."""
TAIL = 0.3
"""Seconds between the last fault's end and the end of the load, at least."""
ROOM = 1.4
"""Seconds after a fault for healing, for verifying that, and for going on unharmed."""
MARGIN = 0.3
"""Seconds by which a fault outlasts what it is meant to outlast."""
SPREAD = 0.4
"""Seconds by which durations vary, at least."""
DEPOSE = 4.5
"""Seconds that a leader must be silent for another to be elected and serve.

Followers give up after syncLimit ticks (5 x 0.5 s), then elect: 3.1 to 4.3 s in all, measured
on ZooKeeper 3.8. A killed leader is replaced within a second, because its connections break.
"""
LEAD = 1.0
"""Seconds for which lost replies are armed before the holder is cut off, at most."""
LEAST_LEAD = 0.05
SHORTEST = 0.5
"""Seconds below which a fault would be over before it is noticed."""

CUTS = ("black-hole", "reset", "to-server", "to-client", "half-open", "lost-reply")


@dataclass(frozen=True)
class Timetable:
    """Slots of equal length, in seconds; a fault begins at the start of each."""

    first: float
    slot: float
    count: int
    longest: float
    """How long a fault may last: a slot less the room to recover."""
    end: float
    """When the last fault must be over."""
    notes: tuple[str, ...]


def random_plan(
    kinds: Iterable[str],
    *,
    seed: int,
    time_limit: float,
    interval: float,
    nodes: int,
    clients: int,
    session_timeout: float,
    tick: float = 0.5,
    requests: Sequence[str] = ("create", "delete", "get-children"),
) -> FaultPlan:
    """Draw a plan in which every kind occurs at least once.

    Where the time limit leaves fewer slots than kinds, the interval is shortened; where it is
    too short for a fault to matter and be healed, it is lengthened. The plan's notes say so.

    Args:
        kinds: kinds of fault, in any order.
        seed: decides everything that is left open.
        time_limit: seconds of load.
        interval: seconds from one fault's beginning to the next one's.
        nodes: number of servers.
        clients: number of clients.
        session_timeout: seconds; a session expires up to one tick after it.
        tick: the servers' tick in seconds.
        requests: kinds of request that clients are sure to make, for ``client-request``.

    Raises:
        PlanError: an unknown kind; too little time, too few servers or clients for a kind.
    """
    wanted = set(kinds)
    if unknown := sorted(wanted - set(FAMILIES)):
        raise PlanError(
            f"unknown kind of fault: {', '.join(unknown)}; allowed are {', '.join(FAMILIES)}"
        )
    order = [kind for kind in FAMILIES if kind in wanted]
    if not order:
        return FaultPlan(version=VERSION, seed=seed)
    if "partition" in wanted and nodes < 2:
        raise PlanError("partition: a single server cannot be partitioned; use at least 2 nodes")
    if "follower-lag" in wanted and nodes < 2:
        raise PlanError("follower-lag: a single server has no followers; use at least 2 nodes")
    if clients < 1 and any(kind.startswith("client-") for kind in order):
        raise PlanError("faults of clients need at least one client")
    rng = Random(seed)
    needed = session_timeout + tick + MARGIN
    table = timetable(len(order), time_limit=time_limit, interval=interval, needed=needed)
    drawer = _Drawer(rng, table, needed, nodes, clients, requests)
    sequence: list[str] = []
    while len(sequence) < table.count:
        sequence += rng.sample(order, len(order))
    for slot, kind in enumerate(sequence[: table.count]):
        drawer.add(slot, kind)
    notes = table.notes
    if nodes < 3 and any(not kind.startswith("client-") for kind in order):
        notes += (f"an ensemble of {nodes} has no majority while a server is at fault",)
    plan = FaultPlan(version=VERSION, entries=tuple(drawer.entries), seed=seed, notes=notes)
    validate(plan, nodes=nodes, clients=clients, time_limit=time_limit, source="random plan")
    return plan


def timetable(kinds: int, *, time_limit: float, interval: float, needed: float) -> Timetable:
    """Fit at least ``kinds`` slots into the time limit.

    Each is long enough for a fault of ``needed`` seconds if there is any way.

    Raises:
        PlanError: there is too little time for even the shortest faults.
    """
    notes: list[str] = []
    slot = max(interval, needed + SPREAD + ROOM)
    if slot > interval:
        notes.append(
            f"the interval is {slot:.1f} s instead of {interval:g} s: faults must outlast a "
            f"session ({needed:.1f} s) and be healed before the next begins"
        )
    first = max(FIRST, slot / 3)
    usual = max(needed + SPREAD, DEPOSE)
    count = 1 + int((time_limit - TAIL - usual - first) // slot)
    if count >= kinds:
        return Timetable(first, slot, count, slot - ROOM, time_limit - TAIL, tuple(notes))
    slot, room = _squeezed(kinds, time_limit)
    if slot - room < SHORTEST:
        least = FIRST + TAIL + (kinds - 0.4) * SHORTEST / 0.6
        raise PlanError(
            f"{kinds} kinds of fault need at least {math.ceil(least)} s of load, not "
            f"{time_limit:g} s; give a longer time limit or fewer kinds"
        )
    notes = []
    if slot < interval:
        notes.append(
            f"the interval is {slot:.1f} s instead of {interval:g} s, so that all {kinds} kinds "
            f"of fault fit into {time_limit:g} s"
        )
    if slot - room < needed + LEAST_LEAD:
        least = FIRST + TAIL + kinds * (needed + SPREAD + ROOM) - ROOM
        notes.append(
            f"faults last at most {slot - room:.1f} s, too short for a session to expire "
            f"({needed:.1f} s); {math.ceil(least)} s of load would be enough"
        )
    return Timetable(FIRST, slot, kinds, slot - room, time_limit - TAIL, tuple(notes))


def _squeezed(kinds: int, time_limit: float) -> tuple[float, float]:
    """Slot and room for exactly ``kinds`` slots; the last one needs no room."""
    load = time_limit - FIRST - TAIL
    slot = (load + ROOM) / kinds
    if 0.4 * slot >= ROOM:
        return slot, ROOM
    slot = load / (kinds - 0.4)
    return slot, 0.4 * slot


class _Drawer:
    """Draws entries slot by slot, remembering which kinds have had their first turn."""

    def __init__(
        self,
        rng: Random,
        table: Timetable,
        needed: float,
        nodes: int,
        clients: int,
        requests: Sequence[str],
    ) -> None:
        self.rng = rng
        self.table = table
        self.needed = needed
        self.clients = clients
        self.requests = requests
        self.entries: list[Entry] = []
        self._turned: set[str] = set()
        quorate = nodes >= 3
        self._server_roles = ["one", "leader", "holder-server"] + ["minority"] * quorate
        self._client_roles = ["one", "holder", "next-in-line", "random"]
        self._shapes = [s for s in SHAPES if _harmless(s, nodes)] or ["isolate-leader"]
        if minority(nodes) == 0:
            self._server_roles = ["leader", "one"]

    def add(self, slot: int, kind: str) -> None:
        """Fill a slot with a fault of a kind."""
        first = kind not in self._turned
        self._turned.add(kind)
        if kind == "partition":
            shape = "isolate-leader" if first else self.rng.choice(self._shapes)
            self._place(slot, kind, Targets(shape=shape), depose=shape == "isolate-leader")
        elif kind == "follower-lag":
            self._place(slot, kind, Targets(role="follower"), lasting=True)
        elif kind == "client-request":
            self._client_request(slot, first=first)
        elif not kind.startswith("client-"):
            role = "leader" if first else self.rng.choice(self._server_roles)
            self._place(slot, kind, Targets(role=role), depose=kind == "pause" and role == "leader")
        elif kind == "client-partition":
            self._client_partition(slot, first=first)
        else:
            role = "holder" if first else self.rng.choice(self._client_roles)
            self._place(slot, kind, Targets(role=role))

    def _client_partition(self, slot: int, *, first: bool) -> None:
        """The first comes with lost replies, armed a little earlier.

        While the holder is cut off nobody creates anything until its session has expired; the
        lead gives the lost replies some flowing load to strike in.
        """
        if first:
            lead = min(LEAD, max(LEAST_LEAD, self.table.longest - self.needed))
            self._place(
                slot, "client-partition", Targets(role="holder"), how="black-hole", lead=lead
            )
            return
        how = self.rng.choice(CUTS)
        role = "all" if how == "lost-reply" else self.rng.choice(self._client_roles)
        self._place(slot, "client-partition", Targets(role=role), how=how)

    def _client_request(self, slot: int, *, first: bool) -> None:
        """Requests that every recipe makes, on every client, so that some come to be struck.

        The first fault takes the next one of each client: a client may make few in its time.
        """
        number = self.rng.randint(1, 5)
        options = Options(
            how=self.rng.choice(DEEDS),
            request=self.rng.choice(self.requests),
            number=1 if first else number,
            hold=round(self.rng.uniform(100, 1000 * self.needed), 1),
        )
        self._place(slot, "client-request", Targets(role="all"), options=options)

    def _place(
        self,
        slot: int,
        kind: str,
        targets: Targets,
        *,
        how: str | None = None,
        options: Options | None = None,
        depose: bool = False,
        lasting: bool = False,
        lead: float = 0.0,
    ) -> None:
        """Enter a fault; ``lasting`` ones, in which load goes on, fill the most of their slot."""
        table, rng = self.table, self.rng
        base = table.first + slot * table.slot
        limit = min(table.longest, table.end - base) - lead
        low = min(max(self.needed, DEPOSE if depose else 0.0), limit)
        usual = max(self.needed + SPREAD, min(table.slot / 2, 3 * self.needed))
        if lasting:
            low, usual = 0.8 * limit, limit
        duration = round(rng.uniform(low, max(low, min(usual, limit))), 3)
        at = round(base + rng.uniform(0.0, max(0.0, min(table.slot / 10, limit - duration))), 3)
        if lead:
            self._entry(at, "client-partition", Targets(role="all"), lead + duration, "lost-reply")
        self._entry(at + lead, kind, targets, duration, how, options)

    def _entry(
        self,
        at: float,
        kind: str,
        targets: Targets,
        duration: float,
        how: str | None,
        options: Options | None = None,
    ) -> None:
        self.entries.append(
            Entry(
                id=len(self.entries) + 1,
                at=round(at, 3),
                kind=kind,
                targets=targets,
                duration=round(duration, 3),
                options=options or Options(how=how),
            )
        )


def _harmless(shape: str, nodes: int) -> bool:
    """Whether a shape leaves a majority connected, whoever stands where in it."""
    names = [f"n{i}" for i in range(1, nodes + 1)]
    return nodes >= shape_needs(shape) and keeps_majority(
        names, shape_grudge(shape, names, names[0], Random(0))
    )
