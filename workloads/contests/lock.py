"""Locks: clients contend, act on a protected resource while they hold, and let go.

Operations: ``acquire`` {timeout} -> {session, token, node}; ``work`` {acts, pause}: some
actions on the witness, each after a look whether the lock is still held; ``release``.

Where the recipe gives sequencers ``acquire`` also returns its ``sequencer``, and there is
``verify`` {sequencer} -> {valid}. Where it has a fence ``work`` also writes through that
(``workloads.contests.fenced_client``).
"""

from collections.abc import Callable
from typing import Any

from rumpus.checker.deciders.locks.fenced_mutex import FENCED_MUTEX
from rumpus.checker.deciders.locks.mutex import MUTEX
from rumpus.checker.exclusion.fence import check_fence
from rumpus.checker.exclusion.lock_delay import check_lock_delay
from rumpus.checker.exclusion.sequencers import check_sequencers
from rumpus.checker.holds import Words
from rumpus.checker.verdict import CheckResult, Requirement, Verdict
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.generators.generator import Generator
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.lock.catalogue import LOCKS
from rumpus.recipes.lock.fenced_lock import FencedLock
from rumpus.recipes.lock.kazoo_lease import KazooLease
from rumpus.recipes.lock.sequencer import SequencerLock
from rumpus.recipes.lock.validity_lock import ValidityLock
from rumpus.workloads.contests.contention import ContentionClient, final, load
from rumpus.workloads.contests.fenced_client import FencedClient, data_path
from rumpus.workloads.contests.sequencer_client import SequencerClient, Verifying
from rumpus.workloads.framework.judgement import Evidence, judge_contention
from rumpus.workloads.framework.workload import Workload

WORDS = Words(acquire="acquire", work="work", release="release", thing="lock")

LEAST_WRITES = 20
"""How many writes behind the fence make a run meaningful."""

LEAST_ANSWERS = 5
"""How many sequencers must have been called valid, and how many stale."""


ONE_LONG_IN = 60
"""How many holds there are for each long one, which takes most of the time all the same."""


def client(recipe: str, path: str) -> Callable[[ClientContext], ContentionClient]:
    """Makes the client's side for one recipe."""
    kind = LOCKS[recipe].recipe

    def build(context: ClientContext) -> ContentionClient:
        lock = kind(context.kazoo, path, name=f"c{context.client}")

        def held() -> bool | float:
            if isinstance(lock, ValidityLock | KazooLease):
                return lock.remaining() or False
            return lock.held

        contention: dict[str, Any] = {
            "acquire": lock.acquire,
            "release": lock.release,
            "held": held,
            "grant": lock,
            "line": kind.line(path),
        }
        if isinstance(lock, FencedLock):
            return FencedClient(
                context, WORDS, fence=lock.fence, data=data_path(path), **contention
            )
        if isinstance(lock, SequencerLock):
            return SequencerClient(context, WORDS, lock=lock, **contention)
        return ContentionClient(context, WORDS, **contention)

    return build


def _load(setting: WorkloadContext) -> Generator:
    """Where a hold ends by itself some are long: that is when the end matters."""
    prevents = setting.recipe.promises.prevents
    longest = 2 * setting.session_timeout if "stale-belief" in prevents else 0.0
    contention = load(WORDS, setting, longest=longest, one_in=ONE_LONG_IN)
    if "stale-sequencer" not in prevents:
        return contention
    return Verifying(contention, setting.seed.child("verify"), WORDS, setting.until)


def _judge(evidence: Evidence) -> Verdict:
    history, promises = evidence.history, evidence.promises
    more: list[CheckResult] = []
    happened: list[Requirement] = []
    looks = promises.fenced or promises.lock_delay or "stale-sequencer" in promises.prevents
    holds = evidence.holds(WORDS) if looks else []
    if promises.fenced:
        fence = check_fence(history, holds, WORDS.work, evidence.truth, data_path(evidence.path))
        more.append(fence)
        happened.append(
            Requirement("writes through the fence", LEAST_WRITES, fence.stats["writes"])
        )
    if promises.lock_delay:
        more.append(
            check_lock_delay(
                history,
                holds,
                evidence.truth,
                evidence.clock,
                evidence.path,
                promises.lock_delay,
            )
        )
    if "stale-sequencer" in promises.prevents:
        sequencers = check_sequencers(
            history, holds, WORDS, evidence.truth, evidence.clock, evidence.path
        )
        more.append(sequencers)
        happened += [
            Requirement(
                f"sequencers that were called {what}",
                LEAST_ANSWERS,
                sequencers.stats[f"called_{what}"],
            )
            for what in ("valid", "stale")
        ]
    model = FENCED_MUTEX if promises.tokens else MUTEX
    return judge_contention(
        evidence, WORDS, nobody="deadlock", more=more, happened=happened, model=model
    )


LOCK = Workload(
    name="lock",
    summary="clients contend for one lock and act on what it protects",
    catalogue=LOCKS,
    path="/rumpus/lock",
    build="rumpus.workloads.contests.lock:client",
    model="mutex",
    words=WORDS,
    load=_load,
    final=lambda setting: final(WORDS, setting),
    cleanup={WORDS.acquire: WORDS.release},
    judge=_judge,
    contended=True,
    timed_actions=True,
)
