"""Access control lists: who may is never refused, and who may not is never served.

"ZooKeeper Programmer's Guide, ZooKeeper access control using ACLs". A znode is made once with a
list, and its list is replaced at most once. A write meets the list that is in force. A read may be
answered by a server that is behind, so that after a replacement either list may decide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rumpus.checker.history import History, Operation
from rumpus.checker.verdict import Anomaly, CheckResult

NO_AUTHORITY = "no authority"
"""The error of an operation that a list was said to forbid."""

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
"""What an operation on a node asks of the node's list."""

WRITES = frozenset({"set", "grow", "prune", "allow"})

List = Sequence[tuple[int, str, str]]


@dataclass
class Guarded:
    """A node: what made it, and what replaced its list, if anything may have."""

    made: Operation
    replaced: Operation | None = None


def check_access(history: History, users: Mapping[int, str]) -> CheckResult:
    """Hold what was served and refused against the lists.

    Operations have a ``name``; ``make`` and ``allow`` have an ``acl`` of [permissions, scheme, id].
    ``read`` and ``list`` of a child (``child`` is its name) meet the child's own list, which allows
    everything.

    Args:
        history: of the run.
        users: client -> its id of the scheme ``digest``. Every client has an IPv4 address.

    Cost: O(n).
    """
    result = CheckResult(name="access control")
    operations = history.operations()
    nodes: dict[str, Guarded] = {}
    for pair in operations:
        call = pair.invoke
        if call.f == "make" and pair.outcome != "fail":
            nodes[call.value["name"]] = Guarded(pair)
        elif call.f == "allow" and pair.outcome != "fail" and call.value["name"] in nodes:
            nodes[call.value["name"]].replaced = pair
    served = refused = 0
    for pair in operations:
        call, done = pair.invoke, pair.completion
        needed = NEEDED.get(call.f)
        if needed is None or done is None or done.type == "info":
            continue
        node = nodes.get(call.value["name"])
        if node is None or (done.type == "fail" and done.error != NO_AUTHORITY):
            continue
        client = history.client_of(int(call.process))
        of_child = "child" in call.value and call.f in ("read", "list")
        lists = [[(31, "world", "anyone")]] if of_child else _in_force(history, node, pair, users)
        allowed = [_permits(acl, needed, users[client]) for acl in lists]
        served += done.type == "ok"
        refused += done.type == "fail"
        if (done.type == "ok") in allowed:
            continue
        kind, words = (
            ("unauthorised-access", "was served, and its list forbids it")
            if done.type == "ok"
            else ("refused-access", "was refused, and its list allows it")
        )
        what = f"{call.value['name']}/{call.value['child']}" if of_child else call.value["name"]
        result.anomalies.append(
            Anomaly(
                kind=kind,
                description=(
                    f"c{client}'s {call.f} of {what} {words}: {', '.join(map(_shown, lists[0]))}"
                ),
                ops=[*node.made.indices, *pair.indices],
                clients=[client],
                start=call.time,
                end=done.time,
            )
        )
    result.stats = {"served": served, "refused": refused}
    return result


def _in_force(
    history: History, node: Guarded, pair: Operation, users: Mapping[int, str]
) -> list[List]:
    """The lists that may have decided an operation on a node."""
    first = _resolved(history, node.made, users)
    replaced = node.replaced
    assert pair.completion is not None
    if replaced is None or replaced.invoke.time > pair.completion.time or replaced is pair:
        return [first]
    second = _resolved(history, replaced, users)
    done = replaced.completion
    before = done is not None and done.type == "ok" and done.time < pair.invoke.time
    return [second] if before and pair.invoke.f in WRITES else [first, second]


def _resolved(history: History, pair: Operation, users: Mapping[int, str]) -> List:
    """A list with the user that it was asked for in place of the scheme ``auth``."""
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
