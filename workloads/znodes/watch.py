"""Watches: once, in order, before the data; and who waits for a change does not miss it.

Operations, all with a ``key``: ``write`` {value} -> {version, zxid, session}; ``read`` and
``watch``, a read that leaves a watch -> {value, version, zxid, session}; ``await`` {version,
timeout, reconnect} -> the same once there is another version than that, the connection dropped
after ``reconnect`` seconds of waiting. ``make`` {ephemeral} and ``unmake`` create and delete nodes
that have children; ``survey`` leaves watches of all kinds on one -> its children. ``reconnect``
{} drops the client's connection, and with it all of its watches.

What ZooKeeper promises of watches is held against what the links see and the servers' logs.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from rumpus.checker.every_run.model_check import check_model
from rumpus.checker.every_run.timeouts import TIMED_OUT, check_timeouts
from rumpus.checker.families.missed_changes import check_missed_changes
from rumpus.checker.history import Op
from rumpus.checker.holds import Words
from rumpus.checker.verdict import Verdict
from rumpus.checker.znodes.guarantee_models import SEQUENTIAL_CONSISTENCY, SESSION_GUARANTEES
from rumpus.checker.znodes.watch_delivery import check_watch_delivery
from rumpus.checker.znodes.znode_history import watches_by_connection, writes_by_comparison
from rumpus.harness.clients.client_body import ClientContext, Outcome
from rumpus.harness.generators.combinators import each_process, stagger
from rumpus.harness.generators.generator import PENDING, Answer, Context, Generator, Invocation
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.znodes.catalogue import WATCHED_ZNODES
from rumpus.recipes.znodes.register import Reading
from rumpus.recipes.znodes.znode_access import NotAsked
from rumpus.workloads.framework.judgement import Evidence
from rumpus.workloads.framework.patient_call import PatientCall
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.znodes.znode_client import REFUSED, ZnodeClient, hexadecimal
from rumpus.workloads.znodes.znode_judgement import judge_znodes
from rumpus.workloads.znodes.znode_load import PAUSE_S, final, pick

WORDS = Words(acquire="await", work="watch", release="write", thing="change")
WATCHED = ("w0", "w1")
GROWN = ("t0", "t1")
"""Nodes that come and go, each with a child."""
CHILD = "x"
TREE_SHARES = ((3, "make"), (3, "unmake"), (4, "survey"))
AWAITED = ("a0", "a1", "a2")
LONGEST_WAIT_S = 12.0
DROPPED_AFTER_S = 0.2
"""When the connection of some who wait for long is dropped: before the change, more often than not.

Faults alone seldom break a connection during a wait, and leave it whole for the rest of it.
"""
SHARES = ((3, "read"), (4, "watch"), (2, "write"))
LEAST = 100


class Changes(msgspec.Struct, frozen=True):
    """One process's load: it changes and watches some nodes, and awaits changes of others."""

    seed: Seed
    until: int
    versions: tuple[int, ...] = (-1,) * len(AWAITED)

    def op(self, ctx: Context) -> Answer:
        """The next operation, when the process is free."""
        if ctx.time >= self.until:
            return None
        process = ctx.next_free()
        if process is None:
            return PENDING, self
        dice, seed = self.seed.below(10)
        value: dict[str, Any]
        if dice == 9 and self.seed.child("reconnect").below(5)[0] == 0:
            f, value = "reconnect", {}
        elif dice < 3:
            at, seed = seed.below(len(AWAITED))
            wait = 0.5 + seed.uniform()[0] * (LONGEST_WAIT_S if dice == 0 else 2.0)
            f = "await"
            value = {
                "key": AWAITED[at],
                "version": self.versions[at],
                "timeout": round(min(wait, LONGEST_WAIT_S), 3),
            }
            if dice == 0 and seed.child("reconnect").below(3)[0] == 0:
                value["reconnect"] = DROPPED_AFTER_S
        elif dice == 3:
            key, _ = seed.choose(AWAITED)
            f, value = "write", {"key": key, "value": f"{process}-{ctx.time}"}
        elif dice < 7:
            key, seed = seed.choose(GROWN)
            f = pick(seed, TREE_SHARES)
            below, seed = seed.child("below").below(2)
            value = {"key": f"{key}/{CHILD}" if below and f != "survey" else key}
            if f == "make":
                value["ephemeral"] = bool(below)
        else:
            key, seed = seed.choose(WATCHED)
            f = pick(seed, SHARES)
            value = {"key": key}
            if f == "write":
                value["value"] = f"{process}-{ctx.time}"
        following = msgspec.structs.replace(self, seed=self.seed.next()[1])
        return Invocation(f, value, process, ctx.time), following

    def update(self, ctx: Context, event: Op) -> Generator:  # noqa: ARG002 - the protocol's
        """Remember the versions that were seen."""
        version = event.value.get("version") if event.type == "ok" else None
        if version is None or event.value.get("key") not in AWAITED:
            return self
        at = AWAITED.index(event.value["key"])
        versions = [*self.versions]
        versions[at] = max(versions[at], version)
        return msgspec.structs.replace(self, versions=tuple(versions))


def client(recipe: str, path: str) -> Callable[[ClientContext], ZnodeClient]:
    """Makes the client's side for one recipe."""

    def build(context: ClientContext) -> ZnodeClient:
        znode = WATCHED_ZNODES[recipe].recipe(context.kazoo, path)

        def told(key: str, seen: Reading) -> dict[str, Any]:
            answer = {
                "key": key,
                "value": seen.value,
                "version": seen.version,
                "session": hexadecimal(seen.session),
            }
            return answer if seen.zxid is None else {**answer, "zxid": seen.zxid}

        def drop_after(seconds: float, over: threading.Event) -> None:
            if not over.wait(seconds):
                with suppress(NotAsked):  # a fault was quicker
                    znode.reconnect()

        def wait(value: Any) -> Any:
            over = threading.Event()
            if "reconnect" in value:
                PatientCall(lambda: drop_after(value["reconnect"], over))
            try:
                seen = znode.await_change(value["key"], value["version"], value["timeout"])
            finally:
                over.set()
            if seen is None:
                return Outcome("fail", value, TIMED_OUT)
            return told(value["key"], seen)

        def make(value: Any) -> Any:
            made = znode.make(value["key"], ephemeral=value["ephemeral"])
            return value if made else REFUSED

        def reconnect(value: Any) -> Any:
            znode.reconnect()
            return value

        return ZnodeClient(
            znode,
            {
                "reconnect": reconnect,
                "make": make,
                "unmake": lambda v: v if znode.unmake(v["key"]) else REFUSED,
                "survey": lambda v: {"key": v["key"], "children": znode.survey(v["key"])},
                "write": lambda v: told(v["key"], znode.write(v["key"], v["value"])),
                "read": lambda v: told(v["key"], znode.read(v["key"])),
                "watch": lambda v: told(v["key"], znode.watch(v["key"])),
                "await": wait,
            },
        )

    return build


def judge_watches(evidence: Evidence) -> Verdict:
    """What ZooKeeper promises of watches, and that nobody who waits misses a change."""
    history = evidence.history
    checks = [
        check_watch_delivery(history, evidence.truth),
        check_model(
            writes_by_comparison(history),
            SEQUENTIAL_CONSISTENCY,
            "session-order",
            functions=("write", "read", "watch"),
        ),
        check_missed_changes(history, bound_s=2 * evidence.session_timeout + 2.0),
        check_timeouts(history),
    ]
    if evidence.truth is None:  # what the clients' answers say of it without the servers' logs
        watched = watches_by_connection(history, WATCHED)
        checks.append(check_model(watched, SESSION_GUARANTEES, "late-event"))
    answered = sum(op.type == "ok" for op in history if isinstance(op.process, int))
    return judge_znodes(evidence, checks, answered=answered, least=LEAST)


def load(setting: WorkloadContext) -> Generator:
    """Every client for itself."""
    return stagger(
        PAUSE_S,
        each_process(lambda process: Changes(setting.seed.child(process), setting.until)),
        seed=setting.seed.child("pauses"),
    )


WATCH = Workload(
    name="watch",
    summary="clients change znodes, watch them, and wait for changes",
    catalogue=WATCHED_ZNODES,
    path="/rumpus/watch",
    build="rumpus.workloads.znodes.watch:client",
    model="session-guarantees",
    words=WORDS,
    load=load,
    final=lambda _: final(
        *(("await", {"key": key, "version": -2, "timeout": 0.5}) for key in AWAITED),
        *(("watch", {"key": key}) for key in WATCHED),
    ),
    cleanup={},
    plain=True,
    requests=("write", "read"),
    judge=judge_watches,
)
