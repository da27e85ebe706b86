"""The interpreter: decides who does what next, without a clock or any I/O.

A driver calls ``poll`` with the time to learn what to do, hands dispatched operations to workers,
and reports what they record by ``observe``. The same interpreter serves real workers and
simulated ones. Its rules:

- A thread has one operation open at a time, from its dispatch until its completion was
  observed.
- A client's process whose operation ended in ``info`` is retired: its thread goes on as
  process + clients. The nemesis is always the same process.
- Where ``cleanup`` maps the ``f`` of such an operation to another, the old process first does
  that one (a release, say), however it ends, because it may hold a lock without knowing it. A
  process that was killed does not.
- Clean-up operations are the interpreter's own: generators do not see their events, only that
  the thread is busy until they are done.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from rumpus.checker.history import Op, Process
from rumpus.harness.generators.generator import (
    NEMESIS,
    NOTHING,
    Context,
    Generator,
    Pending,
    Thread,
)


class Dispatch(msgspec.Struct, frozen=True):
    """Hand this operation to the worker of this thread now."""

    thread: Thread
    process: Process
    f: str
    value: Any


class Wait(msgspec.Struct, frozen=True):
    """Nothing can be dispatched now.

    Args:
        until: nanoseconds since the start of the run at which to ask again if no event came
            before; None if only an event can help.
    """

    until: int | None


class Done(msgspec.Struct, frozen=True):
    """Nothing is open, and nothing will ever be dispatched again."""


class OpenOperation(msgspec.Struct, frozen=True):
    """An operation that was dispatched and has not completed.

    Args:
        since: nanoseconds since the start of the run when it was dispatched.
        invoked: whether the worker's ``invoke`` record was observed.
        cleanup: whether it is the clean-up of a process about to be retired.
    """

    thread: Thread
    process: Process
    f: str
    value: Any
    since: int
    invoked: bool = False
    cleanup: bool = False


class GeneratorError(Exception):
    """A generator gave an answer that makes no sense; the message says which and why."""


class UnexpectedRecord(ValueError):  # noqa: N818 - says what it is
    """A record does not fit the open operations; the message names both."""


class Interpreter:
    """Runs a generator over threads, by the rules in the module's docstring.

    Args:
        generator: what to do.
        clients: number of client threads, at least 1.
        nemesis: whether there is a nemesis thread.
        cleanup: ``f`` of an operation with unknown outcome -> ``f`` that undoes it; the
            clean-up gets the same value.
    """

    def __init__(
        self,
        generator: Generator,
        *,
        clients: int,
        nemesis: bool = True,
        cleanup: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        if clients < 1:
            raise ValueError(f"a run needs at least 1 client, not {clients}")
        self._generator = generator
        self._exhausted = False
        self._stopped = False
        self._cleanup = dict(cleanup)
        self._context = Context.start(clients=clients, nemesis=nemesis)
        self._suspended = 0
        self._open: dict[Thread, OpenOperation] = {}
        self._cleanups: dict[Thread, tuple[str, Any]] = {}

    @property
    def open(self) -> Mapping[Thread, OpenOperation]:
        """The open operations, by thread."""
        return MappingProxyType(self._open)

    @property
    def outstanding(self) -> int:
        """How many completions are needed before all is done, if nothing more is dispatched.

        Counts the open operations and the clean-ups still to be dispatched.
        """
        return len(self._open) + len(self._cleanups)

    @property
    def context(self) -> Context:
        """The time of the latest poll or record, who is free, and who runs as which process."""
        return self._context

    def poll(self, now: int, cut: int = 0) -> Dispatch | Wait | Done:
        """What to do now. Ask again after each ``Dispatch``, and when a ``Wait`` is over.

        Args:
            now: nanoseconds since the start of the run.
            cut: the clients whose links are cut now (``Context.cut``).

        Raises:
            GeneratorError: the generator gave an operation for a process that is not free, is
                pending until a time that has passed, or waits for an event when none can come.
        """
        ctx = self._at(now, cut)
        if self._cleanups:
            thread = next(iter(self._cleanups))
            f, value = self._cleanups.pop(thread)
            return self._dispatch(thread, ctx.process_of(thread), f, value, cleanup=True)
        if not self._exhausted:
            answer = self._generator.op(ctx)
            if answer is not None:
                operation, after = answer
                if isinstance(operation, Pending):
                    self._check_pending(operation, ctx)
                    self._generator = after
                    return Wait(operation.until)
                process = operation.process
                thread = self._free_thread(process, operation.f)
                assert process is not None
                self._generator = after
                return self._dispatch(thread, process, operation.f, operation.value)
            self._exhausted = True
            self._generator = NOTHING
        return Wait(None) if self._open else Done()

    def observe(self, op: Op) -> None:
        """Take in a worker's (or the nemesis's) ``invoke`` or completion record.

        Raises:
            UnexpectedRecord: its process has no such operation open, or it is out of order.
        """
        ctx = self._at(op.time, self._context.cut)
        thread = ctx.thread_of(op.process)
        running = self._open.get(thread)
        if running is None or running.process != op.process or running.f != op.f:
            raise UnexpectedRecord(
                f"{op.type} of {op.f} by process {op.process}, whose thread {thread} has "
                + (f"{running.f} of process {running.process} open" if running else "nothing open")
            )
        if (op.type == "invoke") is running.invoked:
            raise UnexpectedRecord(
                f"{op.type} of {op.f} by process {op.process}, which "
                + ("was already invoked" if running.invoked else "was not invoked yet")
            )
        if op.type == "invoke":
            self._open[thread] = msgspec.structs.replace(running, invoked=True)
        else:
            del self._open[thread]
            self._complete(thread, running, op)
        if not running.cleanup and not self._exhausted:
            self._generator = self._generator.update(self._context, op)

    def stop(self) -> None:
        """Dispatch nothing more but clean-ups. May be called at any time, more than once."""
        self._stopped = self._exhausted = True
        self._generator = NOTHING

    @property
    def stopped(self) -> bool:
        """Whether ``stop`` was called."""
        return self._stopped

    def suspend(self, thread: Thread) -> None:
        """Make a client unavailable: it gets no operation until it is restored.

        An operation that it has open stays open until its completion is observed.
        If that is ``info``, or if a clean-up waits to be dispatched, the process is retired
        without a clean-up. So when a client is killed: suspend it, then report its open
        operation as ``info``, or ``retire`` it when it has none.

        Raises:
            ValueError: it is not a client.
        """
        bit = 1 << self._client(thread)
        self._suspended |= bit
        if self._cleanups.pop(thread, None) is not None:
            self._free(thread)
            self.retire(thread)
        self._context = msgspec.structs.replace(self._context, free=self._context.free & ~bit)

    def restore(self, thread: Thread) -> None:
        """Make a suspended client available again.

        Raises:
            ValueError: it is not a client.
        """
        bit = 1 << self._client(thread)
        self._suspended &= ~bit
        ctx = self._context
        if not ctx.busy & bit:
            self._context = msgspec.structs.replace(ctx, free=ctx.free | bit)

    def retire(self, thread: Thread) -> None:
        """Give a client's thread its next process, because the present one has ended.

        Raises:
            ValueError: it is not a client, or has an operation open, whose completion is to
                be observed first.
        """
        client = self._client(thread)
        if thread in self._open or thread in self._cleanups:
            raise ValueError(
                f"client {thread} cannot be retired with an operation open; observe its "
                "completion first (info, if its process is gone)"
            )
        ctx = self._context
        processes = list(ctx.processes)
        processes[client] = int(processes[client]) + ctx.clients
        self._context = msgspec.structs.replace(ctx, processes=tuple(processes))

    def _client(self, thread: Thread) -> int:
        if isinstance(thread, int) and 0 <= thread < self._context.clients:
            return thread
        raise ValueError(
            f"{thread!r} is not a client; only the clients, 0 to {self._context.clients - 1}, "
            "can be suspended and retired"
        )

    def _at(self, now: int, cut: int) -> Context:
        """The context at a time, or at a later one if workers' records have come from later."""
        ctx = self._context
        if now > ctx.time or cut != ctx.cut:
            ctx = self._context = Context(
                max(now, ctx.time),
                ctx.clients,
                ctx.members,
                ctx.free,
                ctx.busy,
                ctx.processes,
                ctx.turn,
                cut,
            )
        return ctx

    def _check_pending(self, pending: Pending, ctx: Context) -> None:
        if pending.until is not None:
            if pending.until <= ctx.time:
                raise GeneratorError(
                    f"the generator is pending until {pending.until} ns, but it is {ctx.time} ns "
                    "already; it must give an operation, a later time or None for an event"
                )
        elif not self._open and not self._suspended:
            raise GeneratorError(
                "the generator waits for an event, but nothing is open and every client is "
                "there, so that none will come; does it ask for a process that cannot be?"
            )

    def _free_thread(self, process: Process | None, f: str) -> Thread:
        ctx = self._context
        if process in ctx.processes:
            assert process is not None
            thread = ctx.thread_of(process)
            if ctx.free & ctx.bit(thread):
                return thread
        raise GeneratorError(f"the generator gave {f} to process {process}, which is not free")

    def _dispatch(
        self, thread: Thread, process: Process, f: str, value: Any, *, cleanup: bool = False
    ) -> Dispatch:
        ctx = self._context
        bit = ctx.bit(thread)
        turn = thread + 1 if isinstance(thread, int) else ctx.turn
        self._context = Context(
            ctx.time,
            ctx.clients,
            ctx.members,
            ctx.free & ~bit,
            ctx.busy | bit,
            ctx.processes,
            turn,
            ctx.cut,
        )
        self._open[thread] = OpenOperation(thread, process, f, value, ctx.time, cleanup=cleanup)
        return Dispatch(thread, process, f, value)

    def _complete(self, thread: Thread, running: OpenOperation, op: Op) -> None:
        if thread == NEMESIS or not (running.cleanup or op.type == "info"):
            self._free(thread)
            return
        suspended = self._suspended & self._context.bit(thread)
        if not running.cleanup and not suspended and op.f in self._cleanup:
            self._cleanups[thread] = (self._cleanup[op.f], running.value)
            return
        self._free(thread)
        self.retire(thread)

    def _free(self, thread: Thread) -> None:
        ctx = self._context
        bit = ctx.bit(thread)
        self._context = Context(
            ctx.time,
            ctx.clients,
            ctx.members,
            (ctx.free | bit) & ~self._suspended,
            ctx.busy & ~bit,
            ctx.processes,
            ctx.turn,
            ctx.cut,
        )
