"""A dry run: a generator run by the interpreter with imagined workers on virtual time.

For tests of generators, in the manner of Jepsen's ``generator.test``: it tells what would
be done, when, and by whom, given how long operations take and how they end. All randomness comes
from a seed.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from rumpus.checker.history import History, Op, OpType
from rumpus.harness.generators.generator import NEMESIS, Generator, Thread
from rumpus.harness.generators.interpreter import Dispatch, Done, Interpreter, OpenOperation, Wait
from rumpus.harness.generators.seed import Seed

MILLISECOND = 1_000_000


class Ending(NamedTuple):
    """How an operation goes: when it is called and returns, in ns after dispatch; how it ends."""

    called: int
    returned: int
    type: OpType


class Kill(NamedTuple):
    """A client is killed at a time, and is back after a while (None: never); both in ns."""

    time: int
    client: int
    away: int | None


class Dispatched(NamedTuple):
    """A dispatch and its time in ns. ``cleanup``: it was a clean-up of the interpreter's."""

    time: int
    what: Dispatch
    cleanup: bool


class DryRun(NamedTuple):
    """What was done: dispatches and records in their order, and when all was done, in ns."""

    dispatches: list[Dispatched]
    history: History
    end: int


Behaviour = Callable[[Dispatch, Seed], Ending]
"""How workers behave: the outcome of an operation, which is given a seed of its own."""


def perfect(dispatch: Dispatch, seed: Seed) -> Ending:  # noqa: ARG001 - a behaviour's
    """Every operation takes 10 ms and succeeds."""
    return Ending(0, 10 * MILLISECOND, "info" if dispatch.thread == NEMESIS else "ok")


def imperfect(dispatch: Dispatch, seed: Seed) -> Ending:
    """Operations take up to 20 ms; a third each succeeds, fails and ends unknown."""
    returned, seed = seed.below(20 * MILLISECOND)
    called, seed = seed.below(returned + 1)
    outcomes: tuple[OpType, ...] = ("ok", "fail", "info")
    outcome, _ = seed.choose(outcomes)
    return Ending(called, returned + 1, "info" if dispatch.thread == NEMESIS else outcome)


def dry_run(
    generator: Generator,
    *,
    clients: int,
    nemesis: bool = True,
    cleanup: Mapping[str, str] = MappingProxyType({}),
    behaviour: Behaviour = perfect,
    seed: Seed = Seed(0),  # noqa: B008 - immutable
    kills: Iterable[Kill] = (),
    stop_at: int | None = None,
    most: int = 10_000,
    cut: Callable[[int], int] = lambda _now: 0,
) -> DryRun:
    """Run a generator to its end.

    Args:
        generator: what to do.
        clients: number of clients.
        nemesis: whether there is a nemesis.
        cleanup: as for ``Interpreter``.
        behaviour: how workers behave.
        seed: for the behaviour.
        kills: clients killed on the way. One that is away already is not killed again.
        stop_at: when to stop, in ns.
        most: how many operations at most; the run is stopped after that.
        cut: time in ns -> the clients whose links are cut then, as a set of threads.

    Raises:
        RuntimeError: the interpreter waits for an event, but none is to come.
        GeneratorError: as by ``Interpreter.poll``.
    """
    interpreter = Interpreter(generator, clients=clients, nemesis=nemesis, cleanup=cleanup)
    stage = _Stage(interpreter)
    for kill in kills:
        stage.at(kill.time, lambda kill=kill: stage.kill(kill))  # type: ignore[misc] # mypy cannot infer a lambda's default
    if stop_at is not None:
        stage.at(stop_at, interpreter.stop)
    while True:
        step = interpreter.poll(stage.now, cut(stage.now))
        if isinstance(step, Done):
            return DryRun(stage.dispatches, History(stage.records, clients=clients), stage.now)
        if isinstance(step, Wait):
            stage.wait(step.until)
        else:
            stage.dispatch(step, behaviour(step, seed.child(len(stage.dispatches))))
            if len(stage.dispatches) >= most:
                interpreter.stop()


class _Stage:
    """The imagined workers and their clock."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.now = 0
        self.dispatches: list[Dispatched] = []
        self.records: list[Op] = []
        self._interpreter = interpreter
        self._coming: list[tuple[int, int, Callable[[], None]]] = []
        self._scheduled = 0
        self._away: set[Thread] = set()

    def at(self, time: int, action: Callable[[], None]) -> None:
        """Schedule an action; actions for the same time are done in the order of scheduling."""
        heapq.heappush(self._coming, (time, self._scheduled, action))
        self._scheduled += 1

    def wait(self, until: int | None) -> None:
        """Let time pass to the next scheduled action, and do it; but at most to ``until``."""
        if until is not None and (not self._coming or self._coming[0][0] > until):
            self.now = until
        elif self._coming:
            time, _, action = heapq.heappop(self._coming)
            self.now = max(self.now, time)
            action()
        else:
            threads = sorted(map(str, self._interpreter.open))
            raise RuntimeError(
                f"at {self.now} ns the interpreter waits for an event, but none is to come; "
                f"open: {threads}, away: {sorted(map(str, self._away))}"
            )

    def dispatch(self, what: Dispatch, outcome: Ending) -> None:
        running = self._interpreter.open[what.thread]
        self.dispatches.append(Dispatched(self.now, what, running.cleanup))
        self.at(self.now + outcome.called, lambda: self._record(running, "invoke"))
        self.at(self.now + outcome.returned, lambda: self._record(running, outcome.type))

    def kill(self, kill: Kill) -> None:
        if kill.client in self._away:
            return
        self._away.add(kill.client)
        self._interpreter.suspend(kill.client)
        running = self._interpreter.open.get(kill.client)
        if running is None:
            self._interpreter.retire(kill.client)
        else:
            if not running.invoked:
                self._record(running, "invoke")
            self._record(running, "info")
        if kill.away is not None:
            self.at(self.now + kill.away, lambda: self._restore(kill.client))

    def _restore(self, client: int) -> None:
        self._away.discard(client)
        self._interpreter.restore(client)

    def _record(self, dispatched: OpenOperation, type_: OpType) -> None:
        """Report a record, unless a kill has ended the operation already."""
        running = self._interpreter.open.get(dispatched.thread)
        if running is None or (running.process, running.since) != (
            dispatched.process,
            dispatched.since,
        ):
            return
        op = Op(
            index=len(self.records),
            time=self.now,
            process=running.process,
            type=type_,
            f=running.f,
            value=running.value,
        )
        self._interpreter.observe(op)
        self.records.append(op)
