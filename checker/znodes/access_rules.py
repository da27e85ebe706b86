"""Whether ZooKeeper carries out exactly the operations that access control lists (ACLs) allow.

"ZooKeeper Programmer's Guide, ZooKeeper access control using ACLs". Each znode is created once with
an ACL, and its ACL is replaced at most once. A write is checked against the ACL in force. A read
may be answered by a server that lags behind, so after a replacement either ACL may have been
applied.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rumpus.checker.check import check
from rumpus.checker.history import History, Operation
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

UNAUTHORISED_ACCESS = Kind(
    "unauthorised-access",
    "an operation was carried out that the access control list, or the handle's mode, forbids",
)
REFUSED_ACCESS = Kind(
    "refused-access", "an operation was refused that the access control list allows"
)

NO_AUTHORITY = "no authority"
"""The error of an operation that ZooKeeper refused because of the ACL (``NoAuth``)."""

EVERY_ADDRESS = "0.0.0.0/0"

READ, WRITE, CREATE, DELETE, ADMIN = 1, 2, 4, 8, 16

NEEDED: Final[Mapping[str, int]] = {
    "read": READ,
    "list": READ,
    "set": WRITE,
    "grow": CREATE,
    "prune": DELETE,
    "allow": ADMIN,
}
"""Operation -> the permission that the node's ACL must grant for it."""

WRITES = frozenset({"set", "grow", "prune", "allow"})

List = Sequence[tuple[int, str, str]]
"""An ACL: entries of (permissions, scheme, id)."""


@dataclass
class Guarded:
    """A node: the operation that created it, and the one that replaced its ACL, if there is one.

    Operations of unknown outcome count.
    """

    made: Operation
    replaced: Operation | None = None


@check("access control", finds=[UNAUTHORISED_ACCESS, REFUSED_ACCESS])
def check_access(timeline: Timeline, user: Callable[[int], str]) -> CheckResult:
    """Compare what ZooKeeper carried out and refused with what the ACLs allow.

    Every operation has the ``name`` of a node; ``make`` and ``allow`` have an ``acl``, a list of
    [permissions, scheme, id]. ``read`` and ``list`` of a child (``child`` is its name) are checked
    against the child's own ACL, which allows everything.

    Args:
        timeline: the run.
        user: client -> its id of the scheme ``digest``. Every client has an IPv4 address.

    Cost: O(n).
    """
    history = timeline.history
    users = {client: user(client) for client in range(history.clients)}
    result = CheckResult(name="access control")
    operations = history.operations()
    nodes = _guarded(operations)
    served = refused = 0
    for pair in operations:
        call, done = pair.invoke, pair.completion
        needed = NEEDED.get(call.f)
        if needed is None or done is None or done.type == "info":
            continue
        node = nodes.get(call.value["name"])
        if node is None or (done.type == "fail" and done.error != NO_AUTHORITY):
            continue
        client = history.caller(call)
        of_child = "child" in call.value and call.f in ("read", "list")
        lists = [[(31, "world", "anyone")]] if of_child else _in_force(history, node, pair, users)
        allowed = [_permits(acl, needed, users[client]) for acl in lists]
        served += done.type == "ok"
        refused += done.type == "fail"
        if (done.type == "ok") in allowed:
            continue
        name = call.value["name"]
        what = f"{name}/{call.value['child']}" if of_child else name
        result.anomalies.append(_wrongly_decided(history, node, pair, what, lists[0]))
    result.stats = {"served": served, "refused": refused}
    return result


def _wrongly_decided(
    history: History, node: Guarded, pair: Operation, what: str, acl: List
) -> Anomaly:
    """An access that ZooKeeper carried out, or refused, against the node's ACL."""
    call, done = pair.invoke, pair.done
    kind, words = (
        ("unauthorised-access", "was carried out, although the ACL forbids it")
        if done.type == "ok"
        else ("refused-access", "was refused, although the ACL allows it")
    )
    client = history.caller(call)
    return Anomaly(
        kind=kind,
        description=f"c{client}'s {call.f} of {what} {words}: {', '.join(map(_shown, acl))}",
        ops=sorted({*node.made.indices, *_replacement(node, pair), *pair.indices}),
        clients=[client],
        start=call.time,
        end=done.time,
    )


def _guarded(operations: Iterable[Operation]) -> dict[str, Guarded]:
    """Name -> its node, for those that were made, or may have been."""
    nodes: dict[str, Guarded] = {}
    for pair in operations:
        call = pair.invoke
        if call.f == "make" and pair.outcome != "fail":
            nodes[call.value["name"]] = Guarded(pair)
        elif call.f == "allow" and pair.outcome != "fail" and call.value["name"] in nodes:
            nodes[call.value["name"]].replaced = pair
    return nodes


def _replacement(node: Guarded, pair: Operation) -> Sequence[int]:
    """The records that replaced a node's ACL before an operation returned; empty if none did."""
    replaced, done = node.replaced, pair.completion
    if replaced is None or replaced is pair or done is None:
        return ()
    return replaced.indices if replaced.invoke.time <= done.time else ()


def _in_force(
    history: History, node: Guarded, pair: Operation, users: Mapping[int, str]
) -> list[List]:
    """The ACLs that may have been applied to an operation on a node."""
    first = _resolved(history, node.made, users)
    replaced = node.replaced
    if replaced is None or replaced.invoke.time > pair.done.time or replaced is pair:
        return [first]
    second = _resolved(history, replaced, users)
    done = replaced.completion
    before = done is not None and done.type == "ok" and done.time < pair.invoke.time
    return [second] if before and pair.invoke.f in WRITES else [first, second]


def _resolved(history: History, pair: Operation, users: Mapping[int, str]) -> List:
    """The ACL that an operation sets; the scheme ``auth`` stands for the user who asked."""
    user = users[history.caller(pair)]
    return [
        (permissions, "digest", user) if scheme == "auth" else (permissions, scheme, name)
        for permissions, scheme, name in pair.invoke.value["acl"]
    ]


def _permits(acl: List, needed: int, user: str) -> bool:
    mine = {("world", "anyone"), ("digest", user), ("ip", EVERY_ADDRESS)}
    return any(permissions & needed and (scheme, name) in mine for permissions, scheme, name in acl)


def _shown(entry: tuple[int, str, str]) -> str:
    permissions, scheme, name = entry
    letters = "".join(letter for bit, letter in enumerate("rwcda") if permissions >> bit & 1)
    return f"{scheme}:{name}:{letters}"
