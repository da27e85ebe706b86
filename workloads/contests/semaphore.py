"""A semaphore: clients contend for a few permits, act while they hold one, and give it back.

Operations: ``acquire`` {timeout} -> {session, token, node}; ``work`` {acts, pause}: some
actions on the witness, each after a look whether the permit is still held; ``release``.
"""

from collections.abc import Callable
from typing import Final

from rumpus.checker.deciders.locks.semaphore import SEMAPHORE as MODEL
from rumpus.checker.holds import Words
from rumpus.harness.clients.client_body import ClientContext
from rumpus.recipes.semaphore.catalogue import SEMAPHORES
from rumpus.workloads.contests.contention import CUT_OFF_NS, ContentionClient, final, load
from rumpus.workloads.framework.judgement import judge_contention
from rumpus.workloads.framework.workload import Workload

WORDS = Words(acquire="acquire", work="work", release="release", thing="permit")

PERMITS: Final = 2
"""How many clients may hold at once."""

LONGEST_HOLD_S: Final = 5.0
"""A few hold for up to so long: who waits is let in by whoever else goes, and must be told."""

ONE_LONG_IN: Final = 60
"""How few: while all permits are held for long nothing else happens."""


def client(recipe: str, path: str) -> Callable[[ClientContext], ContentionClient]:
    """Makes the client's side for one recipe."""
    kind = SEMAPHORES[recipe].recipe

    def build(context: ClientContext) -> ContentionClient:
        semaphore = kind(context.kazoo, path, PERMITS, name=f"c{context.client}")
        return ContentionClient(
            context,
            WORDS,
            acquire=semaphore.acquire,
            release=semaphore.release,
            held=lambda: semaphore.held,
            grant=semaphore,
            line=kind.line(path),
        )

    return build


SEMAPHORE = Workload(
    name="semaphore",
    summary=f"clients contend for {PERMITS} permits and act while they hold one",
    catalogue=SEMAPHORES,
    path="/rumpus/semaphore",
    build="rumpus.workloads.contests.semaphore:client",
    model="semaphore",
    words=WORDS,
    load=lambda setting: load(WORDS, setting, longest=LONGEST_HOLD_S, one_in=ONE_LONG_IN),
    final=lambda setting: final(WORDS, setting, permits=PERMITS),
    cleanup={WORDS.acquire: WORDS.release},
    judge=lambda evidence: judge_contention(
        evidence,
        WORDS,
        nobody="deadlock",
        permits=PERMITS,
        prompt=True,
        tolerance=CUT_OFF_NS,
        model=MODEL,
    ),
    contended=True,
    timed_actions=True,
)
