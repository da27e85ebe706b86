"""The combinators that decide who runs operations: they assign threads to generators.

See ``harness.generators.combinators``, which is where to import them from.
"""

from collections.abc import Callable, Collection
from typing import Any

import msgspec

from rumpus.checker.history import Op, Process
from rumpus.harness.generators.generator import (
    NEMESIS,
    PENDING,
    Answer,
    Context,
    Generator,
    Pending,
    Thread,
)


def on_threads(
    threads: Collection[Thread] | Callable[[Thread], bool], generator: Generator
) -> Generator:
    """A generator for these threads only; it is told only of their events.

    Exhausted if the run (or the context given) has none of them.
    """
    return _OnThreads(generator, threads if callable(threads) else frozenset(threads))


def on_clients(generator: Generator) -> Generator:
    """A generator for clients only."""
    return _OnThreads(generator, _is_client)


def on_nemesis(generator: Generator) -> Generator:
    """A generator for the nemesis only; exhausted in a run without one."""
    return _OnThreads(generator, _is_nemesis)


def each_thread(generator: Generator | Callable[[Thread], Generator]) -> Generator:
    """For every thread a copy of its own, which sees that thread alone.

    A thread goes on with its copy when its process is retired.

    Args:
        generator: what to copy; or a function that makes a thread's own.
    """
    return _Each(generator, renew=False)


def each_process(generator: Generator | Callable[[Process], Generator]) -> Generator:
    """For every process a copy of its own, which sees that process alone.

    The process that follows one that was retired begins with a new copy: a client whose
    ``acquire`` or ``release`` had an unknown outcome starts over with ``acquire``.

    Args:
        generator: what to copy; or a function that makes a process's own.
    """
    return _Each(generator, renew=True)


def _is_client(thread: Thread) -> bool:
    return thread != NEMESIS


def _is_nemesis(thread: Thread) -> bool:
    return thread == NEMESIS


class _OnThreads(msgspec.Struct, frozen=True):
    """See ``on_threads``. ``bits`` is the set of threads, None until it is first asked."""

    generator: Generator
    chosen: frozenset[Thread] | Callable[[Thread], bool]
    bits: int | None = None

    def op(self, ctx: Context) -> Answer:
        bits = self.bits
        if bits is None:
            bits = self._resolved(ctx)
        if not ctx.members & bits:
            return None
        answer = self.generator.op(ctx.narrow(bits))
        if answer is None:
            return None
        operation, after = answer
        if after is self.generator and self.bits is not None:
            return operation, self
        return operation, _OnThreads(after, self.chosen, bits)

    def update(self, ctx: Context, event: Op) -> Generator:
        bits = self.bits
        if bits is None:
            bits = self._resolved(ctx)
        if not bits >> ctx.position_of(event.process) & 1:
            return self
        after = self.generator.update(ctx.narrow(bits), event)
        return self if after is self.generator else _OnThreads(after, self.chosen, bits)

    def _resolved(self, ctx: Context) -> int:
        chosen = self.chosen
        return sum(
            ctx.bit(thread)
            for thread in (*range(ctx.clients), NEMESIS)
            if (chosen(thread) if callable(chosen) else thread in chosen)
        )


class _Each(msgspec.Struct, frozen=True):
    """See ``each_thread`` and ``each_process``.

    ``copies`` has one generator per thread, made when first asked; ``owners`` has the process for
    which each was made; ``live`` is the set of threads whose copy is not exhausted.
    """

    source: Generator | Callable[[Any], Generator]
    renew: bool
    copies: tuple[Generator, ...] = ()
    owners: tuple[Process, ...] = ()
    live: int = 0

    def op(self, ctx: Context) -> Answer:
        copies, live = self.copies, self.live
        if not copies or (self.renew and self.owners is not ctx.processes):
            copies, live = self._renewed(ctx)
        elif live & ctx.members and not live & ctx.free:
            return PENDING, self  # the common case: no live thread is free
        soonest = PENDING
        changed: dict[int, Generator] = {}
        for position in ctx.in_turn(ctx.free & live):
            copy = copies[position]
            answer = copy.op(ctx.narrow(1 << position))
            if answer is None:
                live ^= 1 << position
                continue
            operation, after = answer
            if after is not copy:
                changed[position] = after
            if not isinstance(operation, Pending):
                return operation, self._moved_on(copies, changed, live, ctx)
            soonest = operation.sooner(soonest)
        if not live & ctx.members:
            return None
        return soonest, self._moved_on(copies, changed, live, ctx)

    def update(self, ctx: Context, event: Op) -> Generator:
        position = ctx.position_of(event.process)
        if not self.live >> position & 1:
            return self
        copy = self.copies[position]
        after = copy.update(ctx.narrow(1 << position), event)
        if after is copy:
            return self
        copies = (*self.copies[:position], after, *self.copies[position + 1 :])
        return _Each(self.source, self.renew, copies, self.owners, self.live)

    def _moved_on(
        self,
        copies: tuple[Generator, ...],
        changed: dict[int, Generator],
        live: int,
        ctx: Context,
    ) -> "_Each":
        if not changed and copies is self.copies and live == self.live:
            if self.owners is ctx.processes:
                return self
        elif changed:
            listed = list(copies)
            for position, copy in changed.items():
                listed[position] = copy
            copies = tuple(listed)
        return _Each(self.source, self.renew, copies, ctx.processes, live)

    def _renewed(self, ctx: Context) -> tuple[tuple[Generator, ...], int]:
        """The copies, with a new one for each process without one, and the set of live threads."""
        copies: list[Generator] = []
        live = self.live
        for position, process in enumerate(ctx.processes):
            if self.owners and self.owners[position] == process:
                copies.append(self.copies[position])
                continue
            owner = process if self.renew else ctx.thread_of(process)
            copies.append(self.source(owner) if callable(self.source) else self.source)
            live |= 1 << position
        return tuple(copies), live
