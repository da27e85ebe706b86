"""A load that stops at times for handoffs: one client puts, then another takes, nobody else does.

What happens one after the other has one right answer only, so a client that lists by a server that
is behind is wrong then; among concurrent operations most stale lists can be explained.
"""

import math
from typing import Any

import msgspec

from rumpus.checker.history import Op, Process
from rumpus.harness.generators.generator import (
    SECOND,
    Answer,
    Context,
    Generator,
    Invocation,
    Pending,
    Thread,
)
from rumpus.harness.generators.seed import Seed

LEAST_PATIENCE_S = 0.02
MOST_PATIENCE_S = 0.12
"""How long a take waits: less than a server that is behind is behind."""

PATIENCE_S = 1.5
"""How long a put may take, see ``workloads.queues.queueing``. Every other one has as little as a
take while others are busy, so that something is done in every fault."""

LONG_S = 1.0
"""Whoever has asked for an element for so long has to be fed before the handoffs can begin."""

TRICKLE_NS = 500_000_000
"""So often something is put while others are busy, so that something is done in every fault."""

LATE_NS = 100_000_000
"""Whose answer took so long may be on a server that is behind."""

_MARK = "handed."


class Schedule(msgspec.Struct, frozen=True):
    """When handoffs happen: for the last ``seconds`` of every ``every`` seconds.

    Periods are counted from ``since``, back and forth; there are no handoffs after ``until``. Both
    are in nanoseconds on the run's clock.
    """

    seconds: float
    every: float
    since: int
    until: int

    def left(self, time: int) -> float:
        """Seconds until the period ends; never 0."""
        return self.every - (time - self.since) / SECOND % self.every

    def handing(self, time: int) -> bool:
        """Whether it is time for handoffs."""
        return self.left(time) <= self.seconds and time < self.until

    def change(self, time: int) -> Pending:
        """Until when it is not, or when it no longer is."""
        left = self.left(time)
        return Pending(
            time + math.ceil((left if self.handing(time) else left - self.seconds) * SECOND)
        )


class Handoffs(msgspec.Struct, frozen=True):
    """Traffic, and handoffs at their time.

    They begin when nobody is busy any more. For everybody who waits for an element one is put
    first; then few are put, and none is taken, until nobody is busy. Where there are priorities,
    what is handed over is most urgent; otherwise the queue is emptied before.

    Whoever was answered soon empties the queue, and puts for as long as that is so: when an answer
    comes from a server that is behind, that server has caught up, and nobody who asks it is wrong
    any more. It is always the same one, so that a lost reply to its first write is one to a put.
    """

    traffic: Generator
    schedule: Schedule
    priorities: bool
    seed: Seed
    on: bool = False
    """Whether it was time for handoffs when the last operation was asked for."""
    waiting: frozenset[Process] = frozenset()
    """Who has been told to wait for long, and waits."""
    owed: int = 0
    """How many elements are still to be put for those."""
    empty: bool = False
    """Whether nothing else is in the queue that could come out first."""
    standing: int = 0
    """How many elements that were handed over have not come out, as far as is known."""
    puts: int = 0
    putter: Thread | None = None
    """Who has been answered soon ever since it puts."""
    own: dict[Process, int] = {}
    """Who runs the handoffs' operations, and when each was called."""
    called: int = 0
    """When the last of them was."""

    def op(self, ctx: Context) -> Answer:
        """The next handoff at their time, else what the traffic says."""
        if not self.schedule.handing(ctx.time):
            answer = self.traffic.op(ctx)
            if answer is None:
                return None
            what, traffic = answer
            if isinstance(what, Pending) and ctx.time < self.schedule.until:
                what = self.schedule.change(ctx.time).sooner(what)
            return what, msgspec.structs.replace(self, traffic=traffic, on=False)
        here = self
        if not self.on:
            here = msgspec.structs.replace(
                self, on=True, owed=len(self.waiting), empty=self.priorities, called=ctx.time
            )
        change = self.schedule.change(ctx.time)
        busy = bool(ctx.busy & (1 << ctx.clients) - 1)
        due = here.called + TRICKLE_NS
        free = [thread for thread in ctx.free_threads() if isinstance(thread, int)]
        if not free:
            return change, here
        if busy and (here.own or not here.owed) and ctx.time < due:
            return change.sooner(Pending(due)), here
        puts = busy or (here.empty and not here.standing)
        others = [thread for thread in free if thread != here.putter]
        chosen, seed = self.seed.choose(others or free)
        if here.putter in free and (puts or not here.empty):
            chosen = here.putter
        process = ctx.process_of(chosen)
        share, seed = seed.uniform()
        patience = LEAST_PATIENCE_S + share * (MOST_PATIENCE_S - LEAST_PATIENCE_S)
        value: dict[str, Any] = {"timeout": round(patience, 3)}
        if puts:
            patience = patience if busy and here.puts % 2 else PATIENCE_S
            value = {"value": f"{_MARK}{here.puts}", "timeout": round(patience, 3)}
            if self.priorities:
                value["priority"] = 0
        after = msgspec.structs.replace(
            here,
            seed=seed,
            puts=here.puts + puts,
            owed=max(0, here.owed - puts),
            own={**here.own, process: ctx.time},
            called=ctx.time,
        )
        return Invocation("enqueue" if puts else "dequeue", value, process, ctx.time), after

    def update(self, ctx: Context, event: Op) -> Generator:
        """What was handed over is counted, and who waits; the traffic is told of its own."""
        called = self.own.get(event.process)
        waiting, traffic = self.waiting, self.traffic
        if called is None:
            traffic = traffic.update(ctx, event)
        if event.type == "invoke":
            if event.f == "dequeue" and event.value["timeout"] > LONG_S:
                waiting |= {event.process}
            return msgspec.structs.replace(self, traffic=traffic, waiting=waiting)
        empty, standing, putter = self.empty, self.standing, self.putter
        if called is not None:
            thread = ctx.thread_of(event.process)
            if event.type == "ok" and event.time - called < LATE_NS:
                putter = thread if putter is None else putter
            elif putter == thread:
                putter = None
            if event.f == "enqueue":
                standing += event.type != "fail"
        if event.f == "dequeue" and event.type == "ok":
            came = (event.value or {}).get("value")
            if str(came).startswith(_MARK):
                standing = max(0, standing - 1)
            elif came is None and called == self.called:
                empty, standing = True, 0
        return msgspec.structs.replace(
            self,
            traffic=traffic,
            waiting=waiting - {event.process},
            empty=empty,
            standing=standing,
            putter=putter,
            own={process: at for process, at in self.own.items() if process != event.process},
        )
