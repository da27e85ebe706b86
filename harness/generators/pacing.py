"""The combinators that decide at what time operations are dispatched.

See ``harness.generators.combinators``, which is where to import them from.
"""

import msgspec

from rumpus.checker.history import Op
from rumpus.harness.generators.generator import SECOND, Answer, Context, Generator, Pending
from rumpus.harness.generators.seed import Seed


def time_limit(seconds: float, generator: Generator) -> Generator:
    """No operation later than this after it is first asked. Open ones may complete later."""
    return _TimeLimit(generator, _nanoseconds(seconds))


def stagger(
    mean_seconds: float, generator: Generator, *, seed: Seed, early: bool = True
) -> Generator:
    """Pauses between operations, uniform between none and twice the mean.

    The rate is that of all threads together: with a mean of 0.1 s there are 10 operations a
    second, however many clients run them. It falls when they cannot keep up, and does not
    catch up later.

    Args:
        mean_seconds: of the pauses.
        generator: what is paced.
        seed: of the pauses.
        early: whether the generator is asked before its next operation is due, so that its end
            is noticed without a wait. If not, it is asked only when the operation is due, and
            so chooses it by what is known then.
    """
    return _Paced(generator, _nanoseconds(mean_seconds), seed, early=early)


def delay(seconds: float, generator: Generator) -> Generator:
    """At least this long from one operation to the next."""
    return _Paced(generator, _nanoseconds(seconds), None)


def sleep(seconds: float) -> Generator:
    """No operation at all, for this long."""
    return _Sleep(_nanoseconds(seconds))


def _nanoseconds(seconds: float) -> int:
    if not seconds >= 0:
        raise ValueError(f"a duration of {seconds} s is impossible; give 0 or more")
    return round(seconds * SECOND)


class _TimeLimit(msgspec.Struct, frozen=True):
    """See ``time_limit``. ``end`` is None until it is first asked."""

    generator: Generator
    duration: int
    end: int | None = None

    def op(self, ctx: Context) -> Answer:
        end = ctx.time + self.duration if self.end is None else self.end
        if ctx.time >= end:
            return None
        answer = self.generator.op(ctx)
        if answer is None:
            return None
        operation, after = answer
        if isinstance(operation, Pending) and (operation.until is None or operation.until > end):
            operation = Pending(end)
        return operation, _TimeLimit(after, self.duration, end)

    def update(self, ctx: Context, event: Op) -> Generator:
        after = self.generator.update(ctx, event)
        return self if after is self.generator else _TimeLimit(after, self.duration, self.end)


class _Paced(msgspec.Struct, frozen=True):
    """See ``stagger`` (with a seed) and ``delay`` (without). The next is due at ``due``."""

    generator: Generator
    interval: int
    seed: Seed | None
    due: int = 0
    early: bool = True

    def op(self, ctx: Context) -> Answer:
        if not self.early and ctx.time < self.due:
            return Pending(self.due), self
        answer = self.generator.op(ctx)
        if answer is None:
            return None
        operation, after = answer
        if isinstance(operation, Pending):
            if operation.until is not None and operation.until < self.due:
                operation = Pending(self.due)
            return operation, _Paced(after, self.interval, self.seed, self.due, self.early)
        if ctx.time < self.due:
            return Pending(self.due), self
        pause, seed = self.interval, self.seed
        if seed is not None:
            pause, seed = seed.below(2 * self.interval + 1)
        return operation, _Paced(after, self.interval, seed, ctx.time + pause, self.early)

    def update(self, ctx: Context, event: Op) -> Generator:
        after = self.generator.update(ctx, event)
        if after is self.generator:
            return self
        return _Paced(after, self.interval, self.seed, self.due, self.early)


class _Sleep(msgspec.Struct, frozen=True):
    """See ``sleep``. ``end`` is None until it is first asked."""

    duration: int
    end: int | None = None

    def op(self, ctx: Context) -> Answer:
        end = ctx.time + self.duration if self.end is None else self.end
        return (Pending(end), _Sleep(self.duration, end)) if ctx.time < end else None

    def update(self, ctx: Context, event: Op) -> Generator:  # noqa: ARG002 - the protocol's
        return self
