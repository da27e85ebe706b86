"""The clients of a simulated run: each a simulated process with its own copies of its modules.

The body is the very same as in a real process (``harness.clients.client_body``); commands and
reports are handed over as objects, at once, in order.
"""

import traceback
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rumpus.harness.clients.clients import ClientState
from rumpus.harness.clients.messages import Command, Record, Report
from rumpus.harness.clients.restartable_workers import RestartableWorkers
from rumpus.harness.clients.workers import ClientSpec, Exited, Started
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
    from rumpus.harness.simulated_faults import ClientMachines
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
"""What each client has its own copy of, beside the module that it was told to build from: all
that runs on threads, tells the time or draws lots. The rest of what these import is shared:
messages, ``checker``, generators, which are data and pure functions."""

SHARED = (
    "kazoo.exceptions",
    "kazoo.protocol.serialization",
    "kazoo.protocol.states",
    "kazoo.security",
    "rumpus.recipes.promises",
    "rumpus.workloads.framework.judgement",
)
"""What is data and pure functions among these. Classes take long to make."""


def client_host(client: int) -> str:
    """The host of a client's process."""
    return f"c{client}"


class _Worker:
    """One process and its channel, both ways."""

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

    def command(self, command: Command) -> None:
        """Hand a command over."""
        self._commands.append(command)
        if self._readers:
            self._readers.popleft().wake()

    def take(self) -> list[Report] | None:
        """What has been reported; None when nothing is left and nothing will come."""
        reports, self.reports = self.reports, []
        return reports or None

    # -- called by tasks of the client -----------------------------------------------------

    def report(self, report: Report) -> None:
        """``ClientBody``'s ``send``. What a dead process does reaches nobody."""
        if not self.process.dead:
            self.reports.append(report)
            # That an operation was called asks for nothing: it is read with what comes next.
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


class SimWorkers(RestartableWorkers[_Worker]):
    """Fulfils ``harness.clients.workers.Workers`` with simulated processes ``c0``, ``c1`` ...

    Args:
        count: how many clients.
        spec: what they run.
        hosts: a client's connection string.
        logs: directory for ``c<n>.log``, and ``c<n>/`` with a client's files if it has any.
        notify: called with a message for the driver.
        origin: what monotonic clocks said when the run's clock was 0, in ns.
        simulator: the world.
        network: of the world.
        mailbox: where the driver waits.
    """

    def __init__(
        self,
        count: int,
        spec: ClientSpec,
        *,
        hosts: Callable[[int], str],
        logs: Path,
        notify: Callable[[Record | Exited | Started], None],
        origin: int,
        simulator: Simulator,
        network: Network,
        mailbox: SimMailbox,
    ) -> None:
        self.count = count
        self._spec = spec
        self._module, _, self._factory = spec.build.partition(":")
        self._hosts = hosts
        self._logs = logs
        self._notify = notify
        self._origin = origin
        self._simulator = simulator
        self._network = network
        self._mailbox = mailbox
        self._workers = {}
        self._disks = [Disk(simulator, client_host(client)) for client in range(count)]
        self._open_logs: dict[int, TextIO] = {}
        self.machines: ClientMachines | None = SimClientMachines(
            lambda client: self._workers[client].process, self._session_record
        )

    # -- the driver's side ----------------------------------------------------------------

    def start(self) -> None:
        """Start every process. They wait for ``Open``."""
        for client in range(self.count):
            self._start(client)

    def stream(self, client: int) -> int:
        """The client itself: the mailbox is told of what it says."""
        return client

    def send(self, client: int, command: Command) -> None:
        """Hand a command over. A dead client's is dropped: its end is noticed by itself."""
        self._workers[client].command(command)

    def receive(self, client: int) -> list[Report] | None:
        """Messages that have arrived; None when there are none and will be none."""
        worker = self._workers[client]
        reports = worker.take()
        if reports is None and not worker.process.dead:
            return []
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
            write_out(disk, self._logs / f"c{client}")

    # -- the nemesis's side (harness.clients.clients.Clients) -------------------------------------

    def pause(self, client: int) -> None:
        """Freeze a client's process."""
        self._session_record(client, "paused")
        self._workers[client].process.freeze()

    def resume(self, client: int) -> None:
        """Let it run again."""
        process = self._workers[client].process
        if process.frozen:
            process.thaw()
            self._session_record(client, "resumed")

    def kill(self, client: int) -> None:
        """Kill it: its sockets are closed by the system, its session lingers."""
        worker = self._workers[client]
        if not worker.killed:
            worker.killed = True
            worker.process.kill()
            worker.killed_at = self._clock()
            self._notify(Exited(client))

    def state(self, client: int) -> ClientState:
        """What its process is doing."""
        process = self._workers[client].process
        if process.dead:
            return "dead"
        return "paused" if process.frozen else "running"

    def _clock(self) -> int:
        return BOOT + self._simulator.now - self._origin

    def _start(self, client: int) -> None:
        process = self._simulator.process(f"c{client}", client_host(client))
        worker = self._workers[client] = _Worker(process, self._mailbox, client)
        log = self._log(client)
        space = Space(
            process,
            self._network,
            private=(*PRIVATE, self._module),
            shared=SHARED,
            stdout=log,
            stderr=log,
        )
        process.is_traced = space.is_private_file
        process.spawn(lambda: self._live(worker, client, space), "main")

    def _live(self, worker: _Worker, client: int, space: Space) -> None:
        """The main thread of a client's process (what ``clients.worker`` does for a real one)."""
        try:
            self._body(worker, client, space)
        except ProcessKilled:
            raise
        except Exception:  # as a real process: its last words go to its log, and it ends
            self._log(client).write(traceback.format_exc())
            worker.process.kill()
            self._mailbox.heard(client)

    def _body(self, worker: _Worker, client: int, space: Space) -> None:
        space.load("logging").basicConfig(level=space.load("logging").INFO, format=LOG_FORMAT)
        made = getattr(space.load(self._module), self._factory)
        build = getattr(made, "builder", made)(**self._spec.options)
        body = space.load("rumpus.harness.clients.client_body").ClientBody(
            client=client,
            hosts=self._hosts(client),
            session_timeout=self._spec.session_timeout,
            build=build,
            send=worker.report,
            receive=worker.receive,
            # Of the world, even where the client's own clock is wrong: records are for the judge.
            clock=self._clock,
            home=SimHome(self._disks[client], worker.process),
            host=client_host(client),
        )
        body.run()

    def _log(self, client: int) -> TextIO:
        """Where all processes of a client write, one after the other."""
        if client not in self._open_logs:
            self._open_logs[client] = (self._logs / f"c{client}.log").open("a")
        return self._open_logs[client]
