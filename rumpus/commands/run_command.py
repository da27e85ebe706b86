"""``rumpus run``: assembles a run from the options, performs it, judges it, reports it."""

import argparse
import logging
import platform
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version

import msgspec

from rumpus.consoles import notices, shown
from rumpus.harness.clients.workers import ClientSpec
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import Action, WorkloadContext
from rumpus.harness.run import Run, Status
from rumpus.interruption import Interruption
from rumpus.nemesis.plan import FaultPlan, dump_plan, load_plan
from rumpus.nemesis.random_plan import random_plan
from rumpus.nemesis.registry import EVERYWHERE, SIMULATED
from rumpus.results.record import ClockAnchor, RunRecord
from rumpus.results.run_directory import RunDirectory, create
from rumpus.results.store_error import StoreError
from rumpus.runs.docker_world import DockerWorld
from rumpus.runs.ensemble_choice import Choice, choose_ensemble
from rumpus.runs.progress import ProgressDisplay
from rumpus.runs.run_report import report
from rumpus.runs.sim_world import SimWorld
from rumpus.runs.world import RunOrder, World
from rumpus.simulation.kernel.preemption import mode_of_seed
from rumpus.simulation.zookeeper.mutants.catalogue import SERVER_MUTANTS
from rumpus.simulation.zookeeper.mutants.server_mutant import ServerMutant
from rumpus.usage_error import UsageError
from rumpus.version import __version__
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.registry import WORKLOADS

TICK_MS = 500

SIMULATED_ZOOKEEPER = "3.8.0, simulated"
"""The version of ZooKeeper that the record of a simulated run names."""


def run_command(arguments: argparse.Namespace) -> int:
    """Perform ``rumpus run``; the exit code.

    Raises:
        UsageError: something asked for does not exist or cannot be done.
        EnvironmentRefusal, StoreError: this host does not allow it.
    """
    console = notices()
    display = ProgressDisplay(console)
    workload = _workload(arguments.workload)
    arguments.recipe = arguments.recipe or next(iter(workload.recipes))
    _check_recipe(workload, arguments.recipe, fencing=arguments.fencing)
    _check_action(workload, arguments.recipe, arguments.action_time, arguments.guard)
    seed = arguments.seed if arguments.seed is not None else secrets.randbits(32)
    choice = choose_ensemble(arguments.ensemble, arguments.image)
    plan = _plan(arguments, seed, SIMULATED if choice.kind == "sim" else EVERYWHERE)
    run_id = f"{datetime.now(UTC):%m%d-%H%M%S}-{secrets.token_hex(3)}"
    world = _world(arguments, choice, seed, run_id, display)
    world.prepare(plan)

    directory = create(arguments.runs, workload.name, datetime.now(UTC))
    record = _record(arguments, plan, seed, run_id=run_id, world=world, anchor=world.begin())
    directory.write_record(record)
    dump_plan(plan, directory.plan)
    _log_to(directory)
    display.step(
        f"{workload.name} / {arguments.recipe}: seed {seed}, "
        f"faults {', '.join(plan.kinds) or 'none'}, run {shown(directory.path)}"
    )
    for note in plan.notes:
        display.step(f"note: {note}")
    interruption = Interruption()
    status = Status()
    with interruption.listening(display.step):
        with display.following(status):
            run = _run(arguments, seed, record)
            world.perform(
                RunOrder(run, plan, seed, directory, record, status, interruption.requested)
            )
        record.interrupted = interruption.requested()
        directory.write_record(record)
        _seal(directory, display.step)
        display.step("checking")
        return report(
            directory, console, as_json=arguments.json, interrupted=interruption.requested
        )


def _seal(directory: RunDirectory, say: Callable[[str], None]) -> None:
    """Seal the run's files. If that fails the run is judged all the same: it may be a violation."""
    try:
        directory.seal()
    except StoreError as error:
        say(f"the run cannot be sealed: {error}")


def _record(
    arguments: argparse.Namespace,
    plan: FaultPlan,
    seed: int,
    *,
    run_id: str,
    world: World,
    anchor: ClockAnchor,
) -> RunRecord:
    """The run's record, from options that have been checked."""
    workload = WORKLOADS[arguments.workload]
    recipe = workload.recipes[arguments.recipe]
    return RunRecord(
        run=run_id,
        rumpus=__version__,
        started=datetime.now(UTC),
        argv=["rumpus", *arguments.argv],
        workload=workload.name,
        recipe=arguments.recipe,
        promises=recipe.promises,
        line=recipe.line(workload.path),
        ensemble=world.kind,
        nodes=arguments.nodes,
        clients=arguments.clients,
        time_limit=arguments.time_limit,
        nemesis=list(plan.kinds),
        nemesis_interval=arguments.nemesis_interval,
        plan=msgspec.to_builtins(plan),
        seed=seed,
        image=world.image,
        strict=arguments.strict,
        fencing=arguments.fencing or recipe.promises.fenced,
        session_timeout=arguments.session_timeout,
        tick_ms=TICK_MS,
        options={"directed": arguments.plan is not None, **world.options},
        clock_anchors=[anchor],
        versions={
            "rumpus": __version__,
            "python": platform.python_version(),
            "kazoo": version("kazoo"),
            "zookeeper": world.image or SIMULATED_ZOOKEEPER,
        },
    )


def _run(arguments: argparse.Namespace, seed: int, record: RunRecord) -> Run:
    """The run as the harness performs it."""
    workload = WORKLOADS[arguments.workload]
    recipe = workload.recipes[arguments.recipe]
    setting = WorkloadContext(
        seed=Seed(seed),
        recipe=recipe,
        clients=arguments.clients,
        session_timeout=arguments.session_timeout,
        action=Action(arguments.action_time, arguments.guard),
    )
    return Run(
        clients=ClientSpec(
            workload.build,
            workload.options(arguments.recipe, arguments.clients),
            arguments.session_timeout,
        ),
        count=arguments.clients,
        words=workload.words,
        load=lambda until: workload.load_of(replace(setting, until=until)),
        final=workload.final_of(setting),
        time_limit=arguments.time_limit,
        cleanup=workload.cleanup,
        fencing=record.fencing,
        watches_left=workload.plain,
        test=record.first_record().value(),
    )


def _workload(name: str) -> Workload:
    if name not in WORKLOADS:
        raise UsageError(f"unknown workload {name!r}; there are {', '.join(WORKLOADS)}")
    return WORKLOADS[name]


def _check_recipe(workload: Workload, name: str, *, fencing: bool) -> None:
    if name not in workload.recipes:
        raise UsageError(
            f"unknown recipe {name!r} of workload {workload.name}; there are "
            f"{', '.join(workload.recipes)}"
        )
    recipe = workload.recipes[name]
    if fencing and not recipe.promises.tokens:
        raise UsageError(
            f"{workload.name} / {name} gives no fencing tokens, so nothing can be fenced"
        )


def _check_action(workload: Workload, name: str, length: float, guard: float) -> None:
    if (length or guard) and not workload.timed_actions:
        timed = [each.name for each in WORKLOADS.values() if each.timed_actions]
        raise UsageError(
            f"workload {workload.name} has no actions whose time can be chosen; {', '.join(timed)} "
            "have"
        )
    if guard and not length:
        raise UsageError("--guard requires --action-time")
    if guard and "stale-belief" not in workload.recipes[name].promises.prevents:
        raise UsageError(
            f"{workload.name} / {name} does not know for how long it holds, so it takes no "
            "--guard: use a recipe that prevents stale-belief"
        )


def _plan(arguments: argparse.Namespace, seed: int, usual: Sequence[str]) -> FaultPlan:
    if arguments.plan is not None:
        if arguments.nemesis is not None:
            raise UsageError("--plan and --nemesis exclude each other: a plan says which faults")
        return load_plan(
            arguments.plan,
            nodes=arguments.nodes,
            clients=arguments.clients,
            time_limit=arguments.time_limit,
        )
    kinds = list(usual) if arguments.nemesis is None else arguments.nemesis
    return random_plan(
        kinds,
        seed=seed,
        time_limit=arguments.time_limit,
        interval=arguments.nemesis_interval,
        nodes=arguments.nodes,
        clients=arguments.clients,
        session_timeout=arguments.session_timeout,
        tick=TICK_MS / 1000,
        requests=WORKLOADS[arguments.workload].requests,
    )


def _world(
    arguments: argparse.Namespace,
    choice: Choice,
    seed: int,
    run_id: str,
    display: ProgressDisplay,
) -> World:
    preemption = arguments.preemption
    if choice.kind != "sim" and preemption != "auto":
        raise UsageError(
            f"--preemption {preemption} is for simulated runs, as nobody but the system decides "
            "when real threads are preempted: leave it out, or use --ensemble sim"
        )
    mutant = _server_mutant(arguments.server_mutant, choice)
    display.step(f"ensemble: {choice.kind} ({choice.why})")
    if mutant is not None:
        display.step(f"mutant servers, {mutant.name}: they {mutant.mistake}")
    if choice.kind == "sim":
        return SimWorld(
            nodes=arguments.nodes,
            tick_ms=TICK_MS,
            run=(arguments.workload, arguments.recipe, seed),
            preemption=mode_of_seed(seed) if preemption == "auto" else preemption,
            mutant=mutant,
            say=display.step,
        )
    return DockerWorld(
        run_id, nodes=arguments.nodes, image=arguments.image, tick_ms=TICK_MS, say=display.step
    )


def _server_mutant(name: str | None, choice: Choice) -> ServerMutant | None:
    if name is None:
        return None
    if name not in SERVER_MUTANTS:
        raise UsageError(f"unknown server mutant {name!r}; there are {', '.join(SERVER_MUTANTS)}")
    if choice.kind != "sim":
        raise UsageError(
            f"--server-mutant {name} is for simulated servers: leave it out, or use --ensemble sim"
        )
    return SERVER_MUTANTS[name]


def _log_to(directory: RunDirectory) -> None:
    handler = logging.FileHandler(directory.harness_log)
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
