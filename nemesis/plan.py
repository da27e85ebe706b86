"""Fault plans as data: which faults, when, with which targets, and for how long.

A plan is a JSON document::

    {"version": 1,
     "entries": [
       {"at": 5, "kind": "kill", "targets": {"role": "leader"}, "duration": 4},
       {"at": 15, "kind": "partition", "targets": {"shape": "bridge"}, "duration": 5},
       {"at": 25, "kind": "client-partition", "targets": {"names": ["c3"]}, "duration": 4,
        "options": {"how": "reset"}}]}

``at`` is in seconds since the load began, ``duration`` in seconds from the moment the fault was
injected. ``id`` is a number; by default the entry's place in the list, from 1. Random plans add
``seed`` and ``notes``.

Faults may overlap if they work on different things, or have different targets. With ``"punctual":
true`` a fault begins at its time even if an earlier one has not yet been seen to be in force, or
healed; what was not seen to be healed then is looked at again later.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from rumpus.checker.bounds import LONGEST_S
from rumpus.checker.untrusted_file import UnfitFile, in_utf8, read_regular
from rumpus.nemesis.entry import Entry, PlanError, one_of
from rumpus.nemesis.registry import FAULTS, fault_of
from rumpus.nemesis.targets import Targets

VERSION = 1

MOST_ENTRIES = 100_000
"""Faults of a plan: a week of load has 60,000 of the usual ones."""
LARGEST = 64 << 20
"""Bytes of a plan's file: one of `MOST_ENTRIES` faults has about 30 million."""
MOST_PAIRS = 1_000_000
"""Pairs of faults in force at once: each is looked at. 1,000 faults at once have half a million."""


class FaultPlan(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A run's faults. ``notes`` say in words how a random plan had to be limited.

    ``punctual``: no fault waits until an earlier one is seen to be in force or healed.
    """

    version: int
    entries: tuple[Entry, ...] = ()
    seed: int | None = None
    notes: tuple[str, ...] = ()
    punctual: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of fault that occur, each once."""
        return tuple(kind for kind in FAULTS if any(e.kind == kind for e in self.entries))


def encode_plan(plan: FaultPlan) -> bytes:
    """A plan as the JSON document that ``decode_plan`` reads."""
    # ``version`` has no default so that it is always written.
    return msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n"


def dump_plan(plan: FaultPlan, path: Path) -> None:
    """Write a plan to a file."""
    path.write_bytes(encode_plan(plan))


def load_plan(
    path: Path, *, nodes: int, clients: int, time_limit: float | None = None
) -> FaultPlan:
    """Read a plan from a file and check it against the run it is meant for.

    Raises:
        PlanError: the file cannot be read, is no regular file or too large, is malformed, or asks
            for something impossible.
    """
    try:
        document = read_regular(path, LARGEST)
    except UnfitFile as unfit:
        why = f"not a fault plan: {unfit.why}; {unfit.remedy}"
        raise PlanError(f"{in_utf8(path)}: {why}") from unfit
    except OSError as error:
        raise PlanError(f"{path}: the fault plan cannot be read: {error.strerror}") from error
    return decode_plan(
        document, nodes=nodes, clients=clients, time_limit=time_limit, source=str(path)
    )


def decode_plan(
    document: bytes,
    *,
    nodes: int,
    clients: int,
    time_limit: float | None = None,
    source: str = "fault plan",
) -> FaultPlan:
    """Read a plan from JSON; see ``load_plan``. ``source`` names it in errors."""
    try:
        raw = msgspec.json.decode(document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise PlanError(f"{source}: not a JSON document: {error}") from error
    if not isinstance(raw, dict):
        raise PlanError(f'{source}: a plan is an object with "version" and "entries"')
    if raw.get("version") != VERSION:
        raise PlanError(
            f'{source}: field "version" is {raw.get("version", "missing")}; '
            f"this program reads version {VERSION}"
        )
    entries = raw.get("entries", [])
    if isinstance(entries, list):
        for place, entry in enumerate(entries, start=1):
            if isinstance(entry, dict):
                entry.setdefault("id", place)
    try:
        plan = msgspec.convert(raw, FaultPlan)
    except msgspec.ValidationError as error:
        raise PlanError(f"{source}: {_explain(str(error), entries)}") from error
    validate(plan, nodes=nodes, clients=clients, time_limit=time_limit, source=source)
    return plan


def _explain(message: str, entries: Any) -> str:
    """The message of msgspec with the JSON path in words, and the fields that are allowed there."""
    what, _, path = message.partition(" - at `$")
    path = path.rstrip("`").lstrip(".")
    fields = FaultPlan.__struct_fields__
    where = ""
    if place := re.match(r"entries\[(\d+)\]\.?", path):
        number = int(place[1])
        given = entries[number].get("id") if isinstance(entries[number], dict) else number + 1
        where, path, fields = f"entry {given}: ", path[place.end() :], Entry.__struct_fields__
    if path == "targets":
        fields = Targets.__struct_fields__
    field = f'field "{path}": ' if path else ""
    allowed = f"; the fields are {', '.join(fields)}" if "field `" in what else ""
    return f"{where}{field}{what}{allowed}"


def validate(
    plan: FaultPlan,
    *,
    nodes: int,
    clients: int,
    time_limit: float | None = None,
    source: str = "fault plan",
) -> None:
    """Check a plan against the number of servers, of clients, and the seconds of load.

    Raises:
        PlanError: it asks for something impossible, or entries conflict; the message names them.
    """
    if len(plan.entries) > MOST_ENTRIES:
        raise PlanError(
            f"{source}: {len(plan.entries):,} faults; there are at most {MOST_ENTRIES:,}"
        )
    known: dict[int, Entry] = {}
    for entry in plan.entries:
        try:
            _check_id(entry, known)
            _check_times(entry, time_limit)
            _check_entry(entry, nodes, clients)
        except PlanError as error:
            raise PlanError(f"{source}: entry {entry.id}: {error}") from None
    for entry in plan.entries:
        try:
            _check_of(entry, known)
        except PlanError as error:
            raise PlanError(f"{source}: entry {entry.id}: {error}") from None
    for number, (one, other) in enumerate(_at_once(plan.entries)):
        if number == MOST_PAIRS:
            raise PlanError(
                f"{source}: more than {MOST_PAIRS:,} pairs of faults are in force at once; let "
                "fewer overlap"
            )
        if why := conflict(one, other):
            raise PlanError(
                f"{source}: entries {one.id} and {other.id} conflict: {why}, and both are in force "
                f"from {other.at:g} s to {min(one.end, other.end):g} s; move one of them"
            )


def _at_once(entries: Sequence[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """Each two entries that are in force at once, the earlier one first."""
    by_time = sorted(entries, key=lambda entry: entry.at)
    for place, one in enumerate(by_time):
        for other in islice(by_time, place + 1, None):
            if other.at >= one.end:
                break
            yield one, other


def _check_id(entry: Entry, known: dict[int, Entry]) -> None:
    if known.setdefault(entry.id, entry) is not entry:
        raise PlanError('field "id" is used by an earlier entry; give each its own')


def _check_of(entry: Entry, known: Mapping[int, Entry]) -> None:
    of = entry.targets.of
    if of is None:
        return
    meant = known.get(of)
    if meant is None:
        raise PlanError(f'field "targets.of" is {of}, and there is no such entry')
    if meant.at >= entry.at:
        raise PlanError(
            f'field "targets.of" is {of}, an entry that has not begun by then: it begins at '
            f"{meant.at:g} s; name an earlier one"
        )


def _check_times(entry: Entry, time_limit: float | None) -> None:
    if not 0 <= entry.at <= LONGEST_S:
        raise PlanError(f'field "at" is {entry.at:g}; it is not from 0 to {LONGEST_S:,} seconds')
    if time_limit is not None and entry.at >= time_limit:
        raise PlanError(
            f'field "at" is {entry.at:g}, after the load has ended; '
            f"it must be below the time limit of {time_limit:g} s"
        )
    if not 0 < entry.duration <= LONGEST_S:
        raise PlanError(
            f'field "duration" is {entry.duration:g}; it must be more than 0 seconds, and at most '
            f"{LONGEST_S:,}"
        )


def _check_entry(entry: Entry, nodes: int, clients: int) -> None:
    one_of("kind", entry.kind, tuple(FAULTS))
    servers = [f"n{i}" for i in range(1, nodes + 1)]
    FAULTS[entry.kind].check(entry, servers, [f"c{i}" for i in range(clients)])


def conflict(earlier: Entry, later: Entry) -> str | None:
    """Why two entries cannot be in force at once; None if they can.

    Targets given by role are chosen among those that no other fault affects, so entries with
    different roles never share a target.
    """
    one, other = fault_of(earlier), fault_of(later)
    if one.works_on != other.works_on:
        return None
    if one.several and other.several:
        return None
    if alone := one.alone or other.alone:
        return alone
    if one.gives_way and not other.gives_way:
        return None
    if earlier.targets.of is not None or later.targets.of is not None:
        return (
            f"both act on {one.works_on}, and one of them takes the targets of another entry, "
            "which may be those of the other"
        )
    if earlier.targets == later.targets:
        return f"both act on {one.works_on} with the same targets"
    if later.targets.names is None:
        return None
    if earlier.targets.names is None:
        return (
            f"both act on {one.works_on}, and entry {earlier.id} may have chosen by its role "
            f"a target that entry {later.id} names"
        )
    met = earlier.targets.numbers() & later.targets.numbers()
    return f"both act on {one.works_on} of the same targets" if met else None
