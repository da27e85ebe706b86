"""A run in one process, on virtual time: the simulated counterpart of processes and containers.

The simulated world has a process for each server (``n1`` ...) and for each client (``c0`` ...), and
one named ``control``, in which ``harness.run`` performs the run as it does with real servers.
Modules that use threads and clocks (``harness.run``, ``harness.driver``: ``CONTROL_PRIVATE``) are
loaded anew for that process, so that its threads are tasks of the world and its clock is the
world's. All other modules are shared with the real program, above all classes that both use:
messages, refusals, ``WorkerCrash``, the interpreter. Ensemble, links, workers and nemesis are
objects of the real program; they wait in the world's virtual time by themselves.
"""

import contextlib
import gc
import traceback
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from rumpus.checker.history import Op
from rumpus.harness.clients.clients import Clients, Roles
from rumpus.harness.clients.standing import standing_line
from rumpus.harness.driver import Sink
from rumpus.harness.ensemble import Ensemble
from rumpus.harness.links.links import Links
from rumpus.harness.links.wire_tap import WireLog
from rumpus.harness.memory import allowed, scarce
from rumpus.harness.run import Branch, Nemesis, Run, Status
from rumpus.harness.run_limits import ended, longest
from rumpus.harness.simulated.ensemble import SimEnsemble
from rumpus.harness.simulated.links import SimLinks
from rumpus.harness.simulated.mailbox import SimMailbox
from rumpus.harness.simulated.waiting import sleeper
from rumpus.harness.simulated.workers import SHARED, SimWorkers, client_host
from rumpus.simulation.kernel.clock import BOOT, EPOCH
from rumpus.simulation.kernel.errors import Hung, OutOfMemory, OutOfTime, SimulationError
from rumpus.simulation.kernel.preemption import Mode
from rumpus.simulation.kernel.process import Process
from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.kernel.watchdog import Watchdog
from rumpus.simulation.loader.finalizers import silent_finalizers
from rumpus.simulation.loader.guards import guarded
from rumpus.simulation.loader.refusals import CannotSimulate, is_of_rumpus
from rumpus.simulation.loader.space import Space
from rumpus.simulation.network.network import Network
from rumpus.simulation.zookeeper.cluster import Cluster
from rumpus.simulation.zookeeper.mutants.server_mutant import ServerMutant
from rumpus.simulation.zookeeper.settings import Settings

if TYPE_CHECKING:
    from types import FrameType

CONTROL_PRIVATE = ("rumpus.harness.run", "rumpus.harness.driver", "rumpus.harness.final_walk")
"""Modules of which the control process has its own copies. No other module uses their classes,
except ``Run`` and ``Status``, of which only attributes are used."""

OWN_CLIENT_PRIVATE = ("kazoo", "rumpus.harness.own_client")
"""The same for the client of faults, which is loaded only if a fault asks for it."""

WALK_PRIVATE = ("rumpus.harness.final_walk",)
"""The same for the processes that walk servers' trees."""

ORIGIN = BOOT
"""What monotonic clocks say when a world, and with it the run's clock, begins."""

TICK_MS = 500

REMOVAL_INTERVAL_MS = 1000
"""How often leaders look for containers and mortal znodes that may go, where servers are tested
themselves. Real servers do so there, too (``WHERE_TESTED``)."""

GARBAGE_PERIOD = 30 * SECOND
"""Virtual nanoseconds between two collections of cyclic garbage. A lock workload leaves
0.3 MB of it a virtual second; a collection takes as long as some tenths of a second of load."""

HANG_PATIENCE_S = 20.0
"""Seconds of processor time after which a client that computes without ever waiting is ended."""


class MakeNemesis(Protocol):
    """Makes the nemesis of a run, given the parts that it breaks and the clock that it uses."""

    def __call__(
        self,
        ensemble: Ensemble,
        links: Links,
        clients: Clients,
        roles: Roles,
        *,
        sleep: Callable[[float], None],
        monotonic: Callable[[], float],
        connect: Callable[[str, Callable[[int], None]], Any],
    ) -> Nemesis:
        """``sleep`` and ``monotonic`` are in virtual seconds; ``connect``: ``open_client``."""


@dataclass(frozen=True)
class SimulatedRun:
    """What only a simulated run has.

    Args:
        digest: hash of everything that happened; the same for the same seed, options and code.
        virtual_seconds: how long it took on its own clock.
    """

    digest: str
    virtual_seconds: float


class _TracedSink:
    """Adds the history's records to the trace from which the world's digest is computed."""

    def __init__(self, sink: Sink, simulator: Simulator) -> None:
        self._append = sink.append
        self._trace = simulator.trace.append
        self._encode = msgspec.json.Encoder().encode
        self.hand_over = sink.flush

    def append(self, op: Op) -> object:
        """Take one record.

        What was asked for is not part of what happened, and neither is the line of the recipe at
        which a client stood, nor its code: a comment in the recipe would change the digest. The
        counts at the end say again what the trace has already.
        """
        if op.process == "session" and "at" in op.value:
            value = {k: value for k, value in op.value.items() if k not in ("at", "code")}
            self._trace(self._encode(msgspec.structs.replace(op, value=value)))
        elif (op.process, op.f) == ("control", "end"):
            self._trace(self._encode(msgspec.structs.replace(op, value={})))
        elif (op.process, op.f) != ("control", "test"):
            self._trace(self._encode(op))
        return self._append(op)

    def flush(self) -> None:
        """Do nothing when the driver asks: it asks again after very little real time.

        The sink writes by itself what has waited long, and the rest at the end of the run.
        """


def perform_simulated(
    run: Run,
    *,
    seed: int,
    nodes: int,
    nemesis: MakeNemesis,
    sink: Sink,
    logs: Path,
    node_files: Path,
    epoch: int = EPOCH,
    tick_ms: int = TICK_MS,
    check_invariants: bool = True,
    preemption: Mode | None = None,
    mutant: ServerMutant | None = None,
    private: Sequence[str] = (),
    shared: Sequence[str] = (),
    status: Status | None = None,
    step: Callable[[str], None] = lambda _: None,
    stop_requested: Callable[[], bool] = lambda: False,
    branch: Branch | None = None,
    wire: WireLog | None = None,
) -> SimulatedRun:
    """Perform a run in a world of its own, which is gone when this returns.

    When Python's cyclic garbage collector runs by itself does not depend on the seed alone, and
    programs can notice it (weak references). So it is disabled in the run, and called every
    ``GARBAGE_PERIOD`` of virtual time; what the world leaves is collected at the end.

    Args:
        run: what to do.
        seed: the world's; ``run`` and ``nemesis`` have seeds of their own.
        nodes: how many servers.
        nemesis: makes the nemesis.
        sink: takes the history's records.
        logs: directory for the clients' logs.
        node_files: directory into which the servers' data files are written at the end.
        epoch: what wall clocks show when the run begins, in nanoseconds since 1970.
        tick_ms: the servers' ``tickTime``.
        check_invariants: whether servers that violate Zab are an error of the simulation; False
            where disks lie.
        preemption: when threads may be preempted; None: drawn from the seed
            (``mode_of_seed``).
        mutant: a mistake built into the servers; Zab's invariants are not checked then.
        private: packages of which each client has its own copy, besides those that are found.
        shared: packages that all clients share, whatever is found.
        status: kept up to date.
        step: told in words what is being done now. ``step`` and ``stop_requested`` are called from
            the world, but are functions of the real program.
        stop_requested: asked often; once true the run heals, gathers and ends.
        branch: as for ``harness.run.perform``; a function of the real program. It may fork this
            real process.
        wire: takes a record of every request that passes between clients and servers.

    Raises:
        EnvironmentRefusal: the servers do not come up.
        WorkerCrash: a client's process failed by itself.
        Forbidden: code in the world used something real, such as a clock; the message says who.
        SimulationError: the world is stuck, or a task never comes to its end.
        InvariantViolation: the simulated servers violated an invariant of Zab.
        MemoryError: the process has taken nearly all that it may.
        RunTooLong: it takes longer than it may (``harness.run_limits``).
    """
    with silent_finalizers(), _garbage_collector_at_rest():
        simulator = Simulator(seed, epoch=epoch)
        simulator.between_steps = _collecting(simulator)
        try:
            simulator.preempt(preemption)
            watchdog = Watchdog(
                simulator, HANG_PATIENCE_S, scarce if allowed() else None, longest=longest()
            )
            with watchdog, guarded(simulator) as guards:
                network = Network(simulator)
                settings = _settings(tick_ms, mutant, probing=run.probing)
                cluster = Cluster(
                    simulator,
                    network,
                    nodes,
                    settings=settings,
                    check_invariants=check_invariants and mutant is None,
                )
                sleep = sleeper(simulator)
                control = simulator.process("control")
                mailbox = SimMailbox(simulator)
                traced = _TracedSink(sink, simulator)
                step = guards.lend(step)
                status = Status() if status is None else status
                status.origin = ORIGIN
                status.virtual = True
                stacks: dict[int, Callable[[], Iterator[FrameType | None]]] = {}
                if wire is not None:
                    wire.place = partial(_place, stacks)
                main = partial(
                    _perform_in,
                    control,
                    network,
                    run,
                    ensemble=SimEnsemble(cluster, network, sleep=sleep, report=step),
                    connect=partial(SimLinks, simulator, network, wire=wire),
                    nemesis=partial(
                        nemesis,
                        sleep=sleep,
                        monotonic=lambda: (BOOT + simulator.now) / SECOND,
                        connect=partial(_own_client, control, network),
                    ),
                    sink=traced,
                    logs=logs,
                    nodes=node_files,
                    origin=ORIGIN,
                    status=status,
                    step=step,
                    stop_requested=guards.lend(stop_requested),
                    workers=partial(
                        SimWorkers,
                        simulator=simulator,
                        network=network,
                        mailbox=mailbox,
                        private=private,
                        shared=shared,
                        stacks=stacks,
                    ),
                    mailbox=lambda: mailbox,
                    walk=partial(walk_from, simulator, network, client_host(run.count)),
                    branch=None if branch is None else guards.lend(watchdog.kept(branch)),
                )
                try:
                    _to_the_end(simulator, control, main)
                finally:
                    traced.hand_over()
                return SimulatedRun(simulator.digest(), simulator.now / SECOND)
        except OutOfMemory:
            raise MemoryError from None
        except OutOfTime:
            raise ended() from None
        finally:
            simulator.close()


def _settings(tick_ms: int, mutant: ServerMutant | None, *, probing: bool) -> Settings:
    """The servers' settings; those of servers in containers are the same."""
    settings = Settings(tick_time=tick_ms)
    if probing:
        settings = replace(
            settings, extended_types=True, container_check_interval=REMOVAL_INTERVAL_MS
        )
    if mutant is not None:
        settings = replace(settings, parts=mutant.parts, bugs=mutant.bugs)
    return settings


def _own_client(
    control: Process, network: Network, hosts: str, note_session: Callable[[int], None]
) -> Any:
    """A client of the nemesis's own."""
    space = Space(control, network, private=OWN_CLIENT_PRIVATE, shared=SHARED)
    return space.load("rumpus.harness.own_client").open_client(hosts, note_session)


def walk_from(simulator: Simulator, network: Network, host: str, *arguments: Any) -> Any:
    """``final_walk.walk_server`` on a host that the links know, in a process of its own.

    The control process's task waits in it. The process begins so late that no client's has another
    number because of it.
    """
    space = Space(simulator.process("walk", host), network, private=WALK_PRIVATE)
    return space.load("rumpus.harness.final_walk").walk_server(*arguments)


def _place(stacks: Mapping[int, Callable[[], Iterator["FrameType | None"]]], client: int) -> str:
    """The line of the recipe at which a client stands; empty if none of its threads is at one."""
    lines = map(standing_line, stacks[client]()) if client in stacks else ()
    return next(filter(None, lines), "")


def _perform_in(control: Process, network: Network, run: Run, **parts: Any) -> None:
    """``harness.run.perform`` with the control process's own copies of modules."""
    space = Space(control, network, private=CONTROL_PRIVATE)
    space.load("rumpus.harness.run").perform(run, **parts)


def _to_the_end(simulator: Simulator, control: Process, main: Callable[[], None]) -> None:
    """Run the world until ``main``, a task of the control process, has ended.

    Raises what ``main`` does, and what ``perform_simulated`` says of the world.
    """
    failure: BaseException | None = None

    def perform() -> None:
        nonlocal failure
        try:
            main()
        except BaseException as error:  # told to the caller, outside the world
            failure = error
        finally:
            simulator.stop()

    control.spawn(perform, "main")
    try:
        simulator.run()
    except Hung as hung:
        place = traceback.extract_tb(hung.__traceback__)[-1]
        kind = SimulationError if is_of_rumpus(place.filename) else CannotSimulate
        raise kind(
            f"{place.name} computes for ever and never waits ({place.filename}:{place.lineno}): no "
            "time passes meanwhile for anybody in a simulated run; let it sleep or wait"
        ) from hung
    for _, _, error in simulator.failures:
        if isinstance(error, SimulationError):
            raise error  # a run in such a world cannot be judged
    if failure is not None:
        raise failure


def _collecting(simulator: Simulator) -> Callable[[], None]:
    """A function, to be called often, that collects cyclic garbage when that is due.

    kazoo leaves some 2,000 objects in cycles for each second of a lock workload.
    """
    due = GARBAGE_PERIOD

    def collect() -> None:
        nonlocal due
        if simulator.now >= due:
            due = simulator.now + GARBAGE_PERIOD
            _collect()

    return collect


def _collect() -> None:
    """Collect cyclic garbage, including dead processes with their modules."""
    for clear in typing._cleanups:  # type: ignore[attr-defined]  # noqa: SLF001 - see below
        clear()  # caches of ``Generic[...]`` keep classes, and with them whole worlds
    gc.collect()


@contextlib.contextmanager
def _garbage_collector_at_rest() -> Iterator[None]:
    """Disable the garbage collector in the block, and collect all garbage afterwards."""
    enabled = gc.isenabled()
    gc.disable()
    gc.freeze()  # objects that exist already are not examined
    try:
        yield
    finally:
        _collect()
        gc.unfreeze()
        if enabled:
            gc.enable()
