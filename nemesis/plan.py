"""Fault plans as data: what goes wrong, when, to whom, and for how long.

A plan is a JSON document::

    {"version": 1,
     "entries": [
       {"at": 5, "kind": "kill", "targets": {"role": "leader"}, "duration": 4},
       {"at": 15, "kind": "partition", "targets": {"shape": "bridge"}, "duration": 5},
       {"at": 25, "kind": "client-partition", "targets": {"names": ["c3"]}, "duration": 4,
        "options": {"how": "reset"}}]}

``at`` is in seconds since the load began, ``duration`` in seconds from the moment the fault was
injected. ``id`` is a number, the entry's place if not given. Random plans add ``seed`` and
``notes``.
"""

import math
import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, cast, get_args

import msgspec

from rumpus.harness.links.links import Cut
from rumpus.harness.links.zookeeper_frames import REQUESTS
from rumpus.harness.simulated_faults import Deed
from rumpus.nemesis.grudges import minority
from rumpus.nemesis.targets import CLIENT_ROLES, SERVER_ROLES, SHAPES, Targets

VERSION = 1

FAMILIES = {
    "kill": "server processes",
    "pause": "server processes",
    "partition": "the servers' network",
    "client-pause": "client processes",
    "client-kill": "client processes",
    "client-partition": "the clients' links",
    "follower-lag": "the servers' network",
    "power-off": "server processes",
    "file-slow": "the servers' disks",
    "file-full": "the servers' disks",
    "file-lie": "the servers' disks",
    "clock-skew": "the servers' clocks",
    "client-clock-skew": "the clients' clocks",
    "client-stall": "the clients' threads",
    "client-request": "the clients' requests",
}
"""Every kind of fault, and what it works on. Faults of one family can get in each other's way."""

EVERYWHERE = tuple(FAMILIES)[:6]
"""Kinds that every ensemble offers, real or simulated; random plans have them unless told else."""

SIMULATED = (*EVERYWHERE, "follower-lag")
"""Kinds of random plans for simulated servers, unless told else.

Without a follower that is behind, reads are fresh whether a recipe asks for it or not.
"""

SOUND = tuple(kind for kind in FAMILIES if kind != "file-lie")
"""Kinds that leave ZooKeeper's own promises whole, however they are combined."""

HOWS: tuple[str, ...] = get_args(Cut)
"""How a client's links can be cut; see ``harness.links.links.Cut``."""

DEEDS: tuple[Deed, ...] = get_args(Deed)
"""What can be done about a single request; see ``harness.simulated_faults.Deed``."""


class PlanError(ValueError):
    """A fault plan is malformed, or asks for what cannot be.

    The message names the file, the entry, the field and what is allowed. The command line
    prints it without a traceback and exits with 2.
    """


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Options of ``client-partition`` and ``client-request``; their faults on the way to ``nodes``.

    ``nodes``: from which servers to cut the clients, or on the way to which to strike (all if
    not given). ``how``: of a partition, one of ``HOWS`` (``black-hole`` if not given); of a
    request, one of ``DEEDS`` (``drop-reply`` if not given). For requests only: ``request``, a kind
    of request (``create`` if not given); ``number``, which one of that kind from then on (1: the
    next); ``hold``, for how many milliseconds ``hold-reply`` holds (1000 if not given).
    """

    how: str | None = None
    nodes: tuple[str, ...] | None = None
    request: str | None = None
    number: int | None = None
    hold: float | None = None


class Entry(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """One fault; see the module for its fields."""

    id: int
    at: float
    kind: str
    targets: Targets
    duration: float
    options: Options = Options()

    @property
    def end(self) -> float:
        """When it is healed, in seconds since the load began."""
        return self.at + self.duration

    @property
    def how(self) -> str | None:
        """How links are cut; None for other kinds."""
        return (self.options.how or "black-hole") if self.kind == "client-partition" else None

    @property
    def deed(self) -> Deed:
        """What is done about a request."""
        return cast("Deed", self.options.how or DEEDS[0])


class FaultPlan(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A run's faults. ``notes`` say in words what a random plan had to adapt."""

    version: int
    entries: tuple[Entry, ...] = ()
    seed: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of fault that occur, each once."""
        return tuple(kind for kind in FAMILIES if any(e.kind == kind for e in self.entries))


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
        PlanError: the file cannot be read, is malformed or asks for what cannot be.
    """
    try:
        document = path.read_bytes()
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
    """The decoder's message with its path in words, and the fields that are allowed there."""
    what, _, path = message.partition(" - at `$")
    path = path.rstrip("`").lstrip(".")
    fields = FaultPlan.__struct_fields__
    where = ""
    if place := re.match(r"entries\[(\d+)\]\.?", path):
        number = int(place[1])
        given = entries[number].get("id") if isinstance(entries[number], dict) else number + 1
        where, path, fields = f"entry {given}: ", path[place.end() :], Entry.__struct_fields__
    if path in {"targets", "options"}:
        fields = (Targets if path == "targets" else Options).__struct_fields__
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
        PlanError: as the class says.
    """
    for place, entry in enumerate(plan.entries):
        try:
            _check_id(entry, plan.entries[:place])
            _check_times(entry, time_limit)
            _check_entry(entry, nodes, clients)
        except PlanError as error:
            raise PlanError(f"{source}: entry {entry.id}: {error}") from None
    for one, other in combinations(sorted(plan.entries, key=lambda e: e.at), 2):
        if other.at < one.end and (why := conflict(one, other)):
            raise PlanError(
                f"{source}: entries {one.id} and {other.id} conflict: {why}, and both are in force "
                f"from {other.at:g} s to {min(one.end, other.end):g} s; move one of them"
            )


def _check_id(entry: Entry, earlier: Sequence[Entry]) -> None:
    if any(entry.id == other.id for other in earlier):
        raise PlanError('field "id" is used by an earlier entry; give each its own')


def _check_times(entry: Entry, time_limit: float | None) -> None:
    if not (math.isfinite(entry.at) and entry.at >= 0):
        raise PlanError(f'field "at" is {entry.at:g}; it must be 0 or more seconds')
    if time_limit is not None and entry.at >= time_limit:
        raise PlanError(
            f'field "at" is {entry.at:g}, after the load has ended; '
            f"it must be below the time limit of {time_limit:g} s"
        )
    if not (math.isfinite(entry.duration) and entry.duration > 0):
        raise PlanError(f'field "duration" is {entry.duration:g}; it must be more than 0 seconds')


def _check_entry(entry: Entry, nodes: int, clients: int) -> None:
    names = [f"n{i}" for i in range(1, nodes + 1)]
    _one_of("kind", entry.kind, tuple(FAMILIES))
    targets = entry.targets
    given = [field for field in targets.__struct_fields__ if getattr(targets, field) is not None]
    allowed = ("names", "shape", "grudge") if entry.kind == "partition" else ("names", "role")
    if len(given) != 1 or given[0] not in allowed:
        raise PlanError(
            f'field "targets" has {" and ".join(given) or "nothing"}; '
            f"for {entry.kind} it must have exactly one of {', '.join(allowed)}"
        )
    if entry.kind == "partition":
        _check_partition(targets, names)
    elif entry.kind.startswith("client-"):
        _check_clients(targets, clients)
    else:
        _check_servers(targets, names)
    _check_options(entry, names)


def _one_of(field: str, value: Any, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise PlanError(f'field "{field}" is "{value}"; allowed are {", ".join(allowed)}')


def _check_names(field: str, names: Sequence[str], allowed: Sequence[str]) -> None:
    if not names:
        raise PlanError(f'field "{field}" is empty; allowed are {", ".join(allowed)}')
    for name in names:
        _one_of(field, name, allowed)
    if len(set(names)) != len(names):
        raise PlanError(f'field "{field}" names one twice')


def _check_servers(targets: Targets, nodes: Sequence[str]) -> None:
    if targets.names is not None:
        _check_names("targets.names", targets.servers(), nodes)
        return
    _one_of("targets.role", targets.role, SERVER_ROLES)
    if targets.role == "minority" and not minority(len(nodes)):
        raise PlanError(
            f'field "targets.role" is "minority", but of {len(nodes)} servers none can be lost'
        )
    if targets.role in {"follower", "followers"} and len(nodes) < 2:
        raise PlanError(f'field "targets.role" is "{targets.role}", but a single server has none')


def _check_clients(targets: Targets, clients: int) -> None:
    if targets.names is None:
        _one_of("targets.role", targets.role, CLIENT_ROLES)
        return
    names = [n if isinstance(n, str) else f"c{n}" for n in targets.names]
    _check_names("targets.names", names, [f"c{i}" for i in range(clients)])


def _check_partition(targets: Targets, nodes: Sequence[str]) -> None:
    if len(nodes) < 2:
        raise PlanError("a single server cannot be partitioned; use at least 2 nodes")
    if targets.names is not None:
        _check_names("targets.names", targets.servers(), nodes)
        if len(targets.names) == len(nodes):
            raise PlanError('field "targets.names" has every server; nobody is left to cut from')
    elif targets.grudge is not None:
        _check_names("targets.grudge", list(targets.grudge), nodes)
        for node, others in targets.grudge.items():
            _check_names(f"targets.grudge.{node}", others, [n for n in nodes if n != node])
    else:
        _one_of("targets.shape", targets.shape, SHAPES)
        need = shape_needs(targets.shape or "")
        if len(nodes) < need:
            raise PlanError(
                f'field "targets.shape" is "{targets.shape}", which needs at least '
                f"{need} servers, not {len(nodes)}"
            )


def shape_needs(shape: str) -> int:
    """How many servers a shape of partition needs at least."""
    return {"majorities-ring": 4, "bridge": 3, "minority-majority": 3}.get(shape, 2)


def _check_options(entry: Entry, nodes: Sequence[str]) -> None:
    options = entry.options
    aimed = entry.kind == "client-request"
    if not aimed and entry.kind != "client-partition":
        if options != Options():
            raise PlanError(f'field "options" must be empty for {entry.kind}; it takes none')
        return
    if options.how is not None:
        _one_of("options.how", options.how, DEEDS if aimed else HOWS)
    if not aimed and options != Options(how=options.how, nodes=options.nodes):
        raise PlanError(f'field "options" takes only how and nodes for {entry.kind}')
    if options.request is not None:
        _one_of("options.request", options.request, tuple(REQUESTS))
    if options.number is not None and options.number < 1:
        raise PlanError(f'field "options.number" is {options.number}; requests count from 1')
    if options.hold is not None and not (math.isfinite(options.hold) and options.hold > 0):
        raise PlanError(f'field "options.hold" is {options.hold:g}; it must be above 0 ms')
    if options.nodes is not None:
        _check_names("options.nodes", options.nodes, nodes)


def conflict(earlier: Entry, later: Entry) -> str | None:
    """Why two entries cannot be in force at once; None if they can.

    Targets given by role are looked for among those that no other fault has struck, so two
    different roles never meet. A lost reply waits for its moment and gives way to a later cut.
    """
    family = FAMILIES[earlier.kind]
    if family != FAMILIES[later.kind]:
        return None
    if "partition" in {earlier.kind, later.kind}:
        return "there can be only one partition at a time, and no follower-lag beside it"
    if earlier.how == "lost-reply" and later.how != "lost-reply":
        return None
    if earlier.targets == later.targets:
        return f"both act on {family} with the same targets"
    if later.targets.names is None:
        return None
    if earlier.targets.names is None:
        return (
            f"both act on {family}, and entry {earlier.id} may have struck by its role "
            f"whom entry {later.id} names"
        )
    pick = Targets.clients if earlier.kind.startswith("client-") else Targets.servers
    met = set(pick(earlier.targets)) & set(pick(later.targets))
    return f"both act on {family} of the same targets" if met else None
