"""Barriers: some clients set up and remove one each, round after round; all others wait at them.

Clients take turns at that, so that barriers are set up through whichever servers there are.

Operations, of the barrier ``key``: ``create`` {key, timeout}; ``remove`` {key, timeout}; ``wait``
{key, timeout}: pass once it is not there, or fail. A wait with the ``value`` ``endless`` has no
timeout of its own: its client gives up waiting for it after ``timeout`` seconds and leaves it to
itself. ``left-over`` {patience} -> {waiting}: how many of those left to themselves still sleep.
"""

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from rumpus.checker.deciders.agreement.gate import GATE
from rumpus.checker.every_run.model_check import check_model
from rumpus.checker.every_run.timeouts import TIMED_OUT, check_timeouts
from rumpus.checker.every_run.waiters import check_waiters
from rumpus.checker.history import History, Op, Operation, final_phase
from rumpus.checker.holds import Words
from rumpus.checker.verdict import Requirement, Verdict
from rumpus.harness.clients.client_body import ClientContext, Outcome
from rumpus.harness.generators.combinators import (
    any_of,
    each_process,
    each_thread,
    limit,
    on_threads,
    phases,
    repeat,
    sequence,
    sleep,
    until_ok,
)
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
from rumpus.recipes.barrier.catalogue import BARRIERS
from rumpus.recipes.barrier.node_barrier import Barrier
from rumpus.recipes.outcomes import OutcomeUnknown
from rumpus.workloads.framework.judgement import Evidence, judge_exercised
from rumpus.workloads.framework.patient_call import PatientCall, StillRunning
from rumpus.workloads.framework.workload import Workload

WORDS = Words(acquire="create", work="wait", release="remove", thing="barrier")

KEEPERS = 2
"""How many barriers there are; as many clients keep one each at a time."""

SHIFT_NS = 2_000_000_000
"""How long a client keeps a barrier before the next one does.

A server that is behind answers its own client's create only when it has caught up with it: who is
let in early there waits at a barrier that was set up through another server.
"""

ENDLESS = "endless"

PATIENCE_S = 5.0
"""How long it may take to set a barrier up or to remove it."""

FINAL_BOUND_S = 15.0
"""How long a client may take to pass the open barrier when every fault is healed."""

OVERDUE_S = 3.0
"""By how much a call may run over its timeout before its client gives it up."""

LEFT_OVER_S = 3.0
"""How long waiters left over are waited for once the barrier is open for good."""

LEAST_PASSES = 10
"""How many waiters have to be held up, and pass after all, for a run to mean anything."""


class Keeper(msgspec.Struct, frozen=True):
    """Sets a barrier up, keeps it for a while, opens it for a while; until the time is up.

    Two times of ten it is kept so long that faults come and go in front of it. Between two steps
    the keeper waits at the next keeper's barrier, with little patience: whichever server is behind,
    somebody waits there.
    """

    seed: Seed
    until: int
    key: int
    closed: bool = False
    not_before: int = 0
    look_at: int = 0

    def op(self, ctx: Context) -> Answer:
        """The next step, when it is due; a look at the next barrier meanwhile."""
        process = ctx.next_free()
        if process is None:
            return PENDING, self
        if ctx.time >= self.until:
            return None
        if ctx.time < min(self.look_at, self.not_before):
            return Pending(min(self.look_at, self.not_before)), self
        if ctx.time < self.not_before:
            left = (self.not_before - ctx.time) / SECOND
            look = {"key": (self.key + 1) % KEEPERS, "timeout": round(left / 2, 3), "value": None}
            return Invocation(WORDS.work, look, process, ctx.time), self
        f = WORDS.release if self.closed else WORDS.acquire
        value = {"key": self.key, "timeout": PATIENCE_S}
        return Invocation(f, value, process, ctx.time), self

    def update(self, ctx: Context, event: Op) -> Generator:
        """Rest after each step; what is of unknown outcome is the next process's to do again."""
        if event.type == "invoke":
            return self
        share, seed = self.seed.next()[1].uniform()
        look_at = ctx.time + int((0.02 + 0.1 * share) * SECOND)
        if event.f == WORDS.work:
            return msgspec.structs.replace(self, seed=seed, look_at=look_at)
        closed = event.f == WORDS.acquire
        dice, seed = seed.below(10)
        share, seed = seed.uniform()
        if not closed:
            rest = 0.05 + 0.3 * share
        else:
            rest = 1.5 + 2.5 * share if dice < 2 else 0.1 + 0.6 * share
        not_before = ctx.time + int(rest * SECOND)
        return Keeper(seed, self.until, self.key, closed, not_before, look_at)


class Waiter(msgspec.Struct, frozen=True):
    """Waits at one barrier or another, again and again, until the time is up.

    One wait in six has little patience, one in four is endless.
    """

    seed: Seed
    until: int
    not_before: int = 0

    def op(self, ctx: Context) -> Answer:
        """The next wait, when it is due."""
        process = ctx.next_free()
        if process is None:
            return PENDING, self
        if ctx.time >= self.until:
            return None
        if ctx.time < self.not_before:
            return Pending(self.not_before), self
        dice, seed = self.seed.below(12)
        key, seed = seed.below(KEEPERS)
        share, _ = seed.uniform()
        timeout = 0.02 + 0.3 * share if dice < 2 else 0.5 + 2.5 * share
        value = {"key": key, "timeout": round(timeout, 3), "value": ENDLESS if dice > 8 else None}
        return Invocation("wait", value, process, ctx.time), self

    def update(self, ctx: Context, event: Op) -> Generator:
        """Rest a little after each wait, or an open barrier would be passed without end."""
        if event.type == "invoke":
            return self
        share, seed = self.seed.next()[1].uniform()
        return Waiter(seed, self.until, ctx.time + int((0.02 + 0.1 * share) * SECOND))


class InTurn(msgspec.Struct, frozen=True):
    """One client's load: it keeps one barrier after the other, and then waits at any for a while.

    Who keeps a barrier leaves it to the next one as it is, who sets it up, there or not.
    """

    seed: Seed
    until: int
    client: int
    clients: int
    shift: int = -1
    role: Generator = NOTHING

    def op(self, ctx: Context) -> Answer:
        """What a keeper, or a waiter, does next; asked anew when the shift is over."""
        shift, role = ctx.time // SHIFT_NS, self.role
        if shift != self.shift:
            key = (self.client - shift) % self.clients
            seed = self.seed.child(shift)
            role = Keeper(seed, self.until, key) if key < KEEPERS else Waiter(seed, self.until)
        answer = role.op(ctx)
        if answer is None:
            return None
        what, role = answer
        if isinstance(what, Pending):
            what = Pending((shift + 1) * SHIFT_NS).sooner(what)
        return what, msgspec.structs.replace(self, shift=shift, role=role)

    def update(self, ctx: Context, event: Op) -> Generator:
        """For the role."""
        return msgspec.structs.replace(self, role=self.role.update(ctx, event))


class PassOnce(msgspec.Struct, frozen=True):
    """One client's final phase: wait until it has passed or the bound is spent."""

    key: int
    deadline: int | None = None
    passed: bool = False

    def op(self, ctx: Context) -> Answer:
        """Another try, unless it has passed or the time is up."""
        deadline = self.deadline or ctx.time + int(FINAL_BOUND_S * SECOND)
        here = PassOnce(self.key, deadline, self.passed)
        if self.passed or ctx.time >= deadline:
            return None
        process = ctx.next_free()
        if process is None:
            return PENDING, here
        left = round(max(0.1, (deadline - ctx.time) / SECOND), 3)
        value = {"key": self.key, "timeout": left, "value": ENDLESS}
        return Invocation("wait", value, process, ctx.time), here

    def update(self, ctx: Context, event: Op) -> Generator:  # noqa: ARG002 - the protocol's
        """Passed, or not yet."""
        return PassOnce(self.key, self.deadline, self.passed or event.type == "ok")


def load(setting: WorkloadContext) -> Generator:
    """Some clients keep a barrier each, all others wait at them; they take turns."""

    def in_turn(client: int) -> Generator:
        return each_process(
            lambda process: InTurn(
                setting.seed.child(process), setting.until, client, setting.clients
            )
        )

    return any_of(*(on_threads({client}, in_turn(client)) for client in range(setting.clients)))


def final(setting: WorkloadContext) -> Generator:
    """All wait at a barrier; they are opened; all pass, and so do those left over from the load."""

    def insist(f: str, key: int) -> Generator:
        return until_ok(limit(5, repeat(Invocation(f, {"key": key, "timeout": PATIENCE_S}))))

    def last(client: int) -> Generator:
        if client >= KEEPERS:
            return PassOnce(client % KEEPERS)
        return sequence(sleep(1.0), insist(WORDS.release, client), PassOnce(client))

    return phases(
        any_of(*(on_threads({key}, insist(WORDS.acquire, key)) for key in range(KEEPERS))),
        any_of(*(on_threads({client}, last(client)) for client in range(setting.clients))),
        each_thread(Invocation("left-over", {"patience": LEFT_OVER_S})),
    )


class BarrierClient:
    """The client's side.

    Args:
        barriers: a recipe object for each barrier.
    """

    grants = ""
    ends = ""

    def __init__(self, barriers: Sequence[Barrier]) -> None:
        self._barriers = barriers
        self._left: list[PatientCall[bool]] = []

    def believes(self) -> bool:
        """Nobody holds anything."""
        return False

    def invoke(self, f: str, value: Any) -> Outcome:
        """Run one operation."""
        if f == "left-over":
            return Outcome("ok", {"waiting": self._still_asleep(value["patience"])})
        barrier, timeout = self._barriers[value["key"]], value["timeout"]
        match f:
            case "create":
                return self._do(barrier.create, timeout)
            case "remove":
                return self._do(barrier.remove, timeout)
            case "wait":
                return self._wait(barrier, timeout, endless=value["value"] == ENDLESS)
        raise ValueError(f"a client of this workload knows no operation {f!r}")

    @staticmethod
    def _do(call: Callable[[float], None], timeout: float) -> Outcome:
        try:
            PatientCall(lambda: call(timeout)).result(timeout + OVERDUE_S)
        except OutcomeUnknown as error:
            return Outcome("info", error=str(error))
        except StillRunning:
            return Outcome("info", error="no answer")
        return Outcome("ok")

    def _wait(self, barrier: Barrier, timeout: float, *, endless: bool) -> Outcome:
        call = PatientCall(lambda: barrier.wait(None if endless else timeout))
        try:
            passed = call.result(timeout if endless else timeout + OVERDUE_S)
        except StillRunning:
            self._left.append(call)
            return Outcome("fail", error="still waiting, left to itself")
        except OutcomeUnknown as error:
            return Outcome("info", error=str(error))
        return Outcome("ok") if passed else Outcome("fail", error=TIMED_OUT)

    def _still_asleep(self, patience: float) -> int:
        """How many of those left to themselves sleep on, after as many seconds at most."""
        deadline = time.monotonic() + patience
        while any(call.running for call in self._left) and time.monotonic() < deadline:
            time.sleep(0.1)
        return sum(call.running for call in self._left)


def client(recipe: str, path: str) -> Callable[[ClientContext], BarrierClient]:
    """Makes the client's side for one recipe."""
    kind = BARRIERS[recipe].recipe

    def build(context: ClientContext) -> BarrierClient:
        return BarrierClient([kind(context.kazoo, f"{path}/{key}") for key in range(KEEPERS)])

    return build


def judge_barrier(evidence: Evidence) -> Verdict:
    """Nobody passed while the barrier was there, and nobody slept on once it was open for good."""
    history = evidence.history
    checks = [check_model(history, GATE, "early-entry"), check_timeouts(history)]
    checks.append(check_waiters(history, ["wait"], opened=WORDS.release, left_over="left-over"))
    return judge_exercised(
        evidence,
        checks,
        happened=[
            Requirement("waiters that were held up and passed", LEAST_PASSES, held_up(history))
        ],
        expiries=evidence.expiries,
        expired="expired sessions",
    )


def held_up(history: History) -> int:
    """How many waits of the load passed only after a remove that was called after they were."""
    phase = final_phase(history)
    removes: dict[int, list[int]] = {}
    for op in history:
        if op.f == WORDS.release and op.type == "invoke":
            removes.setdefault(op.value["key"], []).append(op.time)

    def was_held_up(wait: Operation) -> bool:
        times = removes.get(wait.invoke.value["key"], [])
        done = wait.completion
        assert done is not None, "it ended with ok"
        return bisect_left(times, wait.invoke.time) < bisect_left(times, done.time)

    return sum(
        was_held_up(call)
        for call in history.operations()
        if call.invoke.f == "wait"
        and call.outcome == "ok"
        and (phase is None or call.invoke.time < phase.time)
    )


BARRIER = Workload(
    name="barrier",
    summary="some clients set a barrier up and remove it each, all others wait at them",
    catalogue=BARRIERS,
    path="/rumpus/barrier",
    build="rumpus.workloads.barrier:client",
    model="gate",
    words=WORDS,
    load=load,
    final=final,
    cleanup={},
    judge=judge_barrier,
    requests=("write", "read"),
)
