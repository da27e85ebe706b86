"""The driver: runs the pure interpreter over client processes and time, real or simulated.

One thread does everything but the faults: it asks the interpreter what to do, hands operations
to workers, takes in what they record, answers for the witness and for the service's blacklist, and
appends to the history. The nemesis's actions block, so they run on a thread of their own and report
back through a queue.
"""

import logging
import queue
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, Protocol

import msgspec

from rumpus.checker.every_run.timeouts import NEVER_RETURNED
from rumpus.checker.history import Op, Process
from rumpus.harness.clients.mailbox import Mailbox, StreamMailbox
from rumpus.harness.clients.messages import (
    Act,
    Acted,
    Open,
    Perform,
    Ready,
    Record,
    Refuse,
    Refused,
    Report,
)
from rumpus.harness.clients.workers import CLIENT_KILLED, Exited, Started, WorkerCrash, Workers
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.harness.generators.generator import NEMESIS, Thread
from rumpus.harness.generators.interpreter import Dispatch, Done, Interpreter, OpenOperation, Wait
from rumpus.harness.links.links import Links, WatchSeen
from rumpus.harness.roles import RoleTracker
from rumpus.harness.witness import Witness

log = logging.getLogger(__name__)

LONGEST_WAIT_NS = 50_000_000
LONGEST_WAIT_S = LONGEST_WAIT_NS / 1e9
"""The longest that the driver sleeps: a request to stop is noticed after that at the latest."""

WATCH_EVENTS_PERIOD_NS = 200_000_000
"""How often watch events are fetched. They are not urgent, and each fetch costs the links' process
a turn of its loop and the driver a wait for the answer."""

NEVER = 1 << 63
"""A time on the run's clock that no run reaches."""

HUNG_PERIOD_NS = 100_000_000
"""How often open operations are checked for any that hang."""

HEAL_ALL = "heal-all"
"""The nemesis's last action: end every fault, verify that, and wait for a quorum. When it is done,
the final phase begins."""


class Sink(Protocol):
    """What writes records to the history."""

    def append(self, op: Op) -> object:
        """Take one record and give it its index."""

    def flush(self) -> None:
        """Hand all records over to the operating system."""


class Progress(msgspec.Struct):
    """Counters for a display.

    ``time`` is that of the last record, in ns on the run's clock. ``faults``: id -> kind and
    targets of each fault in force.
    """

    ok: int = 0
    fail: int = 0
    info: int = 0
    time: int = 0
    faults: dict[str, str] = msgspec.field(default_factory=dict)


class Driver:
    """Drives one run from its first operation to its last.

    ``watch_events`` counts the watch events recorded so far, by client, and ``completions`` the
    operations that ended, by outcome and client. ``library`` is the
    version of the client library that they have loaded, None before the first is open.

    Args:
        witness: the protected resource.
        links: where watch events are fetched, and sessions refused.
        sink: writes the history.
        roles: is updated with every record.
        nemesis: runs one action: (f, value) -> the value to be recorded.
        origin: what the system's monotonic clock said when the run's clock was 0, in ns.
        mailbox: where the driver waits for messages; closed by ``close``.
        operation_bound: seconds after which an operation counts as hung: its process is
            killed and the operation ends unknown. A paused process is left alone.
        watches_left: whether the setting of watches is recorded too, beside watch events.
        stop_requested: called often; once it is true, everything is healed, nothing more is
            dispatched, and the run ends when all open operations have ended.
    """

    def __init__(
        self,
        *,
        witness: Witness,
        links: Links,
        sink: Sink,
        roles: RoleTracker,
        nemesis: Callable[[str, dict[str, Any]], dict[str, Any]],
        origin: int,
        mailbox: Mailbox | None = None,
        operation_bound: float = 45.0,
        watches_left: bool = False,
        stop_requested: Callable[[], bool] = lambda: False,
    ) -> None:
        self.progress = Progress()
        self.watch_events: Counter[int] = Counter()
        self.completions: defaultdict[str, Counter[int]] = defaultdict(Counter)
        self.library: str | None = None
        self._witness = witness
        self._links = links
        self._sink = sink
        self._roles = roles
        self._nemesis = nemesis
        self._origin = origin
        self._watches_left = watches_left
        self._operation_bound = int(operation_bound * 1e9)
        self._stop_requested = stop_requested
        self._mailbox = StreamMailbox() if mailbox is None else mailbox
        self._actions: queue.SimpleQueue[_Action | None] = queue.SimpleQueue()
        self._opening: set[int] = set()
        self._watch_events_due = 0
        self._hung_due = 0
        self._hung: set[int] = set()
        """Clients that are killed because their call hangs."""
        self._healing = False
        self._final = False
        self._pool: Workers  # from ``open`` on
        self._interpreter: Interpreter  # from ``run`` on
        self._in_progress: Mapping[Thread, OpenOperation] = {}
        self._news = True  # whether the interpreter was told anything since its last poll
        self._ask_again = 0
        self._done = False
        self._deadline = 0
        self.branch: Callable[[int], int | None] = lambda _: None
        """Called with the time before each step. Where it exchanges actions that are to come, it
        returns when the first of them is due."""
        self._restarts = ThreadPoolExecutor(max_workers=8, thread_name_prefix="restart")
        self._nemesis_thread = threading.Thread(
            target=self._run_nemesis, name="nemesis", daemon=True
        )

    def now(self) -> int:
        """Nanoseconds on the run's clock."""
        return time.monotonic_ns() - self._origin

    def notify(self, message: Any) -> None:
        """Send the driver a message from another thread: a Record, Exited or Started."""
        self._mailbox.put(message)

    def record(self, process: str, f: str, value: Mapping[str, Any] | None = None) -> None:
        """Append a record that is not of an operation. Only for the driver's own thread."""
        self._append(
            Op(time=self.now(), process=process, type="info", f=f, value=dict(value or {}))
        )

    def open(self, pool: Workers, patience: float = 90.0) -> None:
        """Open all clients and wait until each has its first session.

        On a host with 30 tasks for two processors a JVM has taken more than 30 s for that.

        Raises:
            WorkerCrash: a process ended or got no session in time.
        """
        self._pool = pool
        for client in range(pool.count):
            self._mailbox.watch(client, pool.stream(client))
            pool.send(client, Open(client))
            self._opening.add(client)
        deadline = time.monotonic() + patience
        while self._opening and not self._stop_requested():
            self._take_in(LONGEST_WAIT_S)
            if time.monotonic() > deadline:
                raise WorkerCrash(
                    f"clients {sorted(self._opening)} did not start within {patience:.0f} s; "
                    "see clients/*.log in the run's directory"
                )

    def run(self, interpreter: Interpreter, *, bound: float) -> None:
        """Run until the interpreter is done.

        Args:
            interpreter: what to do.
            bound: seconds from now after which nothing more is dispatched.

        Raises:
            WorkerCrash: a process ended although nobody killed it.
        """
        self._interpreter = interpreter
        self._in_progress = interpreter.open
        self._deadline = self.now() + int(bound * 1e9)
        self._nemesis_thread.start()
        try:
            while not self._step():
                pass
        finally:
            self._actions.put(None)
            # Everything that was seen until now belongs in the history.
            self._take_in(0)
            self._collect_watch_events()
            self._sink.flush()

    def attend(self, over: Callable[[], bool]) -> None:
        """Go on taking in what is told, after ``run``, until something is over."""
        while not over():
            self._take_in(LONGEST_WAIT_S)

    def close(self) -> None:
        """Free the threads that restart clients, and the mailbox."""
        self._restarts.shutdown(cancel_futures=True)
        self._mailbox.close()

    def _step(self) -> bool:
        """Do one turn of the driver's loop. Returns whether the run is over."""
        now = self.now()
        changed = self.branch(now)
        if changed is not None:
            self._ask_again = min(self._ask_again, changed)
        over = now > self._deadline
        if (over or self._stop_requested()) and not self._interpreter.stopped:
            self._interpreter.stop()
            self._news = True
            # Operations of paused or cut-off clients would never end, so heal now, whatever the
            # schedule says.
            self._actions.put(_Action(HEAL_ALL, {}, dispatched=False))
            self._healing = True
        if self._news or now >= self._ask_again:
            self._decide(now)
        if self._done and not self._healing:
            return True
        if now >= self._watch_events_due:
            # Not in every turn: each fetch costs a turn of the links' process.
            self._watch_events_due = now + WATCH_EVENTS_PERIOD_NS
            self._collect_watch_events()
        wait = LONGEST_WAIT_S
        if self._ask_again - now < LONGEST_WAIT_NS:
            wait = max(0.0, (self._ask_again - self.now()) / 1e9)
        self._take_in(wait)
        if now >= self._hung_due:
            self._hung_due = now + HUNG_PERIOD_NS
            self._end_hung_operations()
        return False

    def _decide(self, now: int) -> None:
        """Dispatch what can be now, and note until when polling again is useless without news."""
        self._news = False
        while isinstance(decision := self._interpreter.poll(now, cut=self._cut()), Dispatch):
            self._dispatch(decision)
            now = self.now()
        self._done = isinstance(decision, Done)
        until = decision.until if isinstance(decision, Wait) else None
        self._ask_again = NEVER if until is None else until

    def _cut(self) -> int:
        """The clients whose links are cut now, as a set of threads (``generator.Context``)."""
        return sum(1 << client for client in self._links.afflicted())

    def _dispatch(self, what: Dispatch) -> None:
        if what.thread == NEMESIS:
            self._actions.put(_Action(what.f, what.value, dispatched=True))
        else:
            assert isinstance(what.thread, int)
            assert isinstance(what.process, int)
            self._pool.send(what.thread, Perform(what.process, what.f, what.value, self._final))

    def _run_nemesis(self) -> None:
        while (action := self._actions.get()) is not None:
            self.notify(_Told(action, self._nemesis_op("invoke", action.f, action.value)))
            error = None
            try:
                value = self._nemesis(action.f, action.value)
            except Exception as problem:  # is recorded in the history, so the verdict knows it
                error = f"{type(problem).__name__}: {problem}"
                value = {**action.value, "verified": False, "detail": error}
            self.notify(_Told(action, self._nemesis_op("info", action.f, value, error)))

    def _nemesis_op(
        self, kind: Literal["invoke", "info"], f: str, value: Any, error: str | None = None
    ) -> Op:
        return Op(time=self.now(), process=NEMESIS, type=kind, f=f, value=value, error=error)

    def _take_in(self, wait: float) -> None:
        """Flush the history, then wait for messages and act on them.

        In this order, so that a client that waits for its next operation does not wait for the
        disk as well.
        """
        self._sink.flush()
        for client in self._mailbox.wait(wait):
            self._on_report(client)
        for message in self._mailbox.messages():
            self._on_message(message)

    def _collect_watch_events(self) -> None:
        links = self._links
        for seen in links.watches() if self._watches_left else links.watch_events():
            value = {"client": seen.client, "connection": seen.connection, "path": seen.path}
            if isinstance(seen, WatchSeen):
                self.watch_events[seen.client] += 1
                f, value = "watch", {**value, "event": seen.event, "shown": seen.shown}
            else:
                f, value = "watch-left", {**value, "kind": seen.kind, "zxid": seen.zxid}
            self._append(
                Op(time=seen.time - self._origin, process="link", type="info", f=f, value=value)
            )

    def _on_report(self, client: int) -> None:
        reports = self._pool.receive(client)
        if reports is None:
            if not self._pool.killed(client):
                self._mailbox.unwatch(client)
                raise WorkerCrash(
                    f"client c{client}'s process ended by itself{self._running(client)}; see "
                    f"clients/c{client}.log in the run's directory"
                )
            # A killed process: its end is handled when ``Exited`` comes.
            return
        self._handle(client, reports)

    def _running(self, client: int) -> str:
        """What a client is doing, in words."""
        running = self._in_progress.get(client)
        return "" if running is None else f" in its operation {running.f!r}"

    def _handle(self, client: int, reports: list[Report]) -> None:
        for report in reports:
            if isinstance(report, Record):
                self._append(report.op())
            elif isinstance(report, Act):
                accepted, order = self._witness.act(report.token)
                # Recorded before it is answered: what the client does next is recorded later.
                self.record(
                    "witness",
                    "act",
                    {
                        "client": client,
                        "process": report.process,
                        "token": report.token,
                        "order": order,
                        "accepted": accepted,
                    },
                )
                self._pool.send(client, Acted(accepted, order))
            elif isinstance(report, Refuse):
                self._links.refuse_session(report.session, report.how)
                self._pool.send(client, Refused())
            elif isinstance(report, Ready):
                self.library = report.library
                if client in self._opening:
                    self._opening.discard(client)
                else:
                    self._interpreter.restore(client)
                    self._news = True
                    self._pool.ready(client)

    def _on_message(self, message: Any) -> None:
        if isinstance(message, Record):
            self._append(message.op())
        elif isinstance(message, _Told):
            if message.action.dispatched:
                self._interpreter.observe(message.op)
                self._news = True
            self._append(message.op)
            if message.op.type == "info":
                self._note_fault(message.op)
        elif isinstance(message, Exited):
            self._on_exit(message.client)
        elif isinstance(message, Started):
            client = message.client
            process = self._interpreter.context.process_of(client)
            assert isinstance(process, int)
            self._mailbox.watch(client, self._pool.stream(client))
            self.record("session", "started", {"client": client, "process": process})
            self._pool.send(client, Open(process))

    def _on_exit(self, client: int) -> None:
        """Handle a killed process's last messages, then end its open operation as unknown."""
        while reports := self._pool.receive(client):
            self._handle(client, reports)
        self._mailbox.unwatch(client)
        self._pool.forget(client)
        killed_at = self._pool.killed_at(client)
        assert killed_at is not None
        process = self._interpreter.context.process_of(client)
        exited: dict[str, Any] = {"client": client, "process": process}
        called = None if self._links.sessions else self._pool.kill_called(client)
        if called is not None:  # its connections ended after that, and with them what it held
            exited["since"] = called
        self._append(Op(time=killed_at, process="session", type="info", f="exited", value=exited))
        self._interpreter.suspend(client)
        self._news = True
        running = self._interpreter.open.get(client)
        if running is None:
            if self._interpreter.context.process_of(client) == process:
                self._interpreter.retire(client)
            return
        lost = {"process": running.process, "f": running.f, "value": running.value}
        if not running.invoked:
            # It may have been called just before the kill, but not before its dispatch.
            self._append(Op(time=min(running.since, killed_at), type="invoke", **lost))
        error = CLIENT_KILLED
        if client in self._hung:
            self._hung.discard(client)
            error = f"{NEVER_RETURNED} after {self._operation_bound / 1e9:g} s"
        self._append(Op(time=self.now(), type="info", error=error, **lost))

    def _note_fault(self, op: Op) -> None:
        value = op.value
        if op.f == "start":
            targets = ", ".join(map(str, value.get("targets", [])))
            self.progress.faults[str(value.get("id"))] = f"{value.get('kind')} {targets}".strip()
        elif op.f == "stop":
            self.progress.faults.pop(str(value.get("id")), None)
        elif op.f == HEAL_ALL:
            self._healing = False
            self._final = True
            self.progress.faults.clear()
            healed = {"healed": bool(value.get("verified")), "detail": value.get("detail", "")}
            self.record("control", "phase", {"phase": "final", **healed})

    def _end_hung_operations(self) -> None:
        """Kill workers whose operation hangs; its outcome stays unknown."""
        now = self.now()
        for thread, running in list(self._interpreter.open.items()):
            if (
                isinstance(thread, int)
                and now - running.since > self._operation_bound
                and self._pool.state(thread) == "running"
            ):
                self._hung.add(thread)
                self._pool.kill(thread)
                # On another thread: a restart waits until this one has opened the client.
                self._restarts.submit(self._restart, thread)

    def _restart(self, client: int) -> None:
        try:
            self._pool.restart(client)
        except (TimeoutError, EnvironmentRefusal):
            log.exception("client c%d hung, was killed, and did not come back", client)

    def _append(self, op: Op) -> None:
        """Append a record to the history; the interpreter is told of clients' operations."""
        self.progress.time = op.time
        if isinstance(op.process, int):
            if op.type != "invoke":
                setattr(self.progress, op.type, getattr(self.progress, op.type) + 1)
            interpreter = self._interpreter
            client = op.process % interpreter.context.clients
            if op.type != "invoke":
                self.completions[op.type][client] += 1
            interpreter.observe(op)
            self._news = True
            process = interpreter.context.process_of(client)
            if process != op.process:
                self._reopen(client, process)
        self._sink.append(op)
        self._roles.observe(op)

    def _reopen(self, client: int, process: Process) -> None:
        """Have a client whose process was retired go on as the next one, unless it was killed."""
        assert isinstance(process, int)
        if not self._pool.killed(client):
            self._interpreter.suspend(client)
            self._pool.send(client, Open(process))


class _Action(msgspec.Struct, frozen=True):
    """Something for the nemesis to do; ``dispatched``: the interpreter waits for its end."""

    f: str
    value: dict[str, Any]
    dispatched: bool


class _Told(msgspec.Struct, frozen=True):
    """A record of an action of the nemesis."""

    action: _Action
    op: Op
