"""Counters: clients add one and read, a few counters in turn; at the end everybody reads all.

Operations, on the counter ``key``: ``add`` {key, value, timeout} -> {key, value}: the total after
it; ``read`` {key, timeout} -> {key, value}: the total. An addition of unknown outcome is tried
again, under its own key, until it is known or the time is over.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from rumpus.checker.deciders.registers.counter import COUNTER as MODEL
from rumpus.checker.every_run.final_answers import check_final_answers
from rumpus.checker.every_run.model_check import check_model
from rumpus.checker.families.counter_totals import check_totals
from rumpus.checker.history import History, Op, final_phase
from rumpus.checker.holds import Words
from rumpus.checker.verdict import Requirement, Verdict
from rumpus.harness.clients.client_body import ClientContext, Outcome
from rumpus.harness.generators.combinators import (
    each_process,
    each_thread,
    limit,
    phases,
    repeat,
    until_ok,
)
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
from rumpus.recipes.counter.catalogue import COUNTERS
from rumpus.recipes.counter.receipt_counter import AdditionUnknown, Counter
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.workloads.judgement import Evidence, judge_exercised
from rumpus.workloads.patient_call import PatientCall, StillRunning
from rumpus.workloads.workload import Setting, Workload

WORDS = Words(acquire="add", work="count", release="read", thing="counter")

AMOUNTS = (1, 2, -1, 5, 1, -3, 1, 7)
"""What is added to each counter, always the same: then the model decides exactly."""

COUNTERS_IN_TURN = len(AMOUNTS)

TURN_S = 3.0
"""How long everybody adds to one counter before all go on to the next."""

PATIENCE_S = 1.5
"""How long calls may take: less than most faults, so that some come back while one lasts."""

TRIES = 8
"""How often a client asks in the final phase before it counts as stuck."""

TRY_S = 0.5
"""How long each try of an addition may take."""

GRACE_S = 0.5
"""By how much a recipe may run over these."""

OVERDUE_S = 1.5
"""By how much a call may run over its timeout before its client gives it up."""

LEAST_ADDITIONS = 100
"""How many additions make a run meaningful."""


class Counting(msgspec.Struct, frozen=True):
    """One process's load: three additions to one read, all at the counter whose turn it is."""

    seed: Seed
    until: int
    not_before: int = 0

    def op(self, ctx: Context) -> Answer:
        """The next operation, when it is due."""
        process = ctx.next_free()
        if process is None:
            return PENDING, self
        if ctx.time >= self.until:
            return None
        if ctx.time < self.not_before:
            return Pending(self.not_before), self
        key = ctx.time // int(TURN_S * SECOND) % COUNTERS_IN_TURN
        if self.seed.below(4)[0] == 0:
            value = {"key": key, "timeout": PATIENCE_S}
            return Invocation(WORDS.release, value, process, ctx.time), self
        value = {"key": key, "value": AMOUNTS[key], "timeout": PATIENCE_S}
        return Invocation(WORDS.acquire, value, process, ctx.time), self

    def update(self, ctx: Context, event: Op) -> Generator:
        """Rest a little."""
        if event.type == "invoke":
            return self
        share, seed = self.seed.next()[1].uniform()
        return Counting(seed, self.until, ctx.time + int((0.01 + 0.15 * share) * SECOND))


def load(setting: Setting) -> Generator:
    """All clients add and read until the time is up."""
    return each_process(lambda process: Counting(setting.seed.child(process), setting.until))


def final(setting: Setting) -> Generator:  # noqa: ARG001 - the workload's signature
    """Everybody reads every counter."""

    def insist(key: int) -> Generator:
        read = Invocation(WORDS.release, {"key": key, "timeout": PATIENCE_S})
        return each_thread(until_ok(limit(TRIES, repeat(read))))

    return phases(*(insist(key) for key in range(COUNTERS_IN_TURN)))


class CounterClient:
    """The client's side.

    Args:
        counters: a recipe object for each counter.
    """

    grants = ""
    ends = ""

    def __init__(self, counters: Sequence[Counter]) -> None:
        self._counters = counters

    def believes(self) -> bool:
        """Nobody holds anything."""
        return False

    def invoke(self, f: str, value: Any) -> Outcome:
        """Run one operation."""
        counter, timeout = self._counters[value["key"]], value["timeout"]
        if f == WORDS.acquire:
            call = PatientCall(lambda: _insist(counter, value["value"], timeout))
        elif f == WORDS.release:
            call = PatientCall(lambda: counter.read(timeout))
        else:
            raise ValueError(f"a client of this workload knows no operation {f!r}")
        try:
            total = call.result(timeout + OVERDUE_S)
        except StillRunning:
            return Outcome("info", error="has not returned yet")
        except OutcomeUnknown as error:
            return Outcome("info", error=str(error))
        except NotDone as error:
            return Outcome("fail", error=str(error))
        return Outcome("ok", {"key": value["key"], "value": total})


def _insist(counter: Counter, amount: int, timeout: float) -> int:
    """Add, and add again under the same key until the outcome is known or the time is over."""
    deadline = time.monotonic() + timeout
    key = ""
    while True:
        try:
            return counter.add(amount, TRY_S, key=key)
        except AdditionUnknown as unknown:
            key = unknown.key
            if time.monotonic() >= deadline:
                raise


def client(recipe: str, path: str) -> Callable[[ClientContext], CounterClient]:
    """Makes the client's side for one recipe."""
    kind = COUNTERS[recipe].recipe

    def build(context: ClientContext) -> CounterClient:
        name = f"c{context.client}"
        return CounterClient(
            [
                kind(context.kazoo, f"{path}/{key}", name=name, grace=GRACE_S)
                for key in range(COUNTERS_IN_TURN)
            ]
        )

    return build


def judge_counter(evidence: Evidence) -> Verdict:
    """What is read is what the additions make it."""
    history = evidence.history
    checks = [
        check_model(history, MODEL, "miscount", functions=[WORDS.acquire, WORDS.release]),
        check_totals(history, add=WORDS.acquire, read=WORDS.release),
        check_final_answers(history, TRIES),
    ]
    added = sum(op.f == WORDS.acquire and op.type == "ok" for op in history)
    return judge_exercised(
        evidence,
        checks,
        happened=[
            Requirement("additions", LEAST_ADDITIONS, added),
            Requirement(
                "counters read by everybody at the end",
                COUNTERS_IN_TURN * history.clients,
                final_reads(history),
            ),
        ],
        expiries=evidence.expiries,
        expired="expired sessions",
    )


def final_reads(history: History) -> int:
    """How many clients read how many counters in the final phase."""
    phase = final_phase(history)
    if phase is None:
        return 0
    return len(
        {
            (history.client_of(op.process), op.value["key"])
            for op in history
            if op.time >= phase.time
            and isinstance(op.process, int)
            and op.f == WORDS.release
            and op.type == "ok"
        }
    )


COUNTER = Workload(
    name="counter",
    summary="clients add to counters and read them; at the end everybody reads all",
    catalogue=COUNTERS,
    path="/rumpus/counter",
    build="rumpus.workloads.counter:client",
    model="counter",
    words=WORDS,
    load=load,
    final=final,
    cleanup={},
    judge=judge_counter,
    requests=("write", "read"),
)
