"""Numbers that are unique and only grow: ``generate`` -> a number."""

from collections.abc import Callable
from typing import Any

from rumpus.checker.deciders.agreement.unique_ids import UNIQUE_IDS
from rumpus.checker.every_run.model_check import check_model
from rumpus.checker.families.growing_numbers import check_growth
from rumpus.checker.holds import Words
from rumpus.checker.verdict import Verdict
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.generators.seed import Seed
from rumpus.recipes.znodes.catalogue import SEQUENCES
from rumpus.workloads.framework.judgement import Evidence
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.znodes.znode_client import ZnodeClient
from rumpus.workloads.znodes.znode_judgement import judge_znodes
from rumpus.workloads.znodes.znode_load import final, load

WORDS = Words(acquire="generate", work="", release="", thing="number")
LEAST = 100


def client(recipe: str, path: str) -> Callable[[ClientContext], ZnodeClient]:
    """Makes the client's side for one recipe."""

    def build(context: ClientContext) -> ZnodeClient:
        sequence = SEQUENCES[recipe].recipe(context.kazoo, path)
        return ZnodeClient(sequence, {"generate": lambda _: sequence.generate()})

    return build


def draw(_number: int, _seed: Seed) -> tuple[str, Any]:
    """There is one operation."""
    return "generate", None


def judge_sequences(evidence: Evidence) -> Verdict:
    """No number twice, and later ones larger."""
    history = evidence.history
    answered = sum(op.type == "ok" for op in history if isinstance(op.process, int))
    unique = check_model(history, UNIQUE_IDS, "duplicate-sequence")
    checks = [unique, check_growth(history, "generate")]
    return judge_znodes(evidence, checks, answered=answered, least=LEAST)


SEQUENCE = Workload(
    name="sequence",
    summary="clients draw numbers that are unique and only grow",
    catalogue=SEQUENCES,
    path="/rumpus/sequence",
    build="rumpus.workloads.znodes.sequence:client",
    model="unique-ids",
    words=WORDS,
    load=lambda setting: load(setting, draw),
    final=lambda _: final(("generate", None)),
    cleanup={},
    plain=True,
    requests=("write",),
    judge=judge_sequences,
)
