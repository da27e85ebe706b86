"""Logs, each in one znode: pieces are appended, and all of a log is read.

Operations, both with a ``key``: ``append`` {value: piece}; ``read`` -> {value: [piece, ...]}.
"""

from collections.abc import Callable
from typing import Any

from rumpus.checker.deciders.registers.append_only_register import APPEND
from rumpus.checker.every_run.model_check import check_model
from rumpus.checker.holds import Words
from rumpus.checker.verdict import Verdict
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.generators.generator import Generator
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.znodes.catalogue import APPEND_LOGS
from rumpus.workloads.framework.judgement import Evidence
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.znodes.znode_client import ZnodeClient
from rumpus.workloads.znodes.znode_judgement import judge_znodes
from rumpus.workloads.znodes.znode_load import final, load, pick

WORDS = Words(acquire="append", work="read", release="", thing="log")
PIECES = 200
"""How many operations are about one log, so that none grows long."""
LEAST = 100


def client(recipe: str, path: str) -> Callable[[ClientContext], ZnodeClient]:
    """Makes the client's side for one recipe."""

    def build(context: ClientContext) -> ZnodeClient:
        log = APPEND_LOGS[recipe].recipe(context.kazoo, path)

        def append(value: Any) -> Any:
            log.append(value["key"], value["value"])
            return value

        def read(value: Any) -> Any:
            return {"key": value["key"], "value": log.read(value["key"])}

        return ZnodeClient(log, {"append": append, "read": read})

    return build


def draw(number: int, seed: Seed) -> tuple[str, Any]:
    """An operation on the log whose turn it is."""
    f = pick(seed, ((3, "append"), (1, "read")))
    key = {"key": f"l{number // PIECES}"}
    return f, ({**key, "value": f"p{number}"} if f == "append" else key)


def judge_logs(evidence: Evidence) -> Verdict:
    """Linearizable log by log."""
    history = evidence.history
    answered = sum(op.type == "ok" for op in history if isinstance(op.process, int))
    found = check_model(history, APPEND, "not-linearizable")
    return judge_znodes(evidence, [found], answered=answered, least=LEAST)


def log_load(setting: WorkloadContext) -> Generator:
    """Appends and reads, log after log."""
    return load(setting, draw)


APPENDS = Workload(
    name="append",
    summary="clients append to logs in single znodes, and read them",
    catalogue=APPEND_LOGS,
    path="/rumpus/append",
    build="rumpus.workloads.znodes.append:client",
    model="append",
    words=WORDS,
    load=log_load,
    final=lambda _: final(("read", {"key": "l0"}), ("read", {"key": "l1"})),
    cleanup={},
    plain=True,
    requests=("write", "read"),
    judge=judge_logs,
)
