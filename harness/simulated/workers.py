"""The clients of a simulated run: each a simulated process with its own copies of its modules.

A client runs the same code as in a real process (``harness.clients.client_body``). Commands and
reports are passed as objects, at once and in order.
"""

import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, TextIO

from rumpus.harness.clients.clients import ClientState
from rumpus.harness.clients.messages import Command, Record, Report
from rumpus.harness.clients.restartable_workers import RestartableWorkers
from rumpus.harness.simulated.home import SimHome, write_out
from rumpus.harness.simulated.machines import SimClientMachines
from rumpus.harness.simulated.mailbox import SimMailbox
from rumpus.harness.simulated.waiting import Flag, park
from rumpus.simulation.disk.disk import Disk
from rumpus.simulation.kernel.clock import BOOT
from rumpus.simulation.kernel.errors import ProcessKilled
from rumpus.simulation.kernel.process import Process
from rumpus.simulation.kernel.simulator import Simulator
from rumpus.simulation.loader.space import Space
from rumpus.simulation.network.network import Network

if TYPE_CHECKING:
    from rumpus.harness.simulated_faults import ClientMachines, ClientThreads
    from rumpus.simulation.kernel.process import Task

LOG_FORMAT = "%(asctime)s.%(msecs)03d %(name)s %(levelname)s %(message)s"

PRIVATE = (
    "kazoo",
    "rumpus.recipes",
    "rumpus.workloads",
    "rumpus.harness.clients.client_body",
    "rumpus.harness.clients.leftovers",
    "rumpus.harness.clients.mortal_client",
    "rumpus.harness.clients.patient_call",
)
"""Modules of which each client has its own copy, beside the module of its factory
(``ClientSpec.build``): all that use threads, clocks or random numbers. Other modules that these
import are shared: messages, ``checker``, generators. They are data and pure functions."""

SHARED = (
    "kazoo.exceptions",
    "kazoo.protocol.serialization",
    "kazoo.protocol.states",
    "kazoo.security",
    "rumpus.recipes.catalogue_entry",
    "rumpus.recipes.contests.interfaces",
    "rumpus.recipes.mistake",
    "rumpus.recipes.outcomes",
    "rumpus.recipes.promises",
    "rumpus.workloads.framework.judgement",
    "rumpus.workloads.own.promise_names",
    "urllib.parse",
)
"""Modules within private packages that are shared all the same: they are data and pure functions,
and to create their classes anew for each client would take long."""

SHARED_WITH_OTHER_KAZOO = tuple(name for name in SHARED if not name.startswith("kazoo."))
"""The same for clients whose kazoo is not the installed one: all of it is their own."""

ALONE = ("rumpus",)
"""The package by itself: the public names that it hands out are those of the client's copies."""


def client_host(client: int) -> str:
    """The host of a client's process."""
    return f"c{client}"


def _stacks(process: Process, main: Callable[[], FrameType | None]) -> Iterator[FrameType | None]:
    """The stacks of a process's threads; see ``SimWorkers.stacks``."""
    yield main()
    for task in reversed(process.tasks):
        yield task.greenlet.gr_frame


class _Worker:
    """A client's process, with commands to it and reports from it."""

    def __init__(self, process: Process, mailbox: SimMailbox, client: int) -> None:
        self.process = process
        self.killed = False
        self.killed_at: int | None = None
        self.ready = Flag(process.simulator)
        self.forgotten = Flag(process.simulator)
        self.reports: list[Report] = []
        self._commands: deque[Command] = deque()
        self._readers: deque[Task] = deque()
        self._mailbox = mailbox
        self._client = client

    # -- called by the control process ------------------------------------------------------

    def end(self) -> None:
        """Kill the process."""
        self.process.kill()

    def command(self, command: Command) -> None:
        """Hand a command over."""
        self._commands.append(command)
        if self._readers:
            self._readers.popleft().wake()

    def take(self) -> list[Report] | None:
        """Take out what has been reported; None if there is nothing."""
        reports, self.reports = self.reports, []
        return reports or None

    # -- called by tasks of the client -----------------------------------------------------

    def report(self, report: Report) -> None:
        """``ClientBody``'s ``send``. Reports of a dead process are dropped."""
        if not self.process.dead:
            self.reports.append(report)
            # The driver need not react to an invocation: it reads that with the next report.
            urgent = type(report) is not Record or report.type != "invoke"
            self._mailbox.heard(self._client, urgent=urgent)

    def receive(self) -> Command:
        """``ClientBody``'s ``receive``."""
        simulator = self.process.simulator
        while not self._commands:
            if simulator.current is not None:
                self._readers.append(simulator.current)
            park(simulator, None, "a command")
        return self._commands.popleft()


@dataclass(eq=False, kw_only=True)
class SimWorkers(RestartableWorkers[_Worker]):
    """Implements ``harness.clients.workers.Workers`` with simulated processes ``c0``, ``c1`` ...

    Args: those of ``RestartableWorkers``, and
        simulator: the simulated world.
        network: the world's network.
        mailbox: the mailbox at which the driver waits.
        private: packages of which each client has its own copy, besides those that are found.
        shared: packages that all clients share, whatever is found.

    Attributes:
        stacks: client -> the stacks of its threads: first that of the one that performs its
            operations, then those that the recipe may have begun, the newest first.
    """

    simulator: Simulator
    network: Network
    mailbox: SimMailbox
    private: Sequence[str] = ()
    shared: Sequence[str] = ()
    stacks: dict[int, Callable[[], Iterator[FrameType | None]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin without any process, each client with an empty disk."""
        super().__post_init__()
        self._module, _, self._factory = self.spec.build.partition(":")
        self._disks = [Disk(self.simulator, client_host(client)) for client in range(self.count)]
        self._open_logs: dict[int, TextIO] = {}
        tops = {name.partition(".")[0] for name in self.spec.patched}
        self._tops_of_patched = sorted(tops - {"rumpus"})
        machines = SimClientMachines(
            lambda client: self._workers[client].process, self._session_record, self.count
        )
        self.machines: ClientMachines | None = machines
        self.threads: ClientThreads | None = machines

    # -- the driver's side ----------------------------------------------------------------

    def stream(self, client: int) -> int:
        """The client's number, in place of a stream: the mailbox is told when a client reports."""
        return client

    def send(self, client: int, command: Command) -> None:
        """Hand a command over. A dead client never reads it; its death is noticed elsewhere."""
        self._workers[client].command(command)

    def receive(self, client: int) -> list[Report] | None:
        """Reports that have arrived; None if there are none and the process is dead."""
        worker = self._workers[client]
        reports = worker.take()
        if not worker.process.dead:
            return reports or []
        if reports is not None:
            self._died(worker, client)  # the end of the channel comes after the last report
        return reports

    def stop(self) -> None:
        """End every process."""
        self._stopped = True
        for worker in self._workers.values():
            worker.forgotten.set()
            worker.ready.set()
            worker.process.kill()
        for log in self._open_logs.values():
            log.close()
        self._open_logs.clear()
        for client, disk in enumerate(self._disks):
            write_out(disk, self.logs / f"c{client}")

    # -- the nemesis's side (harness.clients.clients.Clients) -------------------------------------

    def pause(self, client: int) -> None:
        """Freeze a client's process."""
        self._session_record(client, "paused")
        self._workers[client].process.freeze()

    def resume(self, client: int) -> None:
        """Let a client's process run again."""
        process = self._workers[client].process
        if process.frozen:
            process.thaw()
            self._session_record(client, "resumed")

    def state(self, client: int) -> ClientState:
        """What a client's process is doing."""
        process = self._workers[client].process
        if process.dead:
            return "dead"
        return "paused" if process.frozen else "running"

    def _clock(self) -> int:
        return BOOT + self.simulator.now - self.origin

    def _start(self, client: int) -> None:
        process = self.simulator.process(f"c{client}", client_host(client))
        worker = self._workers[client] = _Worker(process, self.mailbox, client)
        log = self._log(client)
        library = self.spec.library
        space = Space(
            process,
            self.network,
            private=(*PRIVATE, self._module, *self.private, *self._tops_of_patched),
            shared=SHARED if library is None else SHARED_WITH_OTHER_KAZOO,
            alone=ALONE,
            shared_packages=tuple(self.shared),
            path=() if library is None else (str(library),),
            patched=self.spec.patched,
            stdout=log,
            stderr=log,
        )
        process.is_traced = space.is_private_file
        process.at_death.append(lambda: self._died(worker, client))
        process.spawn(lambda: self._live(worker, client, space), "main")

    def _died(self, worker: _Worker, client: int) -> None:
        """Let the driver notice a process that ended by itself."""
        if not worker.killed and not self._stopped:
            self.mailbox.heard(client)

    def _live(self, worker: _Worker, client: int, space: Space) -> None:
        """The main thread of a client's process (what ``clients.worker`` does for a real one)."""
        try:
            self._body(worker, client, space)
        except ProcessKilled:
            raise
        except (Exception, SystemExit):  # as in a real process: the log says why, and it ends
            if not self._stopped:  # else the logs are closed
                self._log(client).write(traceback.format_exc())
            worker.process.kill()

    def _body(self, worker: _Worker, client: int, space: Space) -> None:
        space.load("logging").basicConfig(level=space.load("logging").INFO, format=LOG_FORMAT)
        made = getattr(space.load(self._module), self._factory)
        stack = self._stack_of_this_task()
        self.stacks[client] = partial(_stacks, worker.process, stack)
        build = getattr(made, "builder", made)(**self.spec.options)
        body = space.load("rumpus.harness.clients.client_body").ClientBody(
            client=client,
            hosts=self.hosts(client),
            session_timeout=self.spec.session_timeout,
            build=build,
            send=worker.report,
            receive=worker.receive,
            # The world's clock, even if the client's is wrong: records are for the checker.
            clock=self._clock,
            home=SimHome(self._disks[client], worker.process),
            host=client_host(client),
            stack=stack,
        )
        body.run()

    def _stack_of_this_task(self) -> Callable[[], FrameType | None]:
        simulator, task = self.simulator, self.simulator.current
        assert task is not None, "a client's body runs in a task"
        here = sys._getframe  # noqa: SLF001 - there is no other way
        return lambda: here(1) if simulator.current is task else task.greenlet.gr_frame

    def _log(self, client: int) -> TextIO:
        """The log of a client, shared by all processes that it has one after the other."""
        if client not in self._open_logs:
            self._open_logs[client] = (self.logs / f"c{client}.log").open("a")
        return self._open_logs[client]
