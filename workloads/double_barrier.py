"""Double barriers: all clients go in together and out together, round after round.

Operations: ``enter`` {timeout} -> {session}: in, once all have come; ``stay`` {patience}: in
still, until the recipe says that it is not, for who has lost its connection; ``leave`` {timeout} ->
{session}: out, once all have left. An enter with the ``value`` ``endless`` has no timeout of its
own: its client gives up waiting for it after ``timeout`` seconds. What it gave up waiting for goes
on, and the client's next enter waits for that one. ``drain`` {patience}: who was let in that way
leaves, before the last round.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from rumpus.checker.deciders.agreement.double_barrier import DOUBLE_BARRIER as MODEL
from rumpus.checker.every_run.model_check import check_model
from rumpus.checker.every_run.timeouts import TIMED_OUT, check_timeouts
from rumpus.checker.every_run.waiters import check_waiters
from rumpus.checker.exclusion.entitlement import check_entitlement
from rumpus.checker.exclusion.mutual_exclusion import CLOCK_SLACK_NS, ServerView, check_lateness
from rumpus.checker.families.barrier_rounds import check_barrier_rounds
from rumpus.checker.history import History, Op
from rumpus.checker.holds import Words
from rumpus.checker.servers.server_view import server_view
from rumpus.checker.verdict import CheckResult, Requirement, Verdict
from rumpus.harness.clients.client_body import ClientContext, Outcome
from rumpus.harness.generators.combinators import each_process, each_thread, phases
from rumpus.harness.generators.generator import (
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
from rumpus.recipes.double_barrier.catalogue import DOUBLE_BARRIERS
from rumpus.recipes.double_barrier.counted_barrier import DoubleBarrier
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.workloads.framework.judgement import Evidence, judge_exercised
from rumpus.workloads.framework.patient_call import PatientCall, StillRunning
from rumpus.workloads.framework.workload import Workload

WORDS = Words(acquire="enter", work="stay", release="leave", thing="barrier", counted=False)

ENDLESS = "endless"

PATIENCE_S = 1.5
"""How long calls may take: less than most faults, so that some come back while one lasts."""

FINAL_BOUND_S = 15.0
"""How long it may take to go in, and again to go out, when every fault is healed."""

DRAIN_S = 5.0
"""How long those that are in still may take to leave before the last round."""

PAUSE_S = 0.1
"""Between two looks of one that lingers."""

GRACE_S = 0.5
"""By how much a recipe may run over these."""

LINGER_S = 9.0
"""How long a member without its connection waits to be told that it is not inside any more.

Longer than it takes until its session has ended and it is late to believe
(``checker.exclusion.mutual_exclusion``).
"""

OVERDUE_S = 3.0
"""By how much a call may run over its timeout before its client gives it up."""

LEAST_ROUNDS = 5
"""How many rounds have to be passed for a run to mean anything."""


class Rounds(msgspec.Struct, frozen=True):
    """One process's load: enter, stay a little, leave, and again until the time is up.

    One enter in eight has little patience, one in four is endless; one stay in fifteen is long, so
    that others die inside meanwhile, and their sessions end.
    """

    seed: Seed
    until: int
    stage: str = WORDS.acquire
    not_before: int = 0

    def op(self, ctx: Context) -> Answer:
        """The next step, when it is due; who is inside when the time is up leaves at once."""
        process = ctx.next_free()
        if process is None:
            return PENDING, self
        over = ctx.time >= self.until
        if over and self.stage == WORDS.acquire:
            return None
        if ctx.time < self.not_before and not over:
            return Pending(min(self.not_before, self.until)), self
        if self.stage == WORDS.work:
            return Invocation(WORDS.work, {"patience": LINGER_S}, process, ctx.time), self
        if self.stage == WORDS.release:
            return Invocation(WORDS.release, {"timeout": PATIENCE_S}, process, ctx.time), self
        dice, seed = self.seed.below(8)
        share, _ = seed.uniform()
        timeout = 0.02 + 0.3 * share if dice == 0 else 0.5 + (PATIENCE_S - 0.5) * share
        value = {"timeout": round(timeout, 3), "value": ENDLESS if dice > 5 else None}
        return Invocation(WORDS.acquire, value, process, ctx.time), self

    def update(self, ctx: Context, event: Op) -> Generator:
        """In or not; rest a little."""
        if event.type == "invoke":
            return self
        if event.f == WORDS.work:
            stage = WORDS.acquire if event.type == "info" else WORDS.release
            return Rounds(self.seed, self.until, stage)
        inside = event.f == WORDS.acquire and event.type == "ok"
        dice, seed = self.seed.next()[1].below(15)
        share, seed = seed.uniform()
        rest = 1.5 + 3.0 * share if inside and dice == 0 else 0.2 * share
        stage = WORDS.work if inside else WORDS.acquire
        return Rounds(seed, self.until, stage, ctx.time + int(rest * SECOND))


class RoundOnce(msgspec.Struct, frozen=True):
    """One client's final phase: enter, trying again until the bound is spent; then leave."""

    deadline: int | None = None
    stage: str = WORDS.acquire

    def op(self, ctx: Context) -> Answer:
        """The next step."""
        deadline = self.deadline or ctx.time + int(FINAL_BOUND_S * SECOND)
        here = RoundOnce(deadline, self.stage)
        if not self.stage or (self.stage == WORDS.acquire and ctx.time >= deadline):
            return None
        process = ctx.next_free()
        if process is None:
            return PENDING, here
        if self.stage == WORDS.release:
            return Invocation(self.stage, {"timeout": FINAL_BOUND_S}, process, ctx.time), here
        left = round(max(0.1, (deadline - ctx.time) / SECOND), 3)
        value = {"timeout": left, "value": None}
        return Invocation(self.stage, value, process, ctx.time), here

    def update(self, ctx: Context, event: Op) -> Generator:  # noqa: ARG002 - the protocol's
        """In: leave. Left: done."""
        if event.type == "invoke":
            return self
        if event.f == WORDS.release:
            return RoundOnce(self.deadline, "")
        return RoundOnce(self.deadline, WORDS.release if event.type == "ok" else self.stage)


def load(setting: WorkloadContext) -> Generator:
    """All clients pass rounds until the time is up."""
    return each_process(lambda process: Rounds(setting.seed.child(process), setting.until))


def final(setting: WorkloadContext) -> Generator:  # noqa: ARG001 - the workload's signature
    """Who is in still, of whatever round, leaves; then all go in once more, and out."""
    drain = Invocation("drain", {"patience": DRAIN_S})
    return phases(each_thread(drain), each_thread(RoundOnce()))


class DoubleBarrierClient:
    """The client's side: drives one recipe object, one call of it at a time."""

    grants = WORDS.acquire
    ends = WORDS.release

    def __init__(self, barrier: DoubleBarrier, connected: Callable[[str | None], bool]) -> None:
        self._barrier = barrier
        self._connected = connected
        self._entering: PatientCall[bool] | None = None
        self._leaving: PatientCall[bool] | None = None

    def believes(self) -> bool:
        """Whether the recipe says that we are in."""
        return self._barrier.inside

    def invoke(self, f: str, value: Any) -> Outcome:
        """Run one operation."""
        if f == WORDS.acquire:
            return self._enter(value["timeout"], endless=value["value"] == ENDLESS)
        if f == WORDS.work:
            return self._linger(value["patience"])
        if f == WORDS.release:
            return self._leave(value["timeout"])
        if f == "drain":
            return self._drain(value["patience"])
        raise ValueError(f"a client of this workload knows no operation {f!r}")

    def _enter(self, timeout: float, *, endless: bool) -> Outcome:
        if self._leaving is not None:
            began = time.monotonic()
            try:
                with suppress(NotDone, OutcomeUnknown):
                    self._finish_leaving(timeout)
            except StillRunning:
                return Outcome("fail", error="an earlier leave has not returned yet")
            timeout = max(0.0, timeout - (time.monotonic() - began))
        earlier, self._entering = self._entering, None
        call = earlier or PatientCall(lambda: self._barrier.enter(None if endless else timeout))
        try:
            # An earlier one may be endless.
            inside = call.result(timeout if endless or earlier else timeout + OVERDUE_S)
        except StillRunning:
            self._entering = call
            return Outcome("info", error="still waiting, left to itself")
        except OutcomeUnknown as error:
            return Outcome("info", error=str(error))
        if not inside:
            # A call that was given up on belongs to an earlier operation, of unknown outcome.
            late = earlier is not None
            return Outcome("fail", error="an earlier call timed out" if late else TIMED_OUT)
        if earlier is not None and not self._barrier.inside:
            self._leaving = PatientCall(lambda: self._barrier.leave(timeout))
            return Outcome("info", error="was let in, but the connection has been lost since")
        return Outcome("ok", self._session())

    def _linger(self, patience: float) -> Outcome:
        """Stay on while the connection is lost and the recipe says that we are in all the same."""
        until = time.monotonic() + patience
        session = self._session()["session"]
        while self.believes() and not self._connected(session) and time.monotonic() < until:
            time.sleep(PAUSE_S)
        return Outcome("ok")

    def _drain(self, patience: float) -> Outcome:
        if self._entering is not None:
            try:
                inside = self._entering.result(patience)
            except StillRunning:
                return Outcome("ok")  # as good as an enter in the last round
            except OutcomeUnknown:
                inside = False
            self._entering = None
            if inside:
                self._leave(patience)
        elif self._leaving is not None:
            with suppress(StillRunning, NotDone, OutcomeUnknown):
                self._finish_leaving(patience)
        return Outcome("ok")

    def _leave(self, timeout: float) -> Outcome:
        told = self._session()
        self._leaving = PatientCall(lambda: self._barrier.leave(timeout))
        try:
            left = self._finish_leaving(timeout + OVERDUE_S)
        except StillRunning:
            return Outcome("info", error="has not returned yet")
        except NotDone as error:
            return Outcome("fail", error=str(error))
        except OutcomeUnknown as error:
            return Outcome("info", error=str(error))
        if not left:
            return Outcome("info", error="has left, but others have not yet")
        return Outcome("ok", told)

    def _finish_leaving(self, patience: float) -> bool:
        """Wait for the leave that runs.

        Raises:
            StillRunning: it goes on; ask again.
            NotDone, OutcomeUnknown: as ``leave``.
        """
        call, self._leaving = self._leaving, None
        assert call is not None, "there is one"
        try:
            return call.result(patience)
        except StillRunning:
            self._leaving = call
            raise

    def _session(self) -> dict[str, str | None]:
        session = self._barrier.session
        return {"session": None if session is None else f"0x{session & 0xFFFFFFFFFFFFFFFF:x}"}


def client(recipe: str, path: str, clients: int) -> Callable[[ClientContext], DoubleBarrierClient]:
    """Makes the client's side for one recipe; all clients are parties."""
    kind = DOUBLE_BARRIERS[recipe].recipe

    def build(context: ClientContext) -> DoubleBarrierClient:
        def connected(session: str | None) -> bool:
            return context.kazoo.connected and context.session() == session

        barrier = kind(context.kazoo, path, clients, grace=GRACE_S)
        return DoubleBarrierClient(barrier, connected)

    return build


def judge_double_barrier(evidence: Evidence) -> Verdict:
    """Nobody was in before all had come, nobody out before all had left, and nobody sleeps on."""
    history = evidence.history
    checks = [check_barrier_rounds(history, max(1, history.clients), session_ends(evidence))]
    words = (WORDS.acquire, WORDS.release)
    unknown = any(call.outcome == "info" for call in history.operations() if call.invoke.f in words)
    if not checks[0].anomalies and not unknown:  # else the model is held to it by a long search
        checks.append(check_model_too(history))
    holds, server = evidence.holds(WORDS), server_sessions(evidence)
    checks.append(check_lateness(history, holds, server, WORDS))
    checks.append(check_entitlement(history, holds, server, WORDS))
    checks.append(check_timeouts(history, grace=GRACE_S))
    checks.append(check_waiters(history, [WORDS.acquire, WORDS.release]))
    left = sum(op.f == WORDS.release and op.type == "ok" for op in history)
    return judge_exercised(
        evidence,
        checks,
        happened=[
            Requirement("rounds that were passed", LEAST_ROUNDS, left // max(1, history.clients))
        ],
        expiries=evidence.expiries,
        expired="expired sessions",
    )


def server_sessions(evidence: Evidence) -> ServerView | None:
    """When sessions ended by the servers' logs; None when these are not at hand."""
    if evidence.truth is None or evidence.clock is None:
        return None
    return server_view(evidence.truth, evidence.clock, kind="pool", path=evidence.path)


def session_ends(evidence: Evidence) -> dict[str, int]:
    """By when sessions had certainly ended; those of which it is not known are missing."""
    truth, clock = evidence.truth, evidence.clock
    if truth is None or clock is None:
        return {}
    return {
        name: clock.monotonic(life.closed_ms) + CLOCK_SLACK_NS
        for name, life in truth.sessions().items()
        if life.closed_ms is not None and clock.sure_of(life.closed_ms)
    }


def check_model_too(history: History) -> CheckResult:
    """Hold the operations against the model; who completed last says what kind it is."""
    result = check_model(history, MODEL, "early-entry", initial=max(1, history.clients))
    by_index = {op.index: op for op in history}
    for anomaly in result.anomalies:
        done = [by_index[index] for index in anomaly.ops if by_index[index].type == "ok"]
        if done and max(done, key=lambda op: op.time).f == WORDS.release:
            anomaly.kind = "early-exit"
    return result


DOUBLE_BARRIER = Workload(
    name="double-barrier",
    summary="all clients go into a barrier together and out together, round after round",
    catalogue=DOUBLE_BARRIERS,
    path="/rumpus/double-barrier",
    build="rumpus.workloads.double_barrier:client",
    model="double-barrier",
    words=WORDS,
    load=load,
    final=final,
    cleanup={},
    judge=judge_double_barrier,
    sized=True,
    requests=("write", "read"),
)
