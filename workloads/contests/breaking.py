"""Breaking a lock: holders hang or die, and their locks are taken from them, rightly.

Operations: those of a lock, where ``work`` may ``hang`` for so many seconds with the session
alive, and tells the ``identity`` of who works. Besides:

``break`` {patience}: an operator has whoever stays first in line for so long put on the blacklist.
``die`` -> {identity, node, token}: the client declares that its process is dead. It holds and does
nothing more; its node stays, because its session is not closed. What goes on is the next
incarnation, which knows nothing of the node.
``free`` {dead, confirm} -> {freed, removed}: a supervisor looks who holds the lock, makes sure
(``confirm`` seconds) that it is one of the dead, and removes exactly what it saw.
``bury``: in the final phase each client removes what its own dead incarnations have left.
"""

import time
from collections.abc import Callable
from typing import Any, Final

from rumpus.checker.exclusion.blacklisting import Blacklisting, check_blacklisting
from rumpus.checker.exclusion.removals import check_removals, check_told_removals, removals
from rumpus.checker.history import History, Op
from rumpus.checker.holds import Words
from rumpus.checker.servers.server_truth import ServerTruth
from rumpus.checker.verdict import CheckResult, Requirement, Verdict
from rumpus.harness.clients.client_body import ClientContext, Outcome
from rumpus.harness.generators.combinators import each_thread, limit, phases, repeat, until_ok
from rumpus.harness.generators.generator import Generator, Invocation
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.breaking.breakable_lock import (
    BLACKLIST,
    BlacklistLock,
    BreakableLock,
    IdentityLock,
)
from rumpus.recipes.breaking.catalogue import BREAKABLE_LOCKS
from rumpus.recipes.contests.interfaces import LockUnknown
from rumpus.recipes.contests.line_view import Stand
from rumpus.recipes.promises import Line
from rumpus.workloads.contests.breaking_load import dying_load, hanging_load
from rumpus.workloads.contests.contention import ContentionClient, final
from rumpus.workloads.framework.judgement import Evidence, judge_contention
from rumpus.workloads.framework.workload import Workload

WORDS: Final = Words()

PATIENCE_S: Final = 3.0
"""How long an operator's request may take."""

QUICK: Final = "locks that passed on without waiting"
LEAST_QUICK: Final = 2
"""How many locks of those who hang, or have died, must have passed on before they had to."""


TOLD_NS: Final = 1_000_000_000
"""How long a holder may go on believing. It is short: what ends its session here is mostly its own
client, which knows; and holds that hang are over before a follower that is cut off matters."""


class BreakingClient(ContentionClient):
    """A client whose lock may be broken, and who breaks those of others.

    Args:
        context: the client's.
        make: makes a lock object: a new incarnation of this client.
        line: where contenders stand.
    """

    def __init__(
        self, context: ClientContext, make: Callable[[], BreakableLock], line: Line
    ) -> None:
        self._make = make
        self._lock = make()
        self._remains: list[Stand] = []
        super().__init__(
            context,
            WORDS,
            acquire=self._acquire_by_the_present,
            release=self._release_by_the_present,
            held=lambda: self._lock.held,
            grant=self,
            line=line,
        )

    def _acquire_by_the_present(self, timeout: float) -> bool:
        return self._lock.acquire(timeout)

    def _release_by_the_present(self) -> None:
        self._lock.release()

    @property
    def token(self) -> int | None:
        """Of the present incarnation's grant."""
        return self._lock.token

    @property
    def node(self) -> str | None:
        """Of the present incarnation's grant."""
        return self._lock.node

    @property
    def session(self) -> int | None:
        """Of the present incarnation's grant."""
        return self._lock.session

    def invoke(self, f: str, value: Any) -> Outcome:
        """Run one operation; what escapes is an unknown outcome."""
        try:
            match f:
                case "work":
                    return self._work(value)
                case "die":
                    return self._die()
                case "break":
                    return self._break(value["patience"])
                case "free":
                    return self._free(value["dead"], value["confirm"])
                case "bury":
                    return self._bury()
        except LockUnknown as error:
            return Outcome("info", error=str(error))
        return super().invoke(f, value)

    def _work(self, value: dict[str, Any]) -> Outcome:
        """Work; one who hangs does not look whether it still holds until it wakes up."""
        if "hang" in value:
            before = super().invoke("work", {**value, "acts": 1})
            if before.type != "ok":
                return before
            time.sleep(value["hang"])
        outcome = super().invoke("work", value)
        if isinstance(self._lock, IdentityLock):
            told = {**outcome.value, "identity": self._lock.identity}
            return Outcome(outcome.type, told, outcome.error)
        return outcome

    def _die(self) -> Outcome:
        dead = self._lock
        assert isinstance(dead, IdentityLock)
        self._lock = self._make()
        told = {"identity": dead.identity, "node": dead.node, "token": dead.token}
        if dead.node is not None and dead.session is not None and dead.token is not None:
            self._remains.append(
                Stand(dead.node, dead.session, dead.identity.encode(), 0, dead.token)
            )
        return Outcome("ok", told)

    def _break(self, patience: float) -> Outcome:
        lock = self._lock
        assert isinstance(lock, BlacklistLock)
        before = self._look()
        if before is None:
            return Outcome("fail", error="nobody holds it, or nobody can tell who")
        time.sleep(patience)
        now = self._look()
        if now is None or now.czxid != before.czxid:
            return Outcome("fail", error="the lock has passed on")
        lock.blacklist(now, PATIENCE_S)
        session = f"0x{now.session & 0xFFFFFFFFFFFFFFFF:x}"
        return Outcome("ok", {"session": session, "node": now.node, "token": now.czxid})

    def _free(self, dead: list[str], confirm: float) -> Outcome:
        lock = self._lock
        assert isinstance(lock, IdentityLock)
        stand = self._look()
        if stand is None:
            return Outcome("fail", error="nobody holds it, or nobody can tell who")
        identity = lock.identity_of(stand)
        if identity not in dead:
            return Outcome("ok", {"freed": None, "removed": False})
        time.sleep(confirm)
        removed = lock.free(stand, PATIENCE_S)
        return Outcome("ok", {"freed": identity, "node": stand.node, "removed": removed})

    def _look(self) -> Stand | None:
        try:
            return self._lock.holder(PATIENCE_S)
        except LockUnknown:  # only a look: nothing has happened
            return None

    def _bury(self) -> Outcome:
        lock = self._lock
        if isinstance(lock, IdentityLock):
            while self._remains:
                lock.free(self._remains[-1], PATIENCE_S)
                self._remains.pop()
        return Outcome("ok")


def client(recipe: str, path: str) -> Callable[[ClientContext], BreakingClient]:
    """Makes the client's side for one recipe."""
    kind = BREAKABLE_LOCKS[recipe].recipe

    def build(context: ClientContext) -> BreakingClient:
        name = f"c{context.client}"

        def make() -> BreakableLock:
            if issubclass(kind, BlacklistLock):
                return kind(context.kazoo, path, name=name, condemned=context.look_at_belief)
            return kind(context.kazoo, path, name=name)

        return BreakingClient(context, make, kind.line(path))

    return build


def load(setting: WorkloadContext) -> Generator:
    """Holders hang where sessions are put on a list, and die where the dead are freed."""
    hung = issubclass(setting.recipe, BlacklistLock)
    return (hanging_load if hung else dying_load)(WORDS, setting)


def last(setting: WorkloadContext) -> Generator:
    """The dead are buried; then as for every lock."""
    bury = each_thread(until_ok(limit(8, repeat(Invocation("bury")))))
    return phases(bury, final(WORDS, setting))


def judge(evidence: Evidence) -> Verdict:
    """As for every lock; besides, whose hand took locks away, and whether that was quick."""
    history = evidence.history
    named = [
        Blacklisting(op.time, op.value["session"], op.value["node"])
        for op in _done(history, "break")
    ]
    removed = [op for op in _done(history, "free") if op.value["removed"]]
    declared = {
        operation.completion.value["token"]: operation.invoke.time
        for operation in history.operations()
        if operation.invoke.f == "die" and operation.outcome == "ok" and operation.completion
    }
    if evidence.truth is None or evidence.clock is None or evidence.line is None:
        silent = CheckResult(name="removals")
        if named or removed:
            silent.unknown.append("without the servers' logs nobody can tell how locks passed on")
        quick = Requirement(QUICK, LEAST_QUICK, len(named) + len(removed))
        return judge_contention(
            evidence,
            WORDS,
            "deadlock",
            more=[silent],
            happened=[quick],
            dismissed={entry.session for entry in named},
        )
    line = evidence.line
    found = removals(evidence.truth, evidence.clock, line.path, line.mark)
    checks = [
        check_removals(history, found, declared),
        check_told_removals(history, evidence.truth, evidence.clock, line.path, "free"),
    ]
    if "missed-revocation" in evidence.promises.prevents:
        obeyed = check_blacklisting(history, named, evidence.truth, evidence.clock)
        checks.append(obeyed)
        quickly = obeyed.stats["obeyed within their hang"]
    else:
        quickly = sum(
            removal.time < declared[removal.life.czxid] + evidence.session_timeout * 1e9
            for removal in found
            if removal.life.czxid in declared
        )
    return judge_contention(
        evidence,
        WORDS,
        "deadlock",
        more=checks,
        happened=[Requirement(QUICK, LEAST_QUICK, quickly)],
        tolerance=TOLD_NS,
        dismissed=_listed(evidence.truth, line.path),
    )


def _listed(truth: ServerTruth, path: str) -> set[str]:
    """The sessions that were put on the list, whether or not that was acknowledged."""
    below = f"{path}/{BLACKLIST}/"
    return {life.path.removeprefix(below) for life in truth.znodes(below.rstrip("/"))}


def _done(history: History, f: str) -> list[Op]:
    """The completions of those operations that were ok."""
    return [
        operation.completion
        for operation in history.operations()
        if operation.invoke.f == f and operation.outcome == "ok" and operation.completion
    ]


BREAKING = Workload(
    name="breaking",
    summary="holders hang or die, and their locks are taken from them without waiting",
    catalogue=BREAKABLE_LOCKS,
    path="/rumpus/breaking",
    build="rumpus.workloads.contests.breaking:client",
    model="mutex",
    words=WORDS,
    load=load,
    final=last,
    cleanup={WORDS.acquire: WORDS.release},
    judge=judge,
    contended=True,
)
