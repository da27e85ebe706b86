"""Lays a run out: its files become one timeline, and doubts about them open questions.

A run's parts may contradict each other, or what this version of rumpus knows. Then what they show
is not held against the recipe, and the verdict says what is in doubt.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final, get_args

import msgspec

from rumpus.checker.history import History, session_hex
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.coherence import Contradictions, contradictions, contradictions_alone
from rumpus.checker.timeline.timeline import Asked, Effect, LineOfContenders, Timeline
from rumpus.checker.verdict import CheckResult
from rumpus.checker.wire.records import WireRecords
from rumpus.harness.docker.systems import SYSTEMS
from rumpus.nemesis.registry import BUILT_IN, FAULTS
from rumpus.recipes.catalogue_entry import CatalogueEntry
from rumpus.recipes.contests.interfaces import system_of
from rumpus.recipes.other_systems import MissingLibrary
from rumpus.recipes.promises import Promises
from rumpus.recipes.servers import SERVICES, ZOOKEEPER
from rumpus.results.first_record import FirstRecord, first_record
from rumpus.results.record import RunRecord
from rumpus.results.run_directory import RunDirectory
from rumpus.results.store_error import UnreadableRun
from rumpus.runs.recorded_settings import denied_by_command
from rumpus.runs.run_files import RunFiles
from rumpus.version import __version__
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.own.references import is_reference
from rumpus.workloads.registry import WORKLOADS

SET_MEANWHILE: Final = (
    "the host's wall clock was set during the run, so that nobody knows when happened what the "
    "servers' logs tell: run again on a host whose clock is left alone"
)

MOST_TOLD = 5
"""How many items of a list a reason names; of the rest it gives the number."""


def workload_of(run: RunDirectory, record: RunRecord, given: Workload | None) -> Workload:
    """The workload that made a run: one of rumpus, or the given one."""
    if given is not None:
        return given
    if record.workload in WORKLOADS:
        return WORKLOADS[record.workload]
    if is_reference(record.workload):
        raise UnreadableRun(
            run.record,
            f"its workload is {record.workload}, code of another repository, which is not "
            "imported just because a file names it",
            f"if you trust that code, give --workload {record.workload}",
        )
    raise UnreadableRun(
        run.record,
        f"its workload {record.workload!r} is unknown here",
        f"there are {', '.join(WORKLOADS)}",
    )


def lay_out(
    files: RunFiles, workload: Workload, known: Promises | None = None
) -> tuple[Timeline, list[CheckResult]]:
    """A run's timeline, and the checks that are undecided by what is in doubt about its files.

    Args:
        files: what was read of the run.
        workload: what made the run.
        known: what its recipe promises by its own code; None: that was not loaded.

    Raises:
        UnreadableRun: the parts of the run do not fit together.
    """
    run, record, history = files.directory, files.record, files.history
    said = first_record(history)
    if said is not None and (said.workload, said.recipe) != (record.workload, record.recipe):
        raise UnreadableRun(
            run.history,
            f"a history of {said.workload} / {said.recipe}, in the directory of a run of "
            f"{record.workload} / {record.recipe}",
            "check the history alone, by another name than history.jsonl",
        )
    if record.system not in _systems(workload, record.recipe):
        raise UnreadableRun(
            run.record,
            f"not a run's description ({workload.name} / {record.recipe} does not run on "
            f"{record.system})",
            "restore what the run wrote",
        )
    promises, differing = _held_to(workload, record.recipe, record.promises, known)
    clock = record.wall_clock() if record.clock_anchors else None
    set_meanwhile = clock is not None and not clock.steady and record.ensemble != "sim"
    if set_meanwhile:
        clock = None
    if run.bare:
        # Only what a run wrote numbers its records, and counts them at the end.
        found = Contradictions(history=[] if said is None else contradictions_alone(history))
    else:
        found = _contradictions(files, workload, said, clock)
    if not run.bare:
        found.history += denied_by_command(record, next(iter(workload.catalogue), None))
    line = record.line
    if not run.bare and (other := _other_line(workload, record)):
        found.short.append(other)
        line = None
    if not found.wire:
        history = history.with_sessions(_sessions_on_links(files))
    damaged = bool(files.changed or found.history)
    clock = None if found.clock else clock
    timeline = Timeline(
        history=history,
        promises=Promises(prevents=frozenset()) if damaged else promises,
        truth=None if found.logs else files.truth,
        wire=WireRecords() if found.wire else files.wire,
        clock=clock,
        leases=None if clock is None or found.logs else files.leases,
        line=line,
        path=workload.path,
        session_timeout=record.session_timeout,
        tick_ms=record.tick_ms,
        settings=record.servers,
        asked=Asked(
            kinds=record.nemesis,
            effects=_own_effects(run, record),
            directed=bool(record.options.get("directed")),
            punctual=isinstance(record.plan, dict) and record.plan.get("punctual") is True,
            impossible=_impossible_effects(record.system, holding=workload.holding is not None),
        ),
        strict=record.strict and not damaged,
        lossy=bool(lossy_faults(record)),
        damaged=damaged,
        foreign=record.system != ZOOKEEPER,
        unseen=record.system == SERVICES,
    )
    return workload.lay_out(timeline), [
        *_of_evidence(files, found),
        *([CheckResult(name="clocks", unknown=[SET_MEANWHILE])] if set_meanwhile else ()),
        *differing,
        *(_questions_of_end(history) if said is not None or not run.bare else ()),
    ]


def lossy_faults(record: RunRecord) -> list[str]:
    """The kinds of fault of a run after which ZooKeeper may lack what it acknowledged."""
    return [kind for kind in record.nemesis if kind in BUILT_IN and not FAULTS[kind].sound]


def _own_effects(run: RunDirectory, record: RunRecord) -> set[Effect]:
    """What the faults of other repositories that a run had must have caused."""
    try:
        told = msgspec.convert(record.options.get("own_faults", {}), dict[str, Effect | None])
    except msgspec.ValidationError as error:
        raise UnreadableRun(
            run.record, f"no effects of its own faults ({error})", "restore what the run wrote"
        ) from error
    return {effect for effect in told.values() if effect is not None}


def _impossible_effects(name: str, *, holding: bool) -> Collection[Effect]:
    """The effects that faults cannot have with a system.

    Args:
        name: the system.
        holding: whether the workload's clients hold something; only ZooKeeper's have sessions
            besides.
    """
    if name == SERVICES:
        return get_args(Effect)
    system = SYSTEMS.get(name)
    found: set[Effect] = set()
    if system is not None and not system.server(1).elects:
        found.add("leader change")
    if name != ZOOKEEPER and not holding:
        found.add("expiry")
    return found


def _systems(workload: Workload, recipe: str) -> Sequence[str]:
    """The systems that a run of a recipe can have been on."""
    if not workload.is_named(recipe):
        return ZOOKEEPER, SERVICES
    elsewhere = workload.elsewhere.get(recipe)
    if elsewhere is not None:
        return (elsewhere.system,)
    return (system_of(workload.recipe_of(recipe)),)


def _held_to(
    workload: Workload, recipe: str, promises: Promises, known: Promises | None
) -> tuple[Promises, list[CheckResult]]:
    """The promises that a run is held to, and a check that is undecided where they are in doubt.

    A run's record names its recipe's promises. They may differ from those that the recipe makes in
    this version. Then only those made in both can be broken, and whether the rest was kept is open.
    It is open, too, if the recipe is not known here: its record may leave out what it does not
    keep.

    Args:
        workload: the family.
        recipe: the recipe's name.
        promises: the recipe's, by the run's own record.
        known: those that it makes by its code; None: that was not loaded.
    """
    ours = known
    if workload.is_named(recipe):
        try:
            ours = workload.recipe_of(recipe).promises
        except MissingLibrary:  # it is for other servers, and what its class needs is not here
            ours = None
    if ours is None:
        return promises, [CheckResult(name="promises", unknown=[_on_trust(recipe)])]
    if ours == promises:
        return promises, []
    here, told = ours.prevents, promises.prevents
    if workload.is_own and here <= told:
        return promises, []  # the run may have been told to hold it to more (`--promise`)
    words = [
        *(f"{name} is missing" for name in sorted(here - told)),
        *(f"{name} is added" for name in sorted(told - here)),
    ]
    what = (
        f"the run names others than {workload.name} / {recipe} makes in rumpus {__version__} "
        f"({', '.join(words) or 'the same anomalies, but other further promises'}): check it "
        "with the rumpus that made it"
    )
    bounds = [each for each in (promises.wakeups, ours.wakeups) if each is not None]
    both = replace(
        promises,
        prevents=here & told,
        wakeups=max(bounds) if len(bounds) == 2 else None,
        tokens=promises.tokens and ours.tokens,
        fenced=promises.fenced and ours.fenced,
        lock_delay=min(promises.lock_delay, ours.lock_delay),
        time_boundary=min(promises.time_boundary, ours.time_boundary),
    )
    return both, [CheckResult(name="promises", unknown=[what])]


def _on_trust(recipe: str) -> str:
    """Why the promises of a recipe that was not loaded leave a verdict open."""
    if not is_reference(recipe):
        told = recipe or "its recipe"
        return f"what {told} promises is on trust: no recipe that can be loaded here has that name"
    return (
        f"what {recipe} promises is on trust: its code was not loaded, since only a file names it "
        "(--trust), or it is not here"
    )


def _counts_as_kazoo(workload: Workload, record: RunRecord) -> bool | None:
    """Whether the clients number their requests as kazoo does, or as Java's; None: unknown."""
    if is_reference(record.recipe) or is_reference(record.workload) or "patch" in record.versions:
        return None  # code of others may speak to servers as it likes
    return record.recipe not in workload.elsewhere


def _passes_requests_on(workload: Workload, record: RunRecord) -> bool:
    """Whether the recipe only passes requests to the servers, and nobody put a mistake in it.

    Recipes that take part of an answer into their next request do more: a server that answers with
    another path has that refused, and what was asked for is done all the same.
    """
    entry = workload.catalogue.get(record.recipe)
    sound = isinstance(entry, CatalogueEntry) and not entry.faulty
    alone = workload.plain and not workload.uses_answers
    return alone and sound and "patch" not in record.versions


def _contradictions(
    files: RunFiles, workload: Workload, said: FirstRecord | None, clock: WallClock | None
) -> Contradictions:
    """Where the parts of a run's record contradict each other."""
    record, history = files.record, files.history
    if is_reference(record.recipe) or is_reference(record.workload):
        # Code of others may make clients of its own, and nobody records their sessions.
        history = history.with_sessions(_sessions_on_links(files))
    found = contradictions(
        history,
        plan=record.planned(),
        truth=files.truth,
        read=not files.changed,
        clock=clock,
        lossy=bool(lossy_faults(record)) or record.options.get("server_mutant") is not None,
        sessions=record.system == ZOOKEEPER,
        wire=None if files.changed is None or files.changed else files.wire,
        session_timeout=record.session_timeout,
        settings=record.servers,
        kazoo=_counts_as_kazoo(workload, record),
        plain=_passes_requests_on(workload, record),
    )
    if said is not None:
        found.history += [
            f"{field} is not in {files.directory.record.name} what it is in the history's first "
            "record"
            for field in record.differences(said)
        ]
    found.short += _strange_nodes(record.line, history)
    if clock is not None and record.ensemble == "sim" and not clock.steady:
        found.clock.append(
            f"the readings of the clocks in {files.directory.record.name} contradict each other: "
            "nobody sets the clocks of the simulation"
        )
    if files.servers > record.nodes:
        found.logs.append(
            f"the run had {record.nodes} servers by {files.directory.record.name}, and there are "
            f"logs of {files.servers}"
        )
    return found


def _other_line(workload: Workload, record: RunRecord) -> str:
    """What the run's description says of the line of contenders, if its recipe has another."""
    if not workload.is_named(record.recipe):
        return ""
    try:
        ours = workload.recipe_of(record.recipe).line(workload.path)
    except MissingLibrary:  # it is for other servers, and what its class needs is not here
        return ""
    if ours == record.line:
        return ""
    return (
        f"the line of contenders in test.json is {record.line}, and {workload.name} / "
        f"{record.recipe} has {ours} in rumpus {__version__}"
    )


def _strange_nodes(line: LineOfContenders | None, history: History) -> Iterator[str]:
    """A grant whose node is none of the line that the run's description speaks of."""
    if line is None or line.kind not in ("sequential", "single"):
        return
    for op in history:
        value = op.value if op.type == "ok" else None  # read once: it is decoded each time
        node = value.get("node") if isinstance(value, dict) else None
        if not isinstance(node, str) or not node.startswith("/"):
            continue
        parent, _, name = node.rpartition("/")
        if line.kind == "single":
            fits = node == line.path
        else:
            marks = [line.mark, line.shared] if line.shared else [line.mark]
            fits = parent == line.path and any(mark in name for mark in marks)
        if not fits:
            yield (
                f"record {op.index} tells of {node}, which is no node of the line that "
                f"test.json describes ({line.kind}, {line.path}, {line.mark!r})"
            )
            return


def _sessions_on_links(files: RunFiles) -> dict[str, int]:
    """Session -> client, of all sessions that clients of the workload were granted."""
    return {
        session_hex(session): client
        for session, client in files.wire.sessions.items()
        if client < files.history.clients
    }


def _questions_of_end(history: History) -> list[CheckResult]:
    """The undecided check for a history that breaks off; none if it does not.

    Only a history that rumpus wrote has a record at its end; alone, it is known by its first one.
    """
    if not history.truncated:
        return []
    what = "it has no end, so it is unknown what came after its last record"
    return [CheckResult(name="history", unknown=[what])]


def _of_evidence(files: RunFiles, found: Contradictions) -> list[CheckResult]:
    """The undecided check for a missing seal, and for changed, unreadable or contradictory files.

    Without a seal the history may still show a violation. Files that were changed show nothing.
    """
    unknown: list[str] = []
    if files.changed is None:
        unknown.append("the run has no seal, so it did not come to its end, or somebody removed it")
    elif files.changed:
        unknown.append(
            f"since the run was sealed {_few(files.changed)}; run it again, or restore what it "
            "wrote"
        )
    unknown += files.unread
    if words := list(found):
        unknown.append(f"the parts of the record contradict each other: {_few(words)}")
    return [CheckResult(name="evidence", unknown=unknown)] if unknown else []


def _few(words: list[str]) -> str:
    """The first ones of a list in words, and how many more there are."""
    more = words[MOST_TOLD:]
    rest = [f"and {len(more)} more"] if more else []
    return ", ".join([*words[:MOST_TOLD], *rest])
