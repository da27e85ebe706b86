"""A read-write lock: clients read together or write alone, and let go.

Operations: ``acquire`` {timeout, mode} -> {session, token, node}; ``work`` {acts, pause}: some
actions on the witness, each after a look whether the lock is still held; ``release``. Where
holders can be asked to let go also ``revoke`` -> {asked: nodes of those who held it and were
asked}, and ``work`` {bound, heeds, busy} -> {acts, asked}: act until asked, or until ``bound``
seconds are over; for the first ``busy`` seconds without a look whether anybody asks. Who does not
heed goes on for a while although it was asked.
"""

import time
from collections.abc import Callable
from typing import Any, Final

import msgspec

from rumpus.checker.deciders.locks.read_write_lock import READ_WRITE_LOCK
from rumpus.checker.exclusion.grants import check_tokens
from rumpus.checker.exclusion.revocation import check_revocations
from rumpus.checker.history import Op, Process
from rumpus.checker.holds import Words
from rumpus.checker.verdict import Verdict
from rumpus.harness.clients.client_body import ClientContext, Outcome
from rumpus.harness.generators.combinators import each_process
from rumpus.harness.generators.generator import PENDING, Answer, Context, Generator, Invocation
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld, Recipe
from rumpus.recipes.promises import Line
from rumpus.recipes.read_write.catalogue import READ_WRITE_LOCKS
from rumpus.recipes.read_write.read_write_lock import ReadWriteLock
from rumpus.recipes.read_write.revocable_lock import RevocableReadWriteLock
from rumpus.workloads.contests.contention import CUT_OFF_NS, ContentionClient, final, load
from rumpus.workloads.framework.judgement import Evidence, judge_contention
from rumpus.workloads.framework.workload import Workload

WORDS = Words(acquire="acquire", work="work", release="release", thing="lock")

MODES: Final = ("read", "write", "read", "write", "read")
"""What attempts are drawn from; and in the end, what each client asks for."""

HOLD_BOUND_S: Final = 8.0
"""How long a holder whom nobody asks goes on."""

SLICE_S: Final = 0.2
"""How often a holder acts meanwhile."""

BUSY_S: Final = 0.5
"""How long some holders act before they first look whether they were asked.

Else requests hardly ever come before the first look: a look follows a grant at once.
"""

DEFIANCE_S: Final = 0.4
"""How long one who does not heed goes on after it was asked."""

LEARNING_S: Final = 5.0
"""How long a connected holder may take to learn that it was asked.

Longer than a session lives, and than a follower that is cut off from its leader goes on serving
what is out of date (``CUT_OFF_NS``).
"""


class ReadWriteClient(ContentionClient):
    """The client's side: holds one side of a lock at a time."""

    def __init__(self, context: ClientContext, lock: ReadWriteLock, line: Line) -> None:
        super().__init__(
            context,
            WORDS,
            acquire=self._acquire_side,
            release=lock.release,
            held=lambda: lock.held,
            grant=lock,
            line=line,
        )
        self._lock = lock
        self._mode: Any = "write"

    def invoke(self, f: str, value: Any) -> Outcome:
        """Run one operation; see the module."""
        if f == WORDS.acquire:
            self._mode = value["mode"]
        elif f == "revoke":
            return self._do_revoke()
        elif f == WORDS.work and "bound" in value:
            return self._work_until_asked(value["bound"], value["busy"], heeds=value["heeds"])
        return super().invoke(f, value)

    def _acquire_side(self, timeout: float) -> bool:
        return self._lock.acquire(self._mode, timeout)

    def _do_revoke(self) -> Outcome:
        try:
            asked = self._revocable.revoke()
        except LockUnknown as error:
            return Outcome("info", error=str(error))
        return Outcome("ok", {"asked": list(asked)})

    def _work_until_asked(self, bound: float, busy: float, *, heeds: bool) -> Outcome:
        lock = self._revocable
        acts, asked = 0, False
        looks_from = time.monotonic() + busy
        until = time.monotonic() + bound
        while (now := time.monotonic()) < until:
            if not lock.held:
                return Outcome("fail", {"acts": acts}, "no longer held")
            if not self._context.act(lock.token).accepted:
                return Outcome("fail", {"acts": acts}, "refused by the fence")
            acts += 1
            patience = min(SLICE_S, until - now)
            if asked or now < looks_from:
                time.sleep(patience)
                continue
            try:
                asked = lock.asked(patience)
            except NotHeld as error:
                return Outcome("fail", {"acts": acts}, str(error))
            except LockUnknown:
                continue  # look again, as long as the lock is held
            if asked:
                until = time.monotonic() + (0.0 if heeds else DEFIANCE_S)
        return Outcome("ok", {"acts": acts, "asked": asked})

    @property
    def _revocable(self) -> RevocableReadWriteLock:
        assert isinstance(self._lock, RevocableReadWriteLock), "only such workloads revoke"
        return self._lock


def client(recipe: str, path: str) -> Callable[[ClientContext], ReadWriteClient]:
    """Makes the client's side for one recipe."""
    kind = READ_WRITE_LOCKS[recipe].recipe

    def build(context: ClientContext) -> ReadWriteClient:
        lock = kind(context.kazoo, path, name=f"c{context.client}")
        return ReadWriteClient(context, lock, kind.line(path))

    return build


class AskingCycle(msgspec.Struct, frozen=True):
    """One process's load where holders let go when asked: whoever waits in vain asks.

    Acquire; if granted work until asked and release; else ask the holders to let go, and again.
    """

    seed: Seed
    until: int
    modes: tuple[str, ...]
    stage: str = "acquire"

    def op(self, ctx: Context) -> Answer:
        """The next step, when the process is free."""
        process = ctx.next_free()
        if process is None:
            return PENDING, self
        if self.stage == "acquire" and ctx.time >= self.until:
            return None
        return Invocation(self.stage, self._value(), process, ctx.time), self

    def update(self, ctx: Context, event: Op) -> Generator:  # noqa: ARG002 - the protocol's
        """What comes next depends on what came of this."""
        if event.type == "invoke":
            return self
        if event.f == WORDS.acquire:
            stage = WORDS.work if event.type == "ok" else "revoke"
        else:
            stage = WORDS.release if event.f == WORDS.work else WORDS.acquire
        return AskingCycle(self.seed.next()[1], self.until, self.modes, stage)

    def _value(self) -> dict[str, Any] | None:
        dice, rest = self.seed.below(4)
        if self.stage == WORDS.acquire:
            patience = 0.05 + 0.5 * rest.uniform()[0]
            return {"timeout": round(patience, 3), "mode": rest.child("mode").choose(self.modes)[0]}
        if self.stage == WORDS.work:
            busy = BUSY_S if rest.child("busy").below(8)[0] == 0 else 0.0
            return {"bound": HOLD_BOUND_S, "heeds": dice > 0, "busy": busy}
        return None


def _load(setting: WorkloadContext) -> Generator:
    if not _revocable(setting.recipe):
        return load(WORDS, setting, MODES)

    def cycle(process: Process) -> AskingCycle:
        # One client only ever writes: were all to read, nobody would be left to ask.
        writes = isinstance(process, int) and process % setting.clients == 0
        modes = ("write",) if writes else MODES
        return AskingCycle(setting.seed.child(process), setting.until, modes)

    return each_process(cycle)


def _revocable(recipe: type[Recipe]) -> bool:
    return issubclass(recipe, ReadWriteLock) and recipe.revocable


def _judge(evidence: Evidence) -> Verdict:
    # Only writers have tokens, so the lock as a whole does not promise any that a fence can use.
    more = [check_tokens(evidence.history, evidence.holds(WORDS))]
    if "missed-revocation" in evidence.promises.prevents:
        patience = int(LEARNING_S * 1e9)
        more.append(check_revocations(evidence.history, WORDS, patience))
    return judge_contention(
        evidence,
        WORDS,
        nobody="deadlock",
        prompt=True,
        tolerance=CUT_OFF_NS,
        more=more,
        model=READ_WRITE_LOCK,
    )


READ_WRITE = Workload(
    name="read-write",
    summary="clients read together or write alone under one lock, or ask its holders to let go",
    catalogue=READ_WRITE_LOCKS,
    path="/rumpus/read-write",
    build="rumpus.workloads.contests.read_write:client",
    model="read-write-lock",
    words=WORDS,
    load=_load,
    final=lambda setting: final(WORDS, setting, MODES),
    cleanup={WORDS.acquire: WORDS.release},
    judge=_judge,
    contended=True,
    timed_actions=True,
)
