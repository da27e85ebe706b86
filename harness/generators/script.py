"""Scripts: what one client does, written down as a generator function.

A script yields what its client does next, and is resumed with the completion of that::

    def contend(client: Client) -> Steps:
        while not client.is_over:
            granted = yield Invocation("acquire", {"timeout": 5.0})
            if granted.type == "ok":
                yield Invocation("release")
            yield client.rest(0.0, 0.1)

An operation is dispatched when the client is free. The script is resumed with its completion, but
only when the client can do its next operation; ``client.time`` is then the time of that next one. A
rest lasts so many seconds. A script that returns is exhausted.

Unlike other generators a script is mutable: it goes on when it is asked, and cannot be asked about
an earlier moment. Asked twice at one moment it answers the same. Each client has a script of its
own (``each_client``), which lasts as long as its process: after an unknown outcome, say,
the client begins a new one.
"""

from collections import abc
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

import msgspec

from rumpus.checker.history import Op, Process
from rumpus.harness.generators.combinators import each_process, each_thread
from rumpus.harness.generators.generator import (
    NOTHING,
    PENDING,
    SECOND,
    Answer,
    Context,
    Generator,
    Invocation,
    Pending,
)
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext

T = TypeVar("T")


class Rest(msgspec.Struct, frozen=True):
    """Do nothing for so many seconds."""

    seconds: float


class Draws:
    """Random choices, one after the other, from a seed."""

    def __init__(self, seed: Seed) -> None:
        self._seed = seed

    def below(self, bound: int) -> int:
        """A whole number, uniform in ``[0, bound)``."""
        found, self._seed = self._seed.below(bound)
        return found

    def one_in(self, number: int) -> bool:
        """True once in so many times, on average."""
        return self.below(number) == 0

    def uniform(self, least: float = 0.0, most: float = 1.0) -> float:
        """A number uniform in ``[least, most)``."""
        share, self._seed = self._seed.uniform()
        return least + (most - least) * share

    def choose(self, items: Sequence[T]) -> T:
        """One of the items."""
        found, self._seed = self._seed.choose(items)
        return found

    def weighted(self, *shares: tuple[int, T]) -> T:
        """One of the items, by how many parts of the whole each has."""
        at = self.below(sum(share for share, _ in shares))
        for share, item in shares:
            if at < share:
                return item
            at -= share
        raise AssertionError("the shares add up to the whole")

    def shuffle(self, items: Sequence[T]) -> list[T]:
        """The items in a random order."""
        found, self._seed = self._seed.shuffle(items)
        return found


class Client:
    """What a script knows of its client.

    Attributes:
        number: the client's, from 0.
        context: the run's settings.
        shared: an object that all clients' scripts share, made by the workload for this run.
        before: how the client's former process ended: the completion of its last operation, None
            for the first process. That process's script ended with it.
        process: the process that the client runs as now.
        time: nanoseconds since the start of the run, when the script was resumed.
        draws: random choices of this client's own.
        cut_off: whether the client's links are cut now.
    """

    def __init__(
        self,
        number: int,
        context: WorkloadContext,
        seed: Seed,
        shared: Any = None,
        before: Op | None = None,
    ) -> None:
        self.number = number
        self.context = context
        self.shared = shared
        self.before = before
        self.process: int = number
        self.time = 0
        self.draws = Draws(seed)
        self.cut_off = False

    @property
    def clients(self) -> int:
        """How many clients there are."""
        return self.context.clients

    @property
    def is_over(self) -> bool:
        """Whether no new work may begin."""
        return self.time >= self.context.until

    @property
    def expiry_s(self) -> float:
        """Seconds after which the servers have certainly ended the sessions of dead clients."""
        return round(self.context.session_timeout + 3.0, 3)

    def rest(self, least: float, most: float | None = None, *, end: int | None = None) -> Rest:
        """A rest of so many seconds, or of a random length between two bounds.

        It lasts no longer than to ``end``, in nanoseconds since the start of the run, if given.
        """
        seconds = least if most is None else self.draws.uniform(least, most)
        return Rest(seconds if end is None else min(seconds, max(0, end - self.time) / SECOND))

    def after(self, seconds: float) -> int:
        """The moment of the run so many seconds from now, in nanoseconds."""
        return self.time + round(seconds * SECOND)

    def seconds_to(self, time: int) -> float:
        """How long it is to a moment of the run, to the millisecond; 0 if that is past."""
        return round(max(0, time - self.time) / SECOND, 3)


Step = Invocation | Rest
Steps = abc.Generator[Step, Op, None]
"""What a script's function returns. After a rest, too, it is resumed with the last completion."""

Answered = abc.Generator[Step, Op, Op]
"""The same for a part of a script that returns a completion to it."""

ScriptFunction = Callable[[Client], Steps]
"""A script: called with its client, it returns the steps."""


class Script:
    """A generator that goes through one client's script.

    Args:
        function: makes the steps; called once.
        client: what the function is given.
        ended: client -> its last completion; updated here.
        on_completion: called with each completion when it comes.
    """

    def __init__(
        self,
        function: ScriptFunction,
        client: Client,
        ended: dict[int, Op] | None = None,
        on_completion: Callable[[Op], None] | None = None,
    ) -> None:
        self._client = client
        self._on_completion = on_completion
        self._ended = {} if ended is None else ended
        self._steps = function(client)
        self._step: Step | None = None
        self._rests_until = 0
        self._came: Any = None
        self._begun = False
        self._moves_on = True

    def op(self, ctx: Context) -> Answer:
        """The present step, or the next one if that has been done."""
        process = ctx.next_free()
        if process is None:
            return PENDING, self
        client = self._client
        client.time, client.process = ctx.time, int(process)
        client.cut_off = bool(ctx.cut >> client.number & 1)
        while True:
            if self._moves_on and not self._move_on(ctx.time):
                return None
            if isinstance(self._step, Invocation):
                return Invocation(self._step.f, self._step.value, process, ctx.time), self
            if ctx.time < self._rests_until:
                return Pending(self._rests_until), self
            self._moves_on = True

    def _move_on(self, time: int) -> bool:
        """Resume the script; False at its end."""
        try:
            self._step = self._steps.send(self._came) if self._begun else next(self._steps)
        except StopIteration:
            return False
        self._begun, self._moves_on = True, False
        if isinstance(self._step, Rest):
            self._rests_until = time + round(self._step.seconds * SECOND)
        return True

    def update(self, ctx: Context, event: Op) -> "Script":  # noqa: ARG002 - the protocol's
        """Note the completion of the step."""
        if event.type != "invoke":
            self._came, self._moves_on = event, True
            self._ended[self._client.number] = event
            if self._on_completion is not None:
                self._on_completion(event)
        return self


def each_client(
    function: ScriptFunction,
    context: WorkloadContext,
    *,
    seed: Seed | None = None,
    shared: Any = None,
    on_completion: Callable[[Op], None] | None = None,
    renew: bool = True,
) -> Generator:
    """Every client goes through a script of its own.

    Args:
        function: the script.
        context: the run's settings.
        seed: of all choices; each process has a child of it. None: the context's.
        shared: an object that all scripts share.
        on_completion: called with each completion when it comes, before its script is resumed
            with it.
        renew: whether a client whose process was retired begins anew; else it goes on.
    """
    ended: dict[int, Op] = {}
    seeds = context.seed if seed is None else seed

    def script(owner: Process) -> Generator:
        if not isinstance(owner, int):
            return NOTHING
        number = owner % context.clients
        client = Client(number, context, seeds.child(owner), shared, ended.get(number))
        return Script(function, client, ended, on_completion)

    return each_process(script) if renew else each_thread(script)


def until_ok(
    step: Invocation | Callable[[Client], Invocation], tries: int, pause: float = 0.0
) -> ScriptFunction:
    """Repeat an operation until one completes with ``ok``.

    Args:
        step: the operation, or a function that makes it from the client.
        tries: how often at most.
        pause: seconds from one try to the next.
    """
    return _until(lambda came: came.type == "ok", step, tries, pause)


def until_answered(step: Invocation, tries: int, pause: float = 0.0) -> ScriptFunction:
    """Repeat an operation until ``ok``, or ``fail`` without an error: a refusal is an answer."""
    return _until(
        lambda came: came.type == "ok" or (came.type == "fail" and not came.error),
        step,
        tries,
        pause,
    )


def _until(
    done: Callable[[Op], bool],
    step: Invocation | Callable[[Client], Invocation],
    tries: int,
    pause: float,
) -> ScriptFunction:
    def script(client: Client) -> Steps:
        for left in reversed(range(tries)):
            if done((yield (step(client) if callable(step) else step))):
                return
            if left and pause:
                yield client.rest(pause)

    return script


def once(step: Invocation) -> ScriptFunction:
    """One operation, however it ends."""
    return until_ok(step, 1)


def only(
    clients: Collection[int] | Callable[[Client], bool], script: ScriptFunction
) -> ScriptFunction:
    """A script of these clients, by their numbers or as a function says; the others do nothing."""

    def chosen(client: Client) -> Steps:
        if clients(client) if callable(clients) else client.number in clients:
            yield from script(client)

    return chosen
