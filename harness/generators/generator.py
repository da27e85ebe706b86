"""Generators: pure values that say what to do next.

After Jepsen's ``jepsen.generator``. ``op`` asks a generator for an operation, with a ``Context``
(the time, and who is free). It answers with one that can be dispatched now, or with ``Pending``,
and in either case with the generator to ask next; or with ``None`` when it has no more.
``update`` tells it of every event (an operation was called, or completed), and answers with the
generator after it. Both are pure functions: asked twice, a generator answers the same.
Randomness comes from a ``Seed`` that the generator carries.

Unlike Jepsen's, a generator never answers with an operation for later: it is pending until
then. What it has learned while pending (that a time limit began to run, say) is kept in the
generator that comes with the answer.

Combinators that make generators of generators are in ``harness.generators.combinators``. A workload
may write its own class where what comes next depends on what came of earlier operations.
"""

from collections.abc import Iterator
from typing import Any, Protocol

import msgspec

from rumpus.checker.history import Op, Process

Thread = int | str
"""Who runs operations, one at a time: a client's number from 0, or ``NEMESIS``.

A thread lasts for the whole run; the processes it runs as follow one another.
"""

NEMESIS = "nemesis"

SECOND = 1_000_000_000
"""Nanoseconds in a second."""


class Context(msgspec.Struct, frozen=True):
    """What a generator may know of the run when it is asked or told.

    A context covers some of the run's threads: ``on_clients`` and the like narrow it down.
    Sets of threads are integers, bit ``t`` for client ``t`` and bit ``clients`` for the
    nemesis, because a context is made at every step.

    Args:
        time: nanoseconds since the start of the run.
        clients: number of clients in the run, whether covered or not.
        members: the threads covered.
        free: those among them that can be given an operation now; suspended ones cannot
            (``Interpreter.suspend``: the client has been killed, say).
        busy: those among them with an operation open.
        processes: the process that each thread runs now, the nemesis last.
        turn: the client to prefer among the free ones, so that all get their share.
        cut: those among all whose clients' links are cut now.
    """

    time: int
    clients: int
    members: int
    free: int
    busy: int
    processes: tuple[Process, ...]
    turn: int = 0
    cut: int = 0

    @classmethod
    def start(cls, *, clients: int, nemesis: bool = True, time: int = 0) -> "Context":
        """The context at the start of a run: every thread is free."""
        everybody = (1 << clients + nemesis) - 1
        return cls(time, clients, everybody, everybody, 0, (*range(clients), NEMESIS))

    def bit(self, thread: Thread) -> int:
        """The set of just this thread.

        Raises:
            ValueError: there is no such thread; the message names those there are.
        """
        if isinstance(thread, int) and 0 <= thread < self.clients:
            return 1 << thread
        if thread == NEMESIS:
            return 1 << self.clients
        raise ValueError(
            f"no thread {thread!r}: threads are the clients 0 to {self.clients - 1} and {NEMESIS!r}"
        )

    def thread_of(self, process: Process) -> Thread:
        """The thread that runs, ran or will run a process."""
        return process % self.clients if isinstance(process, int) else process

    def position_of(self, process: Process) -> int:
        """The number of the bit that stands for a process's thread."""
        return process % self.clients if isinstance(process, int) else self.clients

    def process_of(self, thread: Thread) -> Process:
        """The process that a thread runs now."""
        return self.processes[thread] if isinstance(thread, int) else thread

    def narrow(self, bits: int) -> "Context":
        """This context, covering only those of its threads that are in the given set."""
        return Context(
            self.time,
            self.clients,
            self.members & bits,
            self.free & bits,
            self.busy & bits,
            self.processes,
            self.turn,
            self.cut,
        )

    def in_turn(self, bits: int) -> Iterator[int]:
        """The numbers of the bits of a set of threads, from ``turn`` on, then those below."""
        return _positions(bits, self.turn)

    def next_free(self) -> Process | None:
        """The free process whose turn it is; None if nobody is free."""
        free = self.free
        if not free:
            return None
        bits = free >> self.turn << self.turn or free
        return self.processes[(bits & -bits).bit_length() - 1]


def _positions(bits: int, turn: int) -> Iterator[int]:
    """Numbers of the bits set, ascending from ``turn``, then those below it."""
    late = bits >> turn << turn
    for left in (late, bits ^ late):
        remaining = left
        while remaining:
            lowest = remaining & -remaining
            yield lowest.bit_length() - 1
            remaining ^= lowest


class Pending(msgspec.Struct, frozen=True):
    """Nothing can be dispatched now.

    Args:
        until: nanoseconds since the start of the run before which asking again is useless
            unless an event comes first; always later than the context's time. None: only an
            event can help.
    """

    until: int | None = None

    def sooner(self, other: "Pending | None") -> "Pending":
        """Itself or the other, whichever ends first."""
        if other is None or other.until is None:
            return self
        return other if self.until is None or other.until < self.until else self


PENDING = Pending()
"""Pending until an event comes."""


class Invocation(msgspec.Struct, frozen=True):
    """An operation to be called; as a generator, just this one operation, once.

    Args:
        f: the operation's name.
        value: its argument.
        process: who is to do it; None for whoever is free. An operation for a process that
            has been retired, or is not covered by the context, can never be dispatched, and
            the generator is exhausted.
        time: nanoseconds since the start of the run before which it is not to be called. In
            an answer: the context's time.
    """

    f: str
    value: Any = None
    process: Process | None = None
    time: int | None = None

    def op(self, ctx: Context) -> "Answer":
        """Itself, with process and time filled in."""
        process = self.process
        if process is None:
            process = ctx.next_free()
            if process is None:
                return PENDING, self
        else:
            bit = 1 << ctx.position_of(process)
            current = ctx.process_of(ctx.thread_of(process))
            retired = isinstance(process, int) and isinstance(current, int) and process < current
            if retired or not ctx.members & bit:
                return None
            if process != current or not ctx.free & bit:
                return PENDING, self
        if self.time is not None and self.time > ctx.time:
            return Pending(self.time), self
        return Invocation(self.f, self.value, process, ctx.time), NOTHING

    def update(self, ctx: Context, event: Op) -> "Generator":  # noqa: ARG002 - the protocol's
        """Itself: no event changes it."""
        return self


class Generator(Protocol):
    """What every generator can do."""

    def op(self, ctx: Context) -> "Answer":
        """The next operation, or that there is none now, or none ever again.

        Returns:
            An operation for a process that is free in the context, or ``Pending``; with the
            generator to ask next. Or None: exhausted, and so for good.
        """

    def update(self, ctx: Context, event: Op) -> "Generator":
        """The generator after an event, with the context as it is after the event.

        Events are the ``invoke`` and completion records of every operation that a generator
        made, in the order in which they were observed, except those that a combinator
        withholds (``on_threads`` passes only those of its threads).
        """


Answer = tuple[Invocation | Pending, Generator] | None


class Nothing(msgspec.Struct, frozen=True):
    """The generator that is exhausted."""

    def op(self, ctx: Context) -> Answer:  # noqa: ARG002 - the protocol's
        """None: there is nothing left."""
        return None

    def update(self, ctx: Context, event: Op) -> Generator:  # noqa: ARG002 - the protocol's
        """Itself: no event changes it."""
        return self


NOTHING = Nothing()
