"""The combinators that decide the order of operations, and not who runs them or at what time.

See ``harness.generators.combinators``, which is where to import them from.
"""

from collections.abc import Callable

import msgspec

from rumpus.checker.history import Op
from rumpus.harness.generators.generator import (
    NOTHING,
    PENDING,
    Answer,
    Context,
    Generator,
    Pending,
)


def sequence(*generators: Generator) -> Generator:
    """One generator after another, each until it is exhausted.

    The next begins when the one before has no more to give, which is before its last
    operations have completed; see ``phases``. Only the current one is told of events.
    """
    return _Sequence(generators)


def synchronize(generator: Generator) -> Generator:
    """Begin only once no operation is open on any thread covered."""
    return _Synchronize(generator)


def phases(*generators: Generator) -> Generator:
    """One generator after another, each once all operations before it have completed."""
    return _Sequence(tuple(_Synchronize(generator) for generator in generators))


def limit(count: int, generator: Generator) -> Generator:
    """At most so many operations."""
    return _Limit(generator, count)


def repeat(generator: Generator, times: int | None = None) -> Generator:
    """The first operation of a generator over and over: to give it does not advance that."""
    return _Limit(_Repeat(generator), times) if times is not None else _Repeat(generator)


def cycle(
    generator: Generator | Callable[[int], Generator], rounds: int | None = None
) -> Generator:
    """A generator from its beginning to its end, again and again.

    Args:
        generator: what to go through; or a function that makes it from the round's number,
            from 0.
        rounds: how often; None for ever. A round that has no operation at all ends the
            cycle, or it would try rounds for ever.
    """
    return _Cycle(generator, rounds)


def any_of(*generators: Generator) -> Generator:
    """Whichever has an operation soonest; when several do, they take turns."""
    return _AnyOf(generators)


class _Sequence(msgspec.Struct, frozen=True):
    """See ``sequence``."""

    generators: tuple[Generator, ...]

    def op(self, ctx: Context) -> Answer:
        for position, generator in enumerate(self.generators):
            answer = generator.op(ctx)
            if answer is not None:
                operation, after = answer
                if position == 0 and after is generator:
                    return operation, self
                return operation, _Sequence((after, *self.generators[position + 1 :]))
        return None

    def update(self, ctx: Context, event: Op) -> Generator:
        if not self.generators:
            return self
        current = self.generators[0]
        after = current.update(ctx, event)
        return self if after is current else _Sequence((after, *self.generators[1:]))


class _Synchronize(msgspec.Struct, frozen=True):
    """See ``synchronize``. Once begun, it is replaced by the generator itself."""

    generator: Generator

    def op(self, ctx: Context) -> Answer:
        return (PENDING, self) if ctx.busy else self.generator.op(ctx)

    def update(self, ctx: Context, event: Op) -> Generator:
        after = self.generator.update(ctx, event)
        return self if after is self.generator else _Synchronize(after)


class _Limit(msgspec.Struct, frozen=True):
    """See ``limit``."""

    generator: Generator
    remaining: int

    def op(self, ctx: Context) -> Answer:
        if self.remaining <= 0:
            return None
        answer = self.generator.op(ctx)
        if answer is None:
            return None
        operation, after = answer
        if isinstance(operation, Pending):
            if after is self.generator:
                return operation, self
            return operation, _Limit(after, self.remaining)
        return operation, _Limit(after, self.remaining - 1)

    def update(self, ctx: Context, event: Op) -> Generator:
        after = self.generator.update(ctx, event)
        return self if after is self.generator else _Limit(after, self.remaining)


class _Repeat(msgspec.Struct, frozen=True):
    """See ``repeat``."""

    generator: Generator

    def op(self, ctx: Context) -> Answer:
        answer = self.generator.op(ctx)
        if answer is None:
            return None
        operation, after = answer
        return operation, _Repeat(after) if isinstance(operation, Pending) else self

    def update(self, ctx: Context, event: Op) -> Generator:
        after = self.generator.update(ctx, event)
        return self if after is self.generator else _Repeat(after)


class _Cycle(msgspec.Struct, frozen=True):
    """See ``cycle``. ``current`` is None before the first round."""

    generator: Generator | Callable[[int], Generator]
    rounds: int | None = None
    current: Generator | None = None
    begun: int = 0

    def op(self, ctx: Context) -> Answer:
        begun = self.begun
        answer = self.current.op(ctx) if self.current is not None else None
        if answer is None:
            if self.rounds is not None and begun >= self.rounds:
                return None
            source = self.generator
            answer = (source(begun) if callable(source) else source).op(ctx)
            if answer is None:
                return None
            begun += 1
        return answer[0], _Cycle(self.generator, self.rounds, answer[1], begun)

    def update(self, ctx: Context, event: Op) -> Generator:
        if self.current is None:
            return self
        after = self.current.update(ctx, event)
        if after is self.current:
            return self
        return _Cycle(self.generator, self.rounds, after, self.begun)


class _AnyOf(msgspec.Struct, frozen=True):
    """See ``any_of``. ``turn`` is the position of the generator to ask first."""

    generators: tuple[Generator, ...]
    turn: int = 0

    def op(self, ctx: Context) -> Answer:
        generators = self.generators
        turn = self.turn
        soonest: Pending | None = None
        for position in (*range(turn, len(generators)), *range(turn)):
            asked = generators[position]
            answer = asked.op(ctx)
            if answer is None:
                generators = _replaced(generators, position, NOTHING)
                continue
            operation, after = answer
            if after is not asked:
                generators = _replaced(generators, position, after)
            if not isinstance(operation, Pending):
                return operation, _AnyOf(generators, (position + 1) % len(generators))
            soonest = operation.sooner(soonest)
        if soonest is None:
            return None
        return soonest, self if generators is self.generators else _AnyOf(generators, turn)

    def update(self, ctx: Context, event: Op) -> Generator:
        after = _updated(self.generators, ctx, event)
        return self if after is self.generators else _AnyOf(after, self.turn)


def _replaced(
    generators: tuple[Generator, ...], position: int, generator: Generator
) -> tuple[Generator, ...]:
    if generators[position] is generator:
        return generators
    return (*generators[:position], generator, *generators[position + 1 :])


def _updated(generators: tuple[Generator, ...], ctx: Context, event: Op) -> tuple[Generator, ...]:
    """The generators after an event; the same tuple when it changed none."""
    for position, generator in enumerate(generators):
        after = generator.update(ctx, event)
        if after is not generator:
            generators = _replaced(generators, position, after)
    return generators
