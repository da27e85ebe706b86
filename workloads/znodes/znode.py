"""Znodes with access control lists: who may do what, and what the Stats say.

Operations, all with a ``name`` -> {name, stat, and ``data`` or ``children``}: ``make`` {value, acl}
creates a node, ``allow`` {acl} replaces its list, ``set`` {value}, ``read`` and ``list``.
``grow`` and ``prune`` {child} -> {name, child} create and delete a child that is open to everybody.
``read`` and ``list`` may be of a ``child``, too, and have no Stat then. ``acl`` consists of
[permissions, scheme, id]. What a list forbids fails with the error "no authority".
"""

from collections.abc import Callable
from typing import Any

from kazoo.exceptions import BadVersionError, NoAuthError, NodeExistsError, NoNodeError
from kazoo.security import make_digest_acl_credential

from rumpus.checker.holds import Words
from rumpus.checker.verdict import Verdict
from rumpus.checker.znodes.access_rules import EVERY_ADDRESS, NO_AUTHORITY, check_access
from rumpus.checker.znodes.stat_laws import check_stats
from rumpus.harness.clients.client_body import ClientContext, Outcome
from rumpus.harness.generators.generator import Generator
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.nemesis.clock import ClockSkew
from rumpus.recipes.znodes.catalogue import GUARDED_ZNODES
from rumpus.recipes.znodes.guarded_znodes import GuardedZnodes, Sight
from rumpus.workloads.framework.judgement import Evidence
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.znodes.znode_client import REFUSED, ZnodeClient
from rumpus.workloads.znodes.znode_judgement import judge_znodes
from rumpus.workloads.znodes.znode_load import final, load, pick

WORDS = Words(acquire="set", work="read", release="allow", thing="znode")
OPERATIONS = 30
"""How many operations are about one node."""
MADE_AT, ALLOWED_AT = 0, 15
"""Which of them makes the node, and which may replace its list."""
CHILDREN = ("c0", "c1")
NOBODYS_ADDRESS = "192.0.2.1"
"""Of a network that is in no use (RFC 5737)."""
SHARES = ((5, "read"), (4, "set"), (4, "list"), (4, "grow"), (3, "prune"))
LEAST = 100


def user(client: int) -> str:
    """What a client calls itself."""
    return f"c{client}"


def client(recipe: str, path: str) -> Callable[[ClientContext], ZnodeClient]:
    """Makes the client's side for one recipe."""

    def build(context: ClientContext) -> ZnodeClient:
        znodes = GUARDED_ZNODES[recipe].recipe(context.kazoo, path)
        znodes.user = user(context.client)
        return ZnodeClient(znodes, {f: _honest(each) for f, each in _operations(znodes).items()})

    return build


def _operations(znodes: GuardedZnodes) -> dict[str, Callable[[Any], Any]]:
    def grow(value: Any) -> Any:
        znodes.grow(value["name"], value["child"])
        return value

    def prune(value: Any) -> Any:
        znodes.prune(value["name"], value["child"])
        return value

    def of_child(value: Any, ask: Callable[[str], Sight]) -> Any:
        if "child" not in value:
            return _told(value["name"], ask(value["name"]))
        ask(f"{value['name']}/{value['child']}")
        return value

    return {
        "make": lambda v: _told(v["name"], znodes.make(v["name"], v["value"], v["acl"])),
        "allow": lambda v: _told(v["name"], znodes.allow(v["name"], v["acl"])),
        "set": lambda v: _told(v["name"], znodes.write(v["name"], v["value"])),
        "read": lambda v: of_child(v, znodes.read),
        "list": lambda v: of_child(v, znodes.listing),
        "grow": grow,
        "prune": prune,
    }


def _honest(operation: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """An operation whose refusals are outcomes."""

    def perform(value: Any) -> Any:
        try:
            return operation(value)
        except NoAuthError:
            return Outcome("fail", value, NO_AUTHORITY)
        except (BadVersionError, NoNodeError, NodeExistsError):
            return REFUSED

    return perform


def _told(name: str, seen: Sight) -> dict[str, Any]:
    told: dict[str, Any] = {"name": name, "stat": seen.stat._asdict()}
    if seen.data is not None:
        told["data"] = seen.data
    if seen.children is not None:
        told["children"] = list(seen.children)
    return told


def znode_load(setting: WorkloadContext) -> Generator:
    """Nodes one after the other, each with its list."""

    def draw(number: int, seed: Seed) -> tuple[str, Any]:
        node, turn = divmod(number, OPERATIONS)
        value: dict[str, Any] = {"name": f"z{node}"}
        if turn == MADE_AT:
            acl = draw_list(seed.child("list"), setting.clients)
            return "make", {**value, "value": f"v{number}", "acl": acl}
        if turn == ALLOWED_AT and node % 2:
            return "allow", {**value, "acl": draw_list(seed.child("list"), setting.clients)}
        f = pick(seed, SHARES)
        if f == "set":
            value["value"] = "v" * (1 + seed.child("length").below(9)[0])
        child, _ = seed.child("child").choose(CHILDREN)
        if f in ("grow", "prune") or (f != "set" and seed.child("which").below(3)[0] == 0):
            value["child"] = child
        return f, value

    return load(setting, draw)


def draw_list(seed: Seed, clients: int) -> list[tuple[int, str, str]]:
    """A list for a node: of one of the schemes, for all, some or no permissions."""
    kind, seed = seed.below(7)
    someone, seed = seed.below(clients)
    permissions = 1 + seed.below(31)[0]
    mine, open_to_all = (31, "auth", ""), (permissions, "world", "anyone")
    return [
        [(31, "world", "anyone")],
        [mine],
        [(1, "world", "anyone"), mine],
        [(31, "digest", credential(someone))],
        [(31, "ip", EVERY_ADDRESS)],
        [(31, "ip", NOBODYS_ADDRESS), (1, "world", "anyone")],
        [open_to_all, (2, "digest", credential(someone))],
    ][kind]


def credential(number: int) -> str:
    """A client's id of the scheme ``digest``."""
    return str(make_digest_acl_credential(user(number), user(number)))


def judge_guarded(evidence: Evidence) -> Verdict:
    """Access as the lists have it, and Stats as the operations were."""
    history = evidence.history
    users = {number: credential(number) for number in range(history.clients)}
    times = None
    if evidence.truth is not None and ClockSkew.kind not in evidence.kinds:
        times = {txn.zxid: txn.time_ms for txn in evidence.truth.committed}
    checks = [check_access(history, users), check_stats(history, times)]
    answered = sum(op.type == "ok" for op in history if isinstance(op.process, int))
    return judge_znodes(evidence, checks, answered=answered, least=LEAST)


ZNODE = Workload(
    name="znode",
    summary="clients make znodes with access control lists, use them, and compare their Stats",
    catalogue=GUARDED_ZNODES,
    path="/rumpus/znode",
    build="rumpus.workloads.znodes.znode:client",
    model="access control and Stats",
    words=WORDS,
    load=znode_load,
    final=lambda _: final(("list", {"name": "none"})),
    cleanup={},
    plain=True,
    requests=("create", "read"),
    judge=judge_guarded,
)
