"""Ephemeral znodes: there while the session that made them lives, and gone after it.

Operations: ``create`` {name} -> {name, session}; ``remove`` {name}, of the own session;
``look`` -> {owners: {name: session}, session}, by what was committed before the call.
"""

from collections.abc import Callable
from typing import Any

from rumpus.checker.holds import Words
from rumpus.checker.verdict import Verdict
from rumpus.checker.znodes.ephemeral_lives import check_ephemerals
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.generators.seed import Seed
from rumpus.recipes.znodes.catalogue import EPHEMERALS
from rumpus.workloads.framework.judgement import Evidence
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.znodes.znode_client import REFUSED, ZnodeClient, hexadecimal
from rumpus.workloads.znodes.znode_judgement import judge_znodes
from rumpus.workloads.znodes.znode_load import final, load, pick

WORDS = Words(acquire="create", work="look", release="remove", thing="ephemeral node")
NAMES = tuple(f"e{number}" for number in range(8))
LEAST = 100


def client(recipe: str, path: str) -> Callable[[ClientContext], ZnodeClient]:
    """Makes the client's side for one recipe."""

    def build(context: ClientContext) -> ZnodeClient:
        nodes = EPHEMERALS[recipe].recipe(context.kazoo, path)

        def create(value: Any) -> Any:
            session = nodes.create(value["name"])
            if session is None:
                return REFUSED
            return {"name": value["name"], "session": hexadecimal(session)}

        def remove(value: Any) -> Any:
            return value if nodes.remove(value["name"]) else REFUSED

        def look(_: Any) -> Any:
            owners, session = nodes.owners()
            told = {name: hexadecimal(owner) if owner else None for name, owner in owners.items()}
            return {"owners": told, "session": hexadecimal(session)}

        return ZnodeClient(nodes, {"create": create, "remove": remove, "look": look})

    return build


def draw(_number: int, seed: Seed) -> tuple[str, Any]:
    """Names are shared, so that clients come into each other's way."""
    f = pick(seed, ((3, "create"), (2, "remove"), (3, "look")))
    return f, None if f == "look" else {"name": seed.child("name").choose(NAMES)[0]}


def judge_ephemerals(evidence: Evidence) -> Verdict:
    """Never gone before their session, never there after it."""
    history = evidence.history
    answered = sum(op.type == "ok" for op in history if isinstance(op.process, int))
    found = check_ephemerals(history, evidence.truth, evidence.clock)
    return judge_znodes(evidence, [found], answered=answered, least=LEAST)


EPHEMERAL = Workload(
    name="ephemeral",
    summary="clients make ephemeral znodes, remove their own, and look at all of them",
    catalogue=EPHEMERALS,
    path="/rumpus/ephemeral",
    build="rumpus.workloads.znodes.ephemeral:client",
    model="ephemeral",
    words=WORDS,
    load=lambda setting: load(setting, draw),
    final=lambda _: final(("look", None)),
    cleanup={},
    plain=True,
    judge=judge_ephemerals,
)
