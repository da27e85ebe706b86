"""Locks: clients contend, act on a protected resource while they hold, and let go.

Operations: ``acquire`` {timeout} -> {session, token, node}; ``work`` {acts, pause}: some
actions on the witness, each after a look whether the lock is still held; ``release``.
"""

from collections.abc import Callable

from checker.holds import Words
from harness.client_body import ClientContext
from harness.generator import Generator
from recipes.catalogue.locks import LOCKS
from recipes.validity_lock import ValidityLock
from workloads.contention import ContentionClient, final, load
from workloads.judgement import judge_contention
from workloads.workload import Setting, Workload

WORDS = Words(acquire="acquire", work="work", release="release", thing="lock")


def client(recipe: str, path: str) -> Callable[[ClientContext], ContentionClient]:
    """Makes the client's side for one recipe."""
    kind = LOCKS[recipe]

    def build(context: ClientContext) -> ContentionClient:
        lock = kind(context.kazoo, path, name=f"c{context.client}")
        return ContentionClient(
            context,
            WORDS,
            acquire=lock.acquire,
            release=lock.release,
            held=(lambda: lock.remaining() or False)
            if isinstance(lock, ValidityLock)
            else (lambda: lock.held),
            grant=lock,
            line=kind.line(path),
        )

    return build


def _load(setting: Setting) -> Generator:
    """Where a hold ends by itself some are long: that is when the end matters."""
    ends_by_itself = "stale-belief" in setting.recipe.promises.prevents
    return load(WORDS, setting, longest=3 * setting.session_timeout if ends_by_itself else 0.0)


LOCK = Workload(
    name="lock",
    summary="clients contend for one lock and act on what it protects",
    recipes=LOCKS,
    path="/rumpus/lock",
    build="workloads.lock:client",
    model="mutex",
    words=WORDS,
    load=_load,
    final=lambda setting: final(WORDS, setting),
    cleanup={WORDS.acquire: WORDS.release},
    judge=lambda evidence: judge_contention(evidence, WORDS, nobody="deadlock"),
)
