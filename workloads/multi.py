"""Several znodes written by one transaction, and read as they were at one moment.

Operations: ``write`` {value} and ``write_if`` {value, version}, of the same value into all nodes;
``read`` -> {values: {node: value}, version}.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from checker.history import History, Op
from checker.holds import Words
from checker.model_check import check_model
from checker.specialised.unique_write_register import REGISTER
from checker.torn_transactions import check_torn
from checker.verdict import Verdict
from harness.client_body import ClientContext
from harness.seed import Seed
from recipes.catalogue.znodes import MULTI_WRITES
from workloads.judgement import Evidence
from workloads.workload import Workload
from workloads.znode_client import REFUSED, ZnodeClient
from workloads.znode_judgement import judge_znodes
from workloads.znode_load import final, load, pick

WORDS = Words(acquire="write", work="read", release="", thing="transaction")
LEAST = 100


def client(recipe: str, path: str) -> Callable[[ClientContext], ZnodeClient]:
    """Makes the client's side for one recipe."""

    def build(context: ClientContext) -> ZnodeClient:
        multi = MULTI_WRITES[recipe](context.kazoo, path)

        def write(value: Any) -> Any:
            multi.write(value["value"])
            return value

        def write_if(value: Any) -> Any:
            return value if multi.write_if(value["value"], value["version"]) else REFUSED

        def read(_: Any) -> Any:
            values, version = multi.read()
            return {"values": values, "version": version}

        return ZnodeClient(multi, {"write": write, "write_if": write_if, "read": read})

    return build


def draw(number: int, seed: Seed) -> tuple[str, Any]:
    """Half of the conditional writes name a version that is long gone: they must leave nothing."""
    f = pick(seed, ((2, "write"), (2, "write_if"), (4, "read")))
    if f == "read":
        return f, None
    value = {"value": f"v{number}"}
    return f, (value if f == "write" else {**value, "version": 0})


def as_register(history: History) -> History:
    """Whole values only: what all nodes held is the value of one register."""
    return History(
        (each for op in history if (each := _whole(op)) is not None),
        clients=history.clients,
        truncated=history.truncated,
    )


def _whole(op: Op) -> Op | None:
    if not isinstance(op.process, int):
        return op
    if op.f == "read" and op.type == "ok":
        values = set(op.value["values"].values())
        if len(values) > 1:  # torn, which another check tells
            return msgspec.structs.replace(op, type="info", value=None)
        return msgspec.structs.replace(op, value=values.pop())
    if op.f == "read":
        return op
    value = op.value["value"] if op.type == "invoke" else None
    return msgspec.structs.replace(op, f="write", value=value)


def judge_multi(evidence: Evidence) -> Verdict:
    """All or nothing, and linearizable."""
    history = evidence.history
    answered = sum(op.type == "ok" for op in history if isinstance(op.process, int))
    whole = check_model(as_register(history), REGISTER, "not-linearizable")
    return judge_znodes(evidence, [check_torn(history), whole], answered=answered, least=LEAST)


MULTI = Workload(
    name="multi",
    summary="clients write several znodes by one transaction, and read them as of one moment",
    recipes=MULTI_WRITES,
    path="/rumpus/multi",
    build="workloads.multi:client",
    model="register",
    words=WORDS,
    load=lambda setting: load(setting, draw),
    final=lambda _: final(("read", None)),
    cleanup={},
    plain=True,
    requests=("multi", "read"),
    judge=judge_multi,
)
