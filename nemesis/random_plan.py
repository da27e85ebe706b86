"""Random fault plans: a pure function of a seed and of the run it is meant for.

Time is divided into slots of equal length, with one fault in each. Kinds come in rounds: every kind
once, in random order. The first fault of a kind has the targets with most effect: the leader, or
the holder for longer than its session timeout. Later faults' targets are drawn (``Fault.draw``).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random

from rumpus.nemesis.client_fault import ClientFault
from rumpus.nemesis.entry import Entry, PlanError
from rumpus.nemesis.fault import LEAST_LEAD, Draft, Turn
from rumpus.nemesis.plan import MOST_ENTRIES, VERSION, FaultPlan, validate
from rumpus.nemesis.registry import FAULTS, known_kinds

FIRST = 1.0
"""Seconds of load before the first fault, at least."""
TAIL = 0.3
"""Seconds between the last fault's end and the end of the load, at least."""
ROOM = 1.4
"""Seconds after a fault for healing, for verifying that, and for some load without faults."""
MARGIN = 0.3
"""Seconds that a fault lasts beyond the time at which a session expires."""
SPREAD = 0.4
"""Seconds between the shortest and the longest duration drawn, at least."""
DEPOSE = 4.5
"""Seconds that a leader must be silent for another to be elected and serve.

Followers give up after syncLimit ticks (5 x 0.5 s), then elect: 3.1 to 4.3 s in all, measured
on ZooKeeper 3.8. A killed leader is replaced within a second, because its connections break.
"""
SHORTEST = 0.5
"""Seconds that the longest fault must be able to last: shorter ones would go unnoticed."""


@dataclass(frozen=True)
class Timetable:
    """Slots of equal length, in seconds; a fault begins at the start of each."""

    first: float
    slot: float
    count: int
    longest: float
    """How long a fault may last: a slot without the time to recover (``ROOM``)."""
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
    sessions: bool = True,
) -> FaultPlan:
    """Draw a plan in which every kind occurs at least once.

    Where the time limit leaves fewer slots than kinds, the interval is shortened; where it is
    too short for a fault to matter and be healed, it is lengthened. The plan's notes say so.

    Args:
        kinds: kinds of fault, in any order.
        seed: decides everything that is random.
        time_limit: seconds of load.
        interval: seconds from one fault's beginning to the next one's.
        nodes: number of servers.
        clients: number of clients.
        session_timeout: seconds; a session expires up to one tick after it.
        tick: the servers' tick in seconds.
        requests: kinds of request that clients are sure to make, for ``client-request``.
        sessions: whether servers end the session of a client that they no longer hear.

    Raises:
        PlanError: an unknown kind; too little time, too few servers or clients for a kind.
    """
    order = known_kinds(kinds)
    if not order:
        return FaultPlan(version=VERSION, seed=seed)
    _refuse_too_few(order, nodes, clients)
    rng = Random(seed)
    needed = session_timeout + tick + MARGIN
    table = timetable(len(order), time_limit=time_limit, interval=interval, needed=needed)
    first = Turn(rng, True, nodes, needed, table.longest, requests, sessions)
    entries = _draw(order, table, first)
    notes = table.notes
    if nodes < 3 and not all(issubclass(FAULTS[kind], ClientFault) for kind in order):
        notes += (f"an ensemble of {nodes} has no majority while a server is at fault",)
    plan = FaultPlan(version=VERSION, entries=entries, seed=seed, notes=notes)
    validate(plan, nodes=nodes, clients=clients, time_limit=time_limit, source="random plan")
    return plan


def _draw(kinds: Sequence[str], table: Timetable, first: Turn) -> tuple[Entry, ...]:
    """Draw a fault for each slot: all kinds, in one order after the other.

    Args:
        kinds: kinds of fault.
        table: the slots.
        first: the turn of the first fault of a kind.
    """
    rng = first.rng
    sequence: list[str] = []
    while len(sequence) < table.count:
        sequence += rng.sample(kinds, len(kinds))
    entries: list[Entry] = []
    seen: set[str] = set()
    for slot, kind in enumerate(sequence[: table.count]):
        turn = replace(first, first=kind not in seen)
        seen.add(kind)
        draft = FAULTS[kind].draw(turn)
        at, duration = _time(draft, slot, table, turn)
        drawn = [(at + draft.lead, duration, draft.targets, draft.options)]
        if draft.escort:
            drawn.insert(0, (at, draft.lead + duration, *draft.escort))
        entries += [
            Entry(
                id=number,
                at=round(at, 3),
                kind=kind,
                targets=targets,
                duration=round(duration, 3),
                options=dict(options),
            )
            for number, (at, duration, targets, options) in enumerate(drawn, len(entries) + 1)
        ]
    return tuple(entries)


def _refuse_too_few(kinds: Sequence[str], nodes: int, clients: int) -> None:
    """Raise PlanError if a kind needs more servers, or clients, than there are."""
    for kind in kinds:
        if nodes < 2 and (why := FAULTS[kind].several_nodes):
            raise PlanError(f"{kind}: {why}; use at least 2 nodes")
    if clients < 1 and any(issubclass(FAULTS[kind], ClientFault) for kind in kinds):
        raise PlanError("faults of clients need at least one client")


def timetable(kinds: int, *, time_limit: float, interval: float, needed: float) -> Timetable:
    """Fit at least ``kinds`` slots into the time limit.

    Each is long enough for a fault of ``needed`` seconds if that is possible.

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
    if count > MOST_ENTRIES:
        raise PlanError(
            f"{count:,} faults in {time_limit:,.0f} s of load; a plan has at most "
            f"{MOST_ENTRIES:,}: use a longer --nemesis-interval"
        )
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
            f"the interval is {slot:.1f} s instead of {interval:g} s, so that "
            + ("the fault fits" if kinds == 1 else f"all {kinds} kinds of fault fit")
            + f" into {time_limit:g} s"
        )
    if slot - room < needed + LEAST_LEAD:
        least = FIRST + TAIL + kinds * (needed + SPREAD + ROOM) - ROOM
        notes.append(
            f"faults last at most {slot - room:.1f} s, too short for a session to expire "
            f"({needed:.1f} s); {math.ceil(least)} s of load would be enough"
        )
    return Timetable(FIRST, slot, kinds, slot - room, time_limit - TAIL, tuple(notes))


def _squeezed(kinds: int, time_limit: float) -> tuple[float, float]:
    """Length of a slot, and of the time to recover in it, for ``kinds`` slots.

    The last slot needs no time to recover.
    """
    load = time_limit - FIRST - TAIL
    slot = (load + ROOM) / kinds
    if 0.4 * slot >= ROOM:
        return slot, ROOM
    slot = load / (kinds - 0.4)
    return slot, 0.4 * slot


def _time(draft: Draft, slot: int, table: Timetable, turn: Turn) -> tuple[float, float]:
    """Draw when a fault begins and how long it lasts; ``draft.lead`` is taken from its slot."""
    base = table.first + slot * table.slot
    limit = min(table.longest, table.end - base) - draft.lead
    low = min(max(turn.needed, DEPOSE if draft.deposes else 0.0), limit)
    usual = max(turn.needed + SPREAD, min(table.slot / 2, 3 * turn.needed))
    if draft.lasting:
        low, usual = 0.8 * limit, limit
    duration = round(turn.rng.uniform(low, max(low, min(usual, limit))), 3)
    latest = max(0.0, min(table.slot / 10, limit - duration))
    return round(base + turn.rng.uniform(0.0, latest), 3), duration
