"""Several znodes written by one transaction, and read as they were at one moment.

Operations: ``write`` {value} and ``write_if`` {value, version}, of the same value into all nodes,
both -> {version}; ``read`` -> {values: {node: value}, version}. A version is the last node's.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from rumpus.checker.deciders.registers.versioned_register import VERSIONED_REGISTER
from rumpus.checker.every_run.model_check import check_model
from rumpus.checker.families.torn_transactions import check_torn
from rumpus.checker.history import History, Op
from rumpus.checker.holds import Words
from rumpus.checker.verdict import Verdict
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.generators.combinators import stagger
from rumpus.harness.generators.generator import PENDING, Answer, Context, Generator, Invocation
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.znodes.catalogue import MULTI_WRITES
from rumpus.workloads.framework.judgement import Evidence
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.znodes.znode_client import REFUSED, ZnodeClient
from rumpus.workloads.znodes.znode_judgement import judge_znodes
from rumpus.workloads.znodes.znode_load import PAUSE_S, final, pick

WORDS = Words(acquire="write", work="read", release="", thing="transaction")
SHARES = ((2, "write"), (2, "write_if"), (4, "read"))
LEAST = 100


def client(recipe: str, path: str) -> Callable[[ClientContext], ZnodeClient]:
    """Makes the client's side for one recipe."""

    def build(context: ClientContext) -> ZnodeClient:
        multi = MULTI_WRITES[recipe].recipe(context.kazoo, path)

        def write(value: Any) -> Any:
            return {"version": multi.write(value["value"])}

        def write_if(value: Any) -> Any:
            version = multi.write_if(value["value"], value["version"])
            return REFUSED if version is None else {"version": version}

        def read(_: Any) -> Any:
            values, version = multi.read()
            return {"values": values, "version": version}

        return ZnodeClient(multi, {"write": write, "write_if": write_if, "read": read})

    return build


class Transactions(msgspec.Struct, frozen=True):
    """Random operations.

    One half of the conditional writes names the version that was last heard of, the other half one
    that is long gone: these must leave nothing.
    """

    seed: Seed
    until: int
    version: int = 0
    number: int = 0

    def op(self, ctx: Context) -> Answer:
        """The next operation, when somebody is free."""
        if ctx.time >= self.until:
            return None
        process = ctx.next_free()
        if process is None:
            return PENDING, self
        f = pick(self.seed, SHARES)
        value: dict[str, Any] | None = None
        if f != "read":
            value = {"value": f"v{self.number}"}
        if f == "write_if":
            late, _ = self.seed.child("late").below(2)
            value = {"value": f"v{self.number}", "version": 0 if late else self.version}
        following = msgspec.structs.replace(self, seed=self.seed.next()[1], number=self.number + 1)
        return Invocation(f, value, process, ctx.time), following

    def update(self, ctx: Context, event: Op) -> Generator:  # noqa: ARG002 - the protocol's
        """Remember the latest version."""
        version = (event.value or {}).get("version") if event.type == "ok" else None
        if version is None or version <= self.version:
            return self
        return msgspec.structs.replace(self, version=version)


def load(setting: WorkloadContext) -> Generator:
    """Writes, with and without a condition, and reads."""
    transactions = Transactions(setting.seed, setting.until)
    return stagger(PAUSE_S, transactions, seed=setting.seed.child("pauses"))


def as_register(history: History) -> History:
    """Whole values only: what all nodes held is the value of one register, with its version."""
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
        return msgspec.structs.replace(
            op, value={"value": values.pop(), "version": op.value["version"]}
        )
    if op.f == "write_if":
        value = op.value
        if op.type == "invoke":
            value = {"value": [value["version"], value["value"]]}
        return msgspec.structs.replace(op, f="cas", value=value)
    return op


def judge_multi(evidence: Evidence) -> Verdict:
    """All or nothing, and linearizable."""
    history = evidence.history
    answered = sum(op.type == "ok" for op in history if isinstance(op.process, int))
    whole = check_model(
        as_register(history),
        VERSIONED_REGISTER,
        "not-linearizable",
        initial=(("value", None), ("version", 0)),
    )
    return judge_znodes(evidence, [check_torn(history), whole], answered=answered, least=LEAST)


MULTI = Workload(
    name="multi",
    summary="clients write several znodes by one transaction, and read them as of one moment",
    catalogue=MULTI_WRITES,
    path="/rumpus/multi",
    build="rumpus.workloads.znodes.multi:client",
    model="versioned-register",
    words=WORDS,
    load=load,
    final=lambda _: final(("read", None)),
    cleanup={},
    plain=True,
    requests=("multi", "read"),
    judge=judge_multi,
)
