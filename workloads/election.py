"""Elections: clients campaign, act as leader on what only a leader may touch, and resign.

Operations: ``campaign`` {timeout} -> {session, token, node}; ``lead`` {acts, pause}: some
actions on the witness, each after a look whether it still leads; ``resign``.
"""

from collections.abc import Callable

from checker.holds import Words
from harness.client_body import ClientContext
from recipes.catalogue.elections import ELECTIONS
from workloads.contention import ContentionClient, final, load
from workloads.judgement import judge_contention
from workloads.workload import Workload

WORDS = Words(acquire="campaign", work="lead", release="resign", thing="leadership")


def client(recipe: str, path: str) -> Callable[[ClientContext], ContentionClient]:
    """Makes the client's side for one recipe."""
    kind = ELECTIONS[recipe]

    def build(context: ClientContext) -> ContentionClient:
        election = kind(context.kazoo, path, name=f"c{context.client}")
        return ContentionClient(
            context,
            WORDS,
            acquire=election.campaign,
            release=election.resign,
            held=lambda: election.leading,
            grant=election,
            line=kind.line(path),
        )

    return build


ELECTION = Workload(
    name="election",
    summary="clients campaign, act as leader, and resign",
    recipes=ELECTIONS,
    path="/rumpus/election",
    build="workloads.election:client",
    model="leader-election",
    words=WORDS,
    load=lambda setting: load(WORDS, setting),
    final=lambda setting: final(WORDS, setting),
    cleanup={WORDS.acquire: WORDS.release},
    judge=lambda evidence: judge_contention(evidence, WORDS, nobody="leaderless"),
)
