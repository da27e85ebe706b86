"""Registers: znodes that are read, written, and compared and set by version.

Operations, all with a ``key``: ``read`` -> {value, version, zxid, session}; ``write`` {value} and
``cas`` {value: [expected version, new value]} -> {version, zxid, session}. ``reconnect`` {} drops
the client's connection: its session goes on at another server, which may be behind.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from rumpus.checker.deciders.registers.versioned_register import VERSIONED_REGISTER
from rumpus.checker.every_run.model_check import check_model
from rumpus.checker.history import Op
from rumpus.checker.holds import Words
from rumpus.checker.verdict import Verdict
from rumpus.checker.znodes.guarantee_models import SEQUENTIAL_CONSISTENCY
from rumpus.checker.znodes.sync_freshness import check_sync_freshness
from rumpus.checker.znodes.znode_history import writes_by_comparison
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.generators.combinators import stagger
from rumpus.harness.generators.generator import PENDING, Answer, Context, Generator, Invocation
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.znodes.catalogue import REGISTERS
from rumpus.recipes.znodes.register import ABSENT, Reading
from rumpus.workloads.framework.judgement import Evidence
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.znodes.znode_client import REFUSED, ZnodeClient, hexadecimal
from rumpus.workloads.znodes.znode_judgement import judge_znodes
from rumpus.workloads.znodes.znode_load import PAUSE_S, final, pick

WORDS = Words(acquire="write", work="read", release="cas", thing="register")
KEYS = ("r0", "r1", "r2")
SHARES = ((49, "read"), (20, "write"), (29, "cas"), (2, "reconnect"))
LEAST = 100


class Registers(msgspec.Struct, frozen=True):
    """Random operations.

    A compare-and-set expects the version that was last heard of; one in eight, an absent register.
    """

    seed: Seed
    until: int
    versions: tuple[int, ...] = (ABSENT,) * len(KEYS)
    number: int = 0

    def op(self, ctx: Context) -> Answer:
        """The next operation, when somebody is free."""
        if ctx.time >= self.until:
            return None
        process = ctx.next_free()
        if process is None:
            return PENDING, self
        at, seed = self.seed.below(len(KEYS))
        f = pick(seed, SHARES)
        value: dict[str, Any] = {} if f == "reconnect" else {"key": KEYS[at]}
        if f == "write":
            value["value"] = f"v{self.number}"
        elif f == "cas":
            absent = self.seed.child("absent").below(8)[0] == 0
            expected = ABSENT if absent else self.versions[at]
            value["value"] = [expected, f"v{self.number}"]
        following = msgspec.structs.replace(self, seed=seed.next()[1], number=self.number + 1)
        return Invocation(f, value, process, ctx.time), following

    def update(self, ctx: Context, event: Op) -> Generator:  # noqa: ARG002 - the protocol's
        """Remember the versions that were heard of."""
        version = event.value.get("version") if event.type == "ok" else None
        if version is None:
            return self
        at = KEYS.index(event.value["key"])
        versions = [*self.versions]
        versions[at] = max(versions[at], version)
        return msgspec.structs.replace(self, versions=tuple(versions))


def client(recipe: str, path: str) -> Callable[[ClientContext], ZnodeClient]:
    """Makes the client's side for one recipe."""

    def build(context: ClientContext) -> ZnodeClient:
        register = REGISTERS[recipe].recipe(context.kazoo, path)

        def told(key: str, seen: Reading, *, value: bool = False) -> dict[str, Any]:
            answer = {"key": key, "version": seen.version, "session": hexadecimal(seen.session)}
            if seen.zxid is not None:
                answer["zxid"] = seen.zxid
            return {**answer, "value": seen.value} if value else answer

        def cas(value: Any) -> Any:
            written = register.cas(value["key"], *value["value"])
            return REFUSED if written is None else told(value["key"], written)

        def reconnect(value: Any) -> Any:
            register.reconnect()
            return value

        return ZnodeClient(
            register,
            {
                "reconnect": reconnect,
                "read": lambda v: told(v["key"], register.read(v["key"]), value=True),
                "write": lambda v: told(v["key"], register.write(v["key"], v["value"])),
                "cas": cas,
            },
        )

    return build


def judge_registers(evidence: Evidence) -> Verdict:
    """Linearizable key by key; and no session goes backwards over all of them."""
    history = evidence.history
    by_version = check_model(
        history,
        VERSIONED_REGISTER,
        "not-linearizable",
        initial=(("value", None), ("version", ABSENT)),
    )
    sessions = check_model(writes_by_comparison(history), SEQUENTIAL_CONSISTENCY, "session-order")
    answered = sum(op.type == "ok" for op in history if isinstance(op.process, int))
    checks = [by_version, sessions]
    if "stale-sync" in evidence.promises.prevents:
        checks.append(check_sync_freshness(history))
    return judge_znodes(evidence, checks, answered=answered, least=LEAST)


def load(setting: WorkloadContext) -> Generator:
    """Reads, writes and compare-and-sets of a few registers."""
    registers = Registers(setting.seed, setting.until)
    return stagger(PAUSE_S, registers, seed=setting.seed.child("pauses"))


REGISTER = Workload(
    name="register",
    summary="clients read, write, and compare and set a few znodes",
    catalogue=REGISTERS,
    path="/rumpus/register",
    build="rumpus.workloads.znodes.register:client",
    model="versioned-register",
    words=WORDS,
    load=load,
    final=lambda _: final(*(("read", {"key": key}) for key in KEYS)),
    cleanup={},
    plain=True,
    requests=("write", "read"),
    judge=judge_registers,
)
