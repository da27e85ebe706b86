"""Performs one run: prepares the world, drives the clients, gathers, and seals the directory."""

import contextlib
import logging
import platform
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from rumpus.catalogue.index import recipes
from rumpus.checker.nearest_name import meant
from rumpus.checker.wire.settings import ServerSettings
from rumpus.consoles import shown
from rumpus.harness.clients.handlers import HANDLERS
from rumpus.harness.clients.library import UnusableLibrary, loaded_version
from rumpus.harness.clients.workers import WorkerCrash
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.usage import parse_usage
from rumpus.harness.generators.workload_context import Action, WorkloadContext
from rumpus.harness.run import Run, Status
from rumpus.harness.zookeeper_versions import USUAL_VERSION
from rumpus.nemesis.fault import Fault
from rumpus.nemesis.plan import FaultPlan, dump_plan, load_plan, validate
from rumpus.nemesis.random_plan import random_plan
from rumpus.nemesis.registry import (
    EVERYWHERE,
    FAULTS,
    SIMULATED,
    SOUND,
    availability,
    register,
)
from rumpus.nemesis.swarm import swarm_plan
from rumpus.project_names import find_modules, references_of, working_directory
from rumpus.recipes.contests.interfaces import Recipe, client_image_of, system_of
from rumpus.recipes.other_systems import MissingLibrary
from rumpus.recipes.promises import Promises
from rumpus.recipes.servers import SERVICES, ZOOKEEPER
from rumpus.results.home_paths import hide_home, without_home
from rumpus.results.record import ClockAnchor, RunRecord
from rumpus.results.run_directory import RunDirectory, create
from rumpus.results.store_error import StoreError
from rumpus.runs.applicability import fitted, refuse_elsewhere, refuse_rivals
from rumpus.runs.client_library import find_kazoo
from rumpus.runs.ensemble_choice import Choice, choose_ensemble, image_of_version
from rumpus.runs.forks import Forks
from rumpus.runs.patched_modules import digest_of_patched, patched_modules
from rumpus.runs.real_world import ServicesWorld
from rumpus.runs.run_options import TICK_MS
from rumpus.runs.run_settings import OPTIONS, RunSettings, check, command_line
from rumpus.runs.services import addresses
from rumpus.runs.sim_world import SimWorld
from rumpus.runs.swarm_settings import with_swarm
from rumpus.runs.workload_run import workload_run
from rumpus.runs.world import RunOrder, World
from rumpus.simulation.kernel.preemption import mode_of_seed
from rumpus.simulation.zookeeper.mutants.catalogue import SERVER_MUTANTS
from rumpus.simulation.zookeeper.mutants.server_mutant import ServerMutant
from rumpus.usage_error import UsageError
from rumpus.version import __version__
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.own.references import NotFound, is_reference, referred
from rumpus.workloads.registry import WORKLOADS, find_workload

SIMULATED_ZOOKEEPER = f"{USUAL_VERSION}, simulated"
"""The version of ZooKeeper that the record of a simulated run names."""

OF_CLIENTS = tuple(kind for kind in EVERYWHERE if FAULTS[kind].needs is None)
"""The kinds of fault in random plans where the servers are the user's, by default."""


class PreparedRun:
    """A run whose settings have been checked and whose world is ready.

    Args:
        settings: what to run.
        say: called with a line for every step.
        plan: the faults, in place of those that the settings name.
        directed: whether the faults are directed, so that a verdict needs no effect of them; None:
            they are if ``plan``, or the settings, name them.

    Attributes:
        workload: what the clients do.
        seed: decides every random choice.

    Raises:
        UsageError: something asked for does not exist or cannot be done.
        EnvironmentRefusal: this host does not allow it.
    """

    def __init__(
        self,
        settings: RunSettings,
        say: Callable[[str], None],
        *,
        plan: FaultPlan | None = None,
        directed: bool | None = None,
    ) -> None:
        check(settings)
        refuse_rivals(settings)
        find_modules(references_of(settings), working_directory())
        self._say = say
        self.workload = known_workload(settings.workload)
        self._own_faults = [find_fault(reference) for reference in settings.fault]
        name = settings.recipe or next(iter(self.workload.catalogue), "")
        self.seed = settings.seed if settings.seed is not None else secrets.randbits(32)
        settings = replace(settings, recipe=name)
        self._name = name
        self._recipe = find_recipe(self.workload, settings, name)
        self._system = system_of(self._recipe)
        self._client_image = client_image_of(self._recipe)
        settings = fitted(settings, self._system, self._client_image)
        if settings.ensemble == "sim":
            refuse_elsewhere(settings, "sim")
        settings = _with_version(settings)
        choice = _choice(settings)
        refuse_elsewhere(settings, choice.kind)
        self._settings = settings = with_swarm(
            settings,
            self.seed,
            simulated=choice.kind == "sim",
            least_clients=self.workload.least_clients(self._recipe),
        )
        self._usage = parse_usage(settings.usage)
        self._kazoo = None if settings.kazoo is None else find_kazoo(settings.kazoo, say)
        self._kazoo_version = self._loaded()
        self._patched = (
            {} if settings.patch is None else patched_modules(Path(settings.patch), settings.kazoo)
        )
        usual = {"sim": SIMULATED, "services": OF_CLIENTS}.get(choice.kind, EVERYWHERE)
        if settings.swarm is not None and choice.kind == "sim":
            usual = SOUND
        elif settings.swarm is not None and settings.nemesis is None and choice.kind == "docker":
            usual = _sound_here(self._system) or usual
        if settings.nodes == 1 and self._system != ZOOKEEPER:
            usual = tuple(kind for kind in usual if kind != "partition")
        own = [fault.kind for fault in self._own_faults]
        if plan is None:
            self._plan = _plan(settings, self.workload, self.seed, usual, own)
        else:
            self._plan = _checked(plan, settings)
        self._directed = bool(plan or settings.plan or settings.swarm)
        if directed is not None:
            self._directed = directed
        self._id = f"{datetime.now(UTC):%m%d-%H%M%S}-{secrets.token_hex(3)}"
        if settings.service:
            # The services outlive the run, so each run has a lock of its own there.
            self.workload = type(self.workload)(path=f"{self.workload.path}/{self._id}")
        self._world = _world(
            settings,
            choice,
            self.seed,
            self._id,
            say,
            self._system,
            self._client_image,
            self.workload,
        )
        self._world.prepare(self._plan)

    @property
    def promises(self) -> Promises:
        """What the recipe promises."""
        return self._recipe.promises

    def perform(
        self,
        *,
        interrupted: Callable[[], bool] = lambda: False,
        following: Callable[[Status], contextlib.AbstractContextManager[None]] | None = None,
        forks: Forks[Any] | None = None,
    ) -> RunDirectory:
        """Perform the run; its directory, sealed, not yet judged.

        Args:
            interrupted: once true, the run is brought to its end.
            following: shows the run's status while the block runs.
            forks: where a simulated run branches.

        Raises:
            EnvironmentRefusal, StoreError: this host does not allow it.
            WorkerCrash: a client's process failed by itself.
        """
        settings, plan = self._settings, self._plan
        directory = create(settings.runs, self.workload.name, datetime.now(UTC))
        record = self._record(self._world.begin())
        directory.write_record(record)
        dump_plan(plan, directory.plan)
        with _logging_to(directory):
            self._say(
                f"{self.workload.name} / {self._name}: seed {self.seed}, "
                f"faults {', '.join(plan.kinds) or 'none'}, run {shown(directory.path)}"
            )
            if settings.swarm is not None:
                self._say(_drawn(settings))
            for note in plan.notes:
                self._say(f"note: {note}")
            status = Status()
            order = RunOrder(
                self._run(record),
                plan,
                self.seed,
                directory,
                record,
                status,
                interrupted,
                None if forks is None else partial(forks.look, directory, record),
            )
            with following(status) if following is not None else contextlib.nullcontext():
                try:
                    self._world.perform(order)
                except WorkerCrash as crash:
                    if not is_reference(self._name):
                        raise
                    raise UsageError(f"{crash}. {self._name} must not end its process") from crash
            record.interrupted = interrupted()
            if self._system == ZOOKEEPER and status.library is not None:
                record.versions[self._client_image or "kazoo"] = status.library
            directory.write_record(record)
            _seal(directory, self._say)
        return directory

    def _loaded(self) -> str:
        """The version of kazoo that the clients are going to load.

        Raises:
            UsageError: they cannot load it, or the recipe cannot run with it.
        """
        settings, workload = self._settings, self.workload
        if self._kazoo is None and settings.handler == HANDLERS[0]:
            return version("kazoo")
        options = workload.options(self._name, settings.clients, self._recipe)
        try:
            return loaded_version(self._kazoo, workload.build, options, settings.handler)
        except UnusableLibrary as error:
            asked = [] if settings.kazoo is None else [f"--kazoo {settings.kazoo}"]
            if settings.handler != HANDLERS[0]:
                asked.append(f"--handler {settings.handler}")
            subject = f"{workload.name} / {self._name} cannot run with {' '.join(asked)}"
            raise UsageError(f"{subject}: {error}") from error

    def _libraries(self, greenlets: str | None) -> dict[str, str]:
        """The versions of what the clients use, by name."""
        if self._system == SERVICES:
            return {}  # what a recipe speaks to its services by is its own
        if self._system != ZOOKEEPER:
            library = str(self._recipe.library)  # type: ignore[attr-defined]  # as Recipe says
            return {library: version(library)}
        if self._client_image:
            return {}  # known once a client runs
        more = {greenlets: version(greenlets)} if greenlets else {}
        return {"kazoo": self._kazoo_version, **more}

    def _of_servers(self) -> dict[str, str]:
        """The version of the servers, by name; none of services, which do not tell."""
        if self._system == SERVICES:
            return {}
        name = "zookeeper" if self._system == ZOOKEEPER else "servers"
        return {name: self._world.image or SIMULATED_ZOOKEEPER}

    def _record(self, anchor: ClockAnchor) -> RunRecord:
        """The run's record."""
        settings, plan = self._settings, self._plan
        own = {fault.kind: fault.causes for fault in self._own_faults}
        greenlets = None if settings.handler == HANDLERS[0] else settings.handler
        return RunRecord(
            run=self._id,
            rumpus=__version__,
            started=datetime.now(UTC),
            # A run of a night, an exploration or a case was not asked for by a command of its own.
            argv=["rumpus", *map(without_home, settings.argv or command_line(settings)[1:])],
            workload=settings.workload,
            recipe=self._name,
            promises=self._recipe.promises,
            line=self._recipe.line(self.workload.path),
            ensemble=self._world.kind,
            nodes=settings.nodes,
            clients=settings.clients,
            time_limit=settings.time_limit,
            nemesis=list(plan.kinds),
            nemesis_interval=settings.nemesis_interval,
            plan=msgspec.to_builtins(plan),
            seed=self.seed,
            image=self._world.image,
            strict=settings.strict,
            fencing=settings.fencing or self._recipe.promises.fenced,
            session_timeout=settings.session_timeout,
            tick_ms=TICK_MS,
            servers=server_settings(settings, self._system),
            options={
                "directed": self._directed,
                **_recorded(settings),
                **({"own_faults": own} if own else {}),
                **({} if self._system == ZOOKEEPER else {"system": self._system}),
                **({"client_image": self._client_image} if self._client_image else {}),
                **self._world.options,
            },
            clock_anchors=[anchor],
            versions={
                "rumpus": __version__,
                "python": platform.python_version(),
                **self._libraries(greenlets),
                **self._of_servers(),
                **({"patch": digest_of_patched(self._patched)} if self._patched else {}),
            },
        )

    def _run(self, record: RunRecord) -> Run:
        """The run as the harness performs it."""
        settings, workload = self._settings, self.workload
        context = WorkloadContext(
            seed=Seed(self.seed),
            recipe=self._recipe,
            clients=settings.clients,
            session_timeout=settings.session_timeout,
            action=Action(settings.action_time, settings.guard),
            usage=self._usage,
        )
        return workload_run(
            workload,
            self._name,
            context,
            time_limit=settings.time_limit,
            library=self._kazoo,
            handler=settings.handler,
            patched=self._patched,
            fencing=record.fencing,
            test=record.first_record().value(),
        )


def server_settings(settings: RunSettings, system: str) -> ServerSettings | None:
    """What the servers are told; None if their image may say otherwise, or is not ZooKeeper's.

    Args:
        settings: of the run; those with a ``zookeeper`` have its image by now.
        system: what the servers are.
    """
    ours = settings.image is None or settings.zookeeper is not None
    return ServerSettings.usual(TICK_MS) if ours and system == ZOOKEEPER else None


def _recorded(settings: RunSettings) -> dict[str, Any]:
    """The options of a run that were given and are no fields of its record."""
    apart = {*RunRecord.__struct_fields__, "runs"}  # a run may be moved
    given = {
        option.name: getattr(settings, option.name)
        for option in OPTIONS.values()
        if option.name not in apart and option.is_given(settings)
    }
    return {
        name: without_home(value) if isinstance(value, str) else value
        for name, value in given.items()
    }


def _seal(directory: RunDirectory, say: Callable[[str], None]) -> None:
    """Seal the run's files. If that fails the run is judged all the same: it may be a violation."""
    try:
        hide_home(directory.clients)  # before, as the logs are sealed, too
        directory.seal()
    except StoreError as error:
        say(f"the run cannot be sealed: {error}")


def known_workload(name: str) -> Workload:
    """A workload by its name or reference.

    Raises:
        UsageError: there is no such workload.
    """
    try:
        return find_workload(name)
    except NotFound as error:
        raise UsageError(str(error)) from error


def find_fault(reference: str) -> type[Fault[Any]]:
    """A kind of fault of another repository, which plans may have from now on.

    Raises:
        UsageError: there is no such class.
    """
    try:
        return register(referred(reference), reference)
    except NotFound as error:
        raise UsageError(str(error)) from error


def find_recipe(workload: Workload, settings: RunSettings, name: str) -> type[Recipe]:
    """The recipe that is put on trial, if it can be with these options."""
    if settings.promises and not is_reference(name) and not workload.is_own:
        raise UsageError(
            f"--promise is for recipes of your own (package.module:Name); what {name} promises is "
            "known: see `rumpus list`"
        )
    try:
        recipe = workload.recipe_of(name, settings.promises, services=bool(settings.service))
    except (NotFound, ValueError) as error:
        whose = [family for family, known in recipes().items() if name in chain(*known)]
        if whose and workload.name not in whose and not workload.is_own:
            raise UsageError(
                f"unknown recipe {name!r} of workload {workload.name}; it is a recipe of "
                f"{', '.join(whose)}"
            ) from error
        raise UsageError(str(error)) from error
    except MissingLibrary as missing:
        raise EnvironmentRefusal(f"{workload.name} / {name} {missing}") from missing
    if settings.fencing and not recipe.promises.tokens:
        raise UsageError(
            f"{workload.name} / {name} gives no fencing tokens, so nothing can be fenced"
        )
    _check_action(workload, name, recipe.promises, settings.action_time, settings.guard)
    return recipe


def _drawn(settings: RunSettings) -> str:
    """In words, what a swarm run has drawn beside its plan."""
    return (
        f"swarm {settings.swarm}: {settings.nodes} servers, {settings.clients} clients, session "
        f"timeout {settings.session_timeout:g} s, usage {settings.usage or 'usual'}"
    )


def _check_action(
    workload: Workload, name: str, promises: Promises, length: float, guard: float
) -> None:
    if (length or guard) and not workload.timed_actions:
        timed = [each.name for each in WORKLOADS.values() if each.timed_actions]
        raise UsageError(
            f"workload {workload.name} has no actions whose time can be chosen; only "
            f"{', '.join(timed)} have such actions"
        )
    if guard and not length:
        raise UsageError("--guard requires --action-time")
    if guard and "stale-belief" not in promises.prevents:
        raise UsageError(
            f"{workload.name} / {name} does not know for how long it holds, so it takes no "
            "--guard: use a recipe that prevents stale-belief"
        )


def _sound_here(system: str) -> tuple[str, ...]:
    """The kinds of fault that swarm runs on real servers draw from: what this host allows.

    None of them if there is no engine, or no image yet, with which that could be tried.
    """
    from rumpus.harness.docker.ensemble import DockerEnsemble  # noqa: PLC0415 - slow to import

    ensemble = DockerEnsemble("probe", system=system)
    try:
        allowed = availability(ensemble.probe(), "docker")
    finally:
        ensemble.tear_down()
    if not allowed["kill"].available:
        return ()
    return tuple(kind for kind in SOUND if allowed[kind].available)


def _plan(
    settings: RunSettings,
    workload: Workload,
    seed: int,
    usual: Sequence[str],
    own: Sequence[str],
) -> FaultPlan:
    if settings.plan is not None:
        return load_plan(
            settings.plan,
            nodes=settings.nodes,
            clients=settings.clients,
            time_limit=settings.time_limit,
        )
    kinds = list(usual) if settings.nemesis is None else settings.nemesis
    if settings.swarm is not None:
        return swarm_plan(
            [*kinds, *own],
            seed=seed,
            profile=settings.swarm,
            time_limit=settings.time_limit,
            nodes=settings.nodes,
            clients=settings.clients,
            session_timeout=settings.session_timeout,
            tick=TICK_MS / 1000,
            requests=workload.requests,
        )
    return random_plan(
        [*kinds, *own],
        seed=seed,
        time_limit=settings.time_limit,
        interval=settings.nemesis_interval,
        nodes=settings.nodes,
        clients=settings.clients,
        session_timeout=settings.session_timeout,
        tick=TICK_MS / 1000,
        requests=workload.requests,
        sessions=not settings.service,
    )


def _checked(plan: FaultPlan, settings: RunSettings) -> FaultPlan:
    """A plan that is checked against the run it is meant for."""
    validate(plan, nodes=settings.nodes, clients=settings.clients, time_limit=settings.time_limit)
    return plan


def _world(
    settings: RunSettings,
    choice: Choice,
    seed: int,
    run_id: str,
    say: Callable[[str], None],
    system: str,
    client_image: str,
    workload: Workload,
) -> World:
    preemption = settings.preemption
    mutant = _server_mutant(settings.server_mutant)
    say(f"ensemble: {choice.kind} ({choice.why})")
    if mutant is not None:
        say(f"mutant servers, {mutant.name}: they {mutant.mistake}")
    if choice.kind == "sim":
        return SimWorld(
            nodes=settings.nodes,
            tick_ms=TICK_MS,
            run=(settings.workload, settings.recipe or "", seed),
            preemption=mode_of_seed(seed) if preemption == "auto" else preemption,
            mutant=mutant,
            private=settings.private,
            shared=settings.shared,
            say=say,
        )
    if choice.kind == "services":
        return ServicesWorld(addresses(settings.service), say)
    from rumpus.runs.docker_world import DockerWorld  # noqa: PLC0415 - slow to import

    return DockerWorld(
        run_id,
        nodes=settings.nodes,
        image=settings.image,
        tick_ms=TICK_MS,
        say=say,
        system=system,
        client_image=client_image,
        probing=workload.plain,
    )


def _choice(settings: RunSettings) -> Choice:
    """Which servers the run gets."""
    if settings.service:
        return Choice("services", "the recipe's servers are yours; no ZooKeeper is started")
    return choose_ensemble(settings.ensemble, settings.image)


def _with_version(settings: RunSettings) -> RunSettings:
    """The settings with the image of the version of ZooKeeper that they name, if they name one.

    Raises:
        UsageError: there is no such version, or the run cannot have one.
    """
    asked = settings.zookeeper
    if asked is None:
        return settings
    return replace(settings, image=image_of_version(asked, settings.ensemble, "--zookeeper"))


def _server_mutant(name: str | None) -> ServerMutant | None:
    if name is None:
        return None
    if name not in SERVER_MUTANTS:
        there = meant(name, SERVER_MUTANTS, page="docs/reference/server-promises.md")
        raise UsageError(f"unknown server mutant {name!r}; {there}")
    return SERVER_MUTANTS[name]


class _Formatter(logging.Formatter):
    """Writes records, and the traces in them, without the path of the user's home."""

    def format(self, record: logging.LogRecord) -> str:
        """A record as text."""
        return without_home(super().format(record))


@contextlib.contextmanager
def _logging_to(directory: RunDirectory) -> Iterator[None]:
    """Let everything that is logged in the block go to the run's log, too."""
    handler = logging.FileHandler(directory.harness_log)
    handler.setFormatter(_Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.setLevel(level)
        root.removeHandler(handler)
        handler.close()
