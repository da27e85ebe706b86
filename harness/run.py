"""One run from start to end: ensemble, links, workers, load, final phase, gather, tear down."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from rumpus.checker.timeline.holds import Words
from rumpus.harness.clients.clients import Clients, Roles
from rumpus.harness.clients.mailbox import Mailbox, StreamMailbox
from rumpus.harness.clients.messages import Record
from rumpus.harness.clients.worker_pool import WorkerPool
from rumpus.harness.clients.workers import ClientSpec, Workers
from rumpus.harness.driver import HEAL_ALL, Driver, Progress, Sink
from rumpus.harness.ensemble import Ensemble, EnvironmentRefusal
from rumpus.harness.final_walk import Walk, walk_server, walk_servers
from rumpus.harness.generators.combinators import any_of, on_clients, on_nemesis, phases
from rumpus.harness.generators.generator import Generator, Invocation
from rumpus.harness.generators.interpreter import Interpreter
from rumpus.harness.generators.timetable import Timetable
from rumpus.harness.host_meter import SLEEP_S, HostMeter, runnable_tasks
from rumpus.harness.links.links import Links
from rumpus.harness.roles import RoleTracker
from rumpus.harness.witness import Witness
from rumpus.recipes.servers import ZOOKEEPER

log = logging.getLogger(__name__)

LEADER_PERIOD_S = 0.5
"""How often the servers are asked who leads."""

OUTSIDE_PERIOD_S = 0.5
"""How often the servers are checked for interference from outside the harness."""

CLOCKS_MOVED_NS = 200_000
"""By how much the wall clock may move against the monotonic one before readings are kept."""

LONGEST_AFTER_LOAD_S = 150.0
"""Everything after the load, healing and the final phase, must be over in this time."""


class Nemesis(Protocol):
    """What a run needs of its nemesis."""

    def schedule(self) -> list[Any]:
        """All planned actions in order of time, each with an ``f`` and a ``value``.

        Their ``time`` is in nanoseconds after the load began.
        """

    def invoke(self, f: str, value: dict[str, Any]) -> dict[str, Any]:
        """Do a planned action and return the value to be recorded. Blocks until it is done."""

    def outside(self) -> dict[str, str] | None:
        """Server -> what was done to it from outside the harness; None if not known now."""

    def heal_all(self) -> dict[str, Any]:
        """End every fault, and verify that: ``verified``, ``detail``, and ``healed``, a list."""

    def close(self) -> None:
        """Close what it has opened itself."""


Branch = Callable[[int, Any], bool]
"""Called before each step of the driver, with the nanoseconds since the load began and the nemesis.

It tells whether it has changed what the nemesis is to do from now on.
"""


@dataclass(frozen=True)
class Run:
    """What a run does.

    Args:
        clients: what the clients run.
        count: how many clients.
        words: names of the workload's operations.
        load: makes the clients' load from when its time is up (ns on the run's clock).
        final: what the clients do afterwards, with every fault healed.
        time_limit: how long the load lasts, in seconds.
        cleanup: ``f`` of an operation of unknown outcome -> ``f`` that undoes it.
        fencing: whether the witness checks tokens.
        probing: whether a server is asked at the end what it must refuse.
        watches_left: whether the setting of watches is recorded too, beside watch events.
        test: what the history's first record says of the run.
    """

    clients: ClientSpec
    count: int
    words: Words
    load: Callable[[int], Generator]
    final: Generator
    time_limit: float
    cleanup: Mapping[str, str] = field(default_factory=dict)
    fencing: bool = False
    probing: bool = False
    watches_left: bool = False
    test: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Status:
    """Where a run is, for a display; read from another thread."""

    step: str = "begins"
    progress: Progress = field(default_factory=Progress)
    leader: str | None = None
    holder: Callable[[], int | None] = lambda: None
    """The client that holds what was granted last; None if none does."""
    load: tuple[int, int] | None = None
    """When the load began and will end, in ns on the run's clock; None before it begins."""
    virtual: bool = False
    """Whether the run's clock is that of a simulation, which may be faster or slower."""
    library: str | None = None
    """The version of the client library that clients have loaded; None before they are open."""
    origin: int = 0
    anchors: list[dict[str, int]] = field(default_factory=list)
    """Readings of the monotonic and the wall clock whenever one had moved against the other."""


def perform(
    run: Run,
    *,
    ensemble: Ensemble,
    connect: Callable[[Mapping[str, tuple[str, int]], int], Links],
    nemesis: Callable[[Ensemble, Links, Clients, Roles], Nemesis],
    sink: Sink,
    logs: Path,
    nodes: Path,
    origin: int,
    status: Status,
    step: Callable[[str], None],
    stop_requested: Callable[[], bool],
    workers: Callable[..., Workers] = WorkerPool,
    mailbox: Callable[[], Mailbox] = StreamMailbox,
    walk: Walk = walk_server,
    branch: Branch | None = None,
) -> None:
    """Perform a run. Whatever happens, only its records are left behind.

    Args:
        run: what to do.
        ensemble: not started yet; torn down in any case.
        connect: makes the links, given where each node is and the number of clients: those of
            the workload, and one more (the *auditor*), for the walks of the servers' trees.
        nemesis: makes the nemesis for this run.
        sink: writes the history.
        logs: directory for the clients' logs.
        nodes: directory into which the servers' logs and data are gathered.
        origin: what the system's monotonic clock said when the run's clock was 0, in ns.
        status: kept up to date.
        step: called with a description of what is being done now.
        stop_requested: once true the run heals, gathers and ends as soon as it can.
        workers: makes the clients' processes; called as ``WorkerPool`` is.
        mailbox: makes the mailbox in which the driver waits for messages.
        walk: walks the tree of one server at the end.
        branch: lets the nemesis go on with other faults, at a time of its choice.

    Raises:
        EnvironmentRefusal: the host does not allow it.
        WorkerCrash: a client's process failed by itself.
    """
    with ExitStack() as stack:
        stack.callback(ensemble.tear_down)
        stack.callback(step, "tearing down")
        ensemble.start()
        stack.push(_gathering(ensemble, nodes, step))
        if stop_requested():
            return
        step(f"starting {run.count} clients")
        links = connect(ensemble.client_addresses(), run.count + 1)
        stack.callback(links.close)
        waiting = mailbox()
        pool = workers(
            run.count,
            run.clients,
            hosts=links.hosts if run.clients.system == ZOOKEEPER else links.places,
            logs=logs,
            notify=waiting.put,
            origin=origin,
        )
        roles = RoleTracker(run.count, run.words)

        def act(f: str, value: dict[str, Any]) -> dict[str, Any]:
            if f == HEAL_ALL:
                step("healing")
                healed = breaker.heal_all()
                step("waiting for open operations" if stop_requested() else "final phase")
                return healed
            return breaker.invoke(f, value)

        driver = Driver(
            witness=Witness(fencing=run.fencing),
            links=links,
            sink=sink,
            roles=roles,
            nemesis=act,
            origin=origin,
            mailbox=waiting,
            stop_requested=stop_requested,
            watches_left=run.watches_left,
        )
        stack.callback(driver.close)
        status.progress = driver.progress
        status.holder = roles.holder
        stack.callback(pool.stop)
        if run.test:
            driver.record("control", "test", run.test)
        pool.start()
        breaker = nemesis(ensemble, links, pool, roles)
        stack.callback(breaker.close)
        driver.open(pool)
        status.library = driver.library
        if not stop_requested():
            step(f"load for {run.time_limit:g} s")
            _drive(run, ensemble, breaker, driver, status, branch)
            if not stop_requested() and run.clients.system == ZOOKEEPER:
                step("reading the servers' trees")
                walk_servers(
                    {node: links.address(run.count, node) for node in ensemble.nodes},
                    walk=walk,
                    driver=driver,
                    session_timeout=run.clients.session_timeout,
                    stop_requested=stop_requested,
                    probing=run.probing,
                )
            _record_counts(run, links, driver)
            sink.flush()


def _drive(
    run: Run,
    ensemble: Ensemble,
    breaker: Nemesis,
    driver: Driver,
    status: Status,
    branch: Branch | None,
) -> None:
    """The load, the healing and the final phase."""
    began = driver.now()
    status.load = (began, began + int(run.time_limit * 1e9))
    faults = Timetable(_actions(run, breaker, began))
    if branch is not None:
        driver.branch = partial(_branched, branch, run, breaker, faults, began)
    interpreter = Interpreter(_whole(run, faults, began), clients=run.count, cleanup=run.cleanup)
    with (
        _watch_host(ensemble, driver),
        _watch_leader(ensemble, driver, status),
        _watch_outside(ensemble, breaker, driver),
    ):
        driver.run(interpreter, bound=run.time_limit + LONGEST_AFTER_LOAD_S)
    if not interpreter.stopped:
        driver.record("control", "phase-end", {"phase": "final"})


def _record_counts(run: Run, links: Links, driver: Driver) -> None:
    """What passed on the links of the clients, and how their operations ended."""
    for client in range(run.count):
        counts = {
            "client": client,
            "requests": links.requests(client),
            "watch_events": driver.watch_events[client],
            "shown": links.shown(client),
            **({"unimplemented": True} if links.unimplemented(client) else {}),
        }
        driver.record("link", "requests", counts)
    if links.sessions:
        for client in range(run.count + 1):
            passed = links.recorded(client)
            counts = {
                "client": client,
                "recorded": passed.requests,
                "events": passed.events,
                "until": passed.until,
            }
            driver.record("link", "wire", counts)
    ended = {
        outcome: [counts[client] for client in range(run.count)]
        for outcome, counts in sorted(driver.completions.items())
    }
    driver.record("control", "end", ended)


def _whole(run: Run, faults: Timetable, began: int) -> Generator:
    """The run's generator: load under faults, then healing, then the final phase."""
    return phases(
        any_of(
            on_clients(run.load(_end(run, began))),
            on_nemesis(faults.generator()),
        ),
        on_clients(run.final),
    )


def _actions(run: Run, nemesis: Nemesis, began: int) -> list[Invocation]:
    """What the nemesis is to do, healing at the end included."""
    faults = [
        Invocation(action.f, action.value, time=began + action.time)
        for action in nemesis.schedule()
    ]
    return [*faults, Invocation(HEAL_ALL, {}, time=_end(run, began))]


def _end(run: Run, began: int) -> int:
    """When the load ends."""
    return began + int(run.time_limit * 1e9)


def _branched(
    branch: Branch,
    run: Run,
    nemesis: Nemesis,
    faults: Timetable,
    began: int,
    now: int,
) -> int | None:
    """Ask whether the run branches now; when the first action is due that follows then."""
    if not branch(now - began, nemesis):
        return None
    return faults.replace(_actions(run, nemesis, began))


@contextlib.contextmanager
def _watch_leader(ensemble: Ensemble, driver: Driver, status: Status) -> Iterator[None]:
    """Ask who leads, over and over, on a thread of its own; changes go into the history."""
    reading = monotonic_and_wall(status.origin)

    def look() -> None:
        nonlocal reading
        reading = _read_clocks(status, reading)
        leader = ensemble.leader()
        if leader != status.leader:
            status.leader = leader
            driver.notify(Record(driver.now(), "control", "info", "leader", {"leader": leader}))

    with _looking("leader-watch", look, LEADER_PERIOD_S):
        yield


@contextlib.contextmanager
def _watch_outside(ensemble: Ensemble, nemesis: Nemesis, driver: Driver) -> Iterator[None]:
    """Record interference with real servers from outside the harness, on a thread of its own."""
    if ensemble.kind != "docker":
        yield
        return
    known: dict[str, int] = {}
    count, since = 0, driver.now()

    def record(number: int, node: str, detail: str, since: int, *, ended: bool) -> None:
        value = {"id": number, "target": node, "detail": detail, "since": since, "over": ended}
        driver.notify(Record(driver.now(), "control", "info", "outside", value))

    def look() -> None:
        nonlocal count, since
        began = driver.now()
        troubled = nemesis.outside()
        if troubled is None:
            return
        for node in sorted(troubled.keys() - known.keys()):
            count += 1
            known[node] = count
            record(count, node, troubled[node], since, ended=False)
        for node in sorted(known.keys() - troubled.keys()):
            record(known.pop(node), node, f"{node} runs again", since, ended=True)
        since = began

    with _looking("outside-watch", look, OUTSIDE_PERIOD_S):
        yield


@contextlib.contextmanager
def _watch_host(ensemble: Ensemble, driver: Driver) -> Iterator[None]:
    """Record how late the host of a run in real time is, on a thread of its own."""
    if ensemble.kind == "sim":
        yield
        return
    meter = HostMeter(driver.now(), runnable_tasks)
    due = driver.now()

    def look() -> None:
        nonlocal due
        now = driver.now()
        record = meter.woken(due, now)
        if record is not None:
            driver.notify(Record(now, "control", "info", "host", record))
        due = driver.now() + int(SLEEP_S * 1e9)

    try:
        with _looking("host-watch", look, SLEEP_S):
            yield
    finally:
        driver.record("control", "host", meter.close(driver.now()))


@contextlib.contextmanager
def _looking(name: str, look: Callable[[], None], period: float) -> Iterator[None]:
    """Call ``look`` every ``period`` seconds while the block runs, on a thread of its own."""
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            look()
            over.wait(period)

    watcher = threading.Thread(target=watch, name=name, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _read_clocks(status: Status, before: dict[str, int]) -> dict[str, int]:
    """Read both clocks. Where one moved against the other, keep this reading and the one before.

    With both kept, setting the wall clock leaves only the time between the two in doubt.
    """
    reading = monotonic_and_wall(status.origin)
    noted = status.anchors[-1] if status.anchors else before
    if not status.anchors or abs(_ahead(reading) - _ahead(noted)) > CLOCKS_MOVED_NS:
        status.anchors += [before, reading]
    return reading


def _ahead(reading: dict[str, int]) -> int:
    return reading["wall"] - reading["monotonic"]


def _gathering(
    ensemble: Ensemble, nodes: Path, step: Callable[[str], None]
) -> Callable[[object, BaseException | None, object], None]:
    """An exit callback that gathers the servers' logs. An earlier error stays the one raised."""

    def gather(_type: object, earlier: BaseException | None, _trace: object) -> None:
        step("gathering logs")
        try:
            ensemble.gather(nodes)
        except (OSError, EnvironmentRefusal) as error:
            if earlier is None:
                raise EnvironmentRefusal(
                    f"the servers' logs could not be gathered into {nodes} ({error}); what clients "
                    "did is in the run's history all the same: free some space, then `rumpus "
                    "check` judges what there is"
                ) from error
            log.warning("the servers' logs could not be gathered: %s", error)

    return gather


def monotonic_and_wall(origin: int) -> dict[str, int]:
    """One reading of both clocks: the run's (ns) and the wall's (ns since 1970)."""
    before = time.monotonic_ns()
    wall = time.time_ns()
    after = time.monotonic_ns()
    return {"monotonic": (before + after) // 2 - origin, "wall": wall}
