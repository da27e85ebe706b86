"""What ZooKeeper's rules say to a write: the error that it must get, or none.

The order of the checks is that of ``PrepRequestProcessor`` (3.8). Sessions, quotas and malformed
requests are not decided here: see ``DECIDED``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rumpus.checker.servers.txnlog import OPEN_ACL, AccessList
from rumpus.checker.wire.access import (
    ADMIN,
    CREATE,
    DELETE,
    OPEN_SUM,
    READ,
    WRITE,
    Identity,
    allowed,
)
from rumpus.checker.wire.model_tree import ModelTree, following, is_servers_own, parent_of
from rumpus.checker.wire.records import Part

OK = 0
NO_NODE = -101
NO_AUTH = -102
BAD_VERSION = -103
NO_CHILDREN_FOREPHEMERALS = -108
NODE_EXISTS = -110
NOT_EMPTY = -111

ERRORS = {
    OK: "no error",
    -5: "MarshallingError",
    -6: "Unimplemented",
    -8: "BadArguments",
    NO_NODE: "NoNode",
    NO_AUTH: "NoAuth",
    BAD_VERSION: "BadVersion",
    NO_CHILDREN_FOREPHEMERALS: "NoChildrenForEphemerals",
    NODE_EXISTS: "NodeExists",
    NOT_EMPTY: "NotEmpty",
    -112: "SessionExpired",
    -118: "SessionMoved",
}

DECIDED = frozenset(
    {OK, NO_NODE, NO_AUTH, BAD_VERSION, NO_CHILDREN_FOREPHEMERALS, NODE_EXISTS, NOT_EMPTY}
)
"""Outcomes that the tree alone decides. Any other may have reasons that are not in the tree."""

EPHEMERAL = (1, 3)
_SEQUENTIAL = (2, 3, 6)


@dataclass(slots=True)
class _Slot:
    """What the rules need to know of a znode."""

    version: int = 0
    aversion: int = 0
    children: int = 0
    creations: int = 0
    ephemeral: bool = False
    acl: AccessList | None = None
    former: tuple[AccessList, int] | None = None


@dataclass(frozen=True, slots=True)
class Expected:
    """What a write must get.

    Attributes:
        error: a code of ``KeeperException``; 0 if it must be carried out.
        part: which part of a multi gets the error; 0 for other requests.
        made: the path of each znode that it creates, by part.
    """

    error: int
    part: int
    made: dict[int, str]


class _Undecided(Exception):  # noqa: N818 - no error, but the end of a search
    """Whether a right exists cannot be told."""


def expected(
    tree: ModelTree, parts: Sequence[Part], identities: Sequence[Identity] | None, sent: int
) -> Expected | None:
    """What ZooKeeper must answer to a write, in a tree; None if the tree alone does not tell.

    Args:
        tree: after all transactions before.
        parts: those of a multi, or the one request.
        identities: whom the client has proved to be; None: not known.
        sent: when it was asked for (ns).
    """
    trial = _Trial(tree, identities, sent)
    made: dict[int, str] = {}
    for number, part in enumerate(parts):
        rule = _RULES.get(part.name)
        if rule is None or not _plain(part.path):
            return None
        try:
            found = rule(trial, part)
        except _Undecided:
            return None
        if isinstance(found, str):
            made[number] = found
        elif found != OK:
            return Expected(found, number, made)
    return Expected(OK, 0, made)


def _plain(path: str) -> bool:
    """Whether nothing is unusual about a path, and it is not the servers' own."""
    return (
        path.startswith("/")
        and path.isprintable()
        and not any(each in f"{path}/" for each in ("//", "/./", "/../"))
        and not is_servers_own(path)
    ) or path == "/"


class _Trial:
    """The tree with what earlier parts of a multi would change."""

    def __init__(self, tree: ModelTree, identities: Sequence[Identity] | None, sent: int) -> None:
        self._tree = tree
        self._sent = sent
        self._identities = identities
        self._slots: dict[str, _Slot | None] = {}

    def at(self, path: str) -> _Slot | None:
        """The znode at a path, if there is one."""
        if path not in self._slots:
            node = self._tree.nodes.get(path)
            self._slots[path] = (
                None
                if node is None
                else _Slot(
                    node.version,
                    node.aversion,
                    node.children,
                    node.creations,
                    bool(node.owner),
                    node.acl,
                    node.former,
                )
            )
        return self._slots[path]

    def overflown(self, path: str) -> bool:
        """Whether the number of a znode's next child depends on what is under way."""
        return path in self._tree.overflown

    def put(self, path: str, slot: _Slot | None) -> None:
        """Make or remove a znode."""
        self._slots[path] = slot

    def may(self, slot: _Slot, permission: int) -> bool:
        """Whether the client may do something with a znode."""
        answer = None
        if slot.acl is not None:
            answer = allowed(slot.acl, permission, self._identities)
            if slot.former is not None and self._sent <= slot.former[1]:
                formerly = allowed(slot.former[0], permission, self._identities)
                answer = answer if answer == formerly else None
        if answer is None:
            raise _Undecided
        return answer


def _create(trial: _Trial, part: Part) -> int | str:
    flags = part.flags or 0
    above = parent_of(part.path)
    parent = trial.at(above)
    if parent is None:
        return NO_NODE
    if not trial.may(parent, CREATE):
        return NO_AUTH
    if flags in _SEQUENTIAL and trial.overflown(above):
        raise _Undecided
    path = f"{part.path}{parent.creations:010d}" if flags in _SEQUENTIAL else part.path
    if trial.at(path) is not None:
        return NODE_EXISTS
    if parent.ephemeral:
        return NO_CHILDREN_FOREPHEMERALS
    parent.creations = following(parent.creations)
    parent.children += 1
    ephemeral = part.name in ("create", "create2") and flags in EPHEMERAL
    trial.put(path, _Slot(ephemeral=ephemeral, acl=OPEN_ACL if part.acl == OPEN_SUM else None))
    return path


def _delete(trial: _Trial, part: Part) -> int:
    if part.path == "/":
        return -8
    parent, node = trial.at(parent_of(part.path)), trial.at(part.path)
    if parent is None:
        return NO_NODE
    if not trial.may(parent, DELETE):
        return NO_AUTH
    if node is None:
        return NO_NODE
    if part.version not in (-1, node.version):
        return BAD_VERSION
    if node.children:
        return NOT_EMPTY
    parent.children -= 1
    trial.put(part.path, None)
    return OK


def _versioned(field: str, permission: int, *, sets: bool) -> Callable[[_Trial, Part], int]:
    """The rule of a request that expects a version; ``sets``: whether it gives the next one."""

    def rule(trial: _Trial, part: Part) -> int:
        node = trial.at(part.path)
        if node is None:
            return NO_NODE
        if not trial.may(node, permission):
            return NO_AUTH
        present = getattr(node, field)
        if part.version not in (-1, present):
            return BAD_VERSION
        if sets:
            setattr(node, field, following(present))
        return OK

    return rule


_RULES: dict[str, Callable[[_Trial, Part], int | str]] = {
    **dict.fromkeys(("create", "create2", "create-container", "create-ttl"), _create),
    "delete": _delete,
    "set-data": _versioned("version", WRITE, sets=True),
    "set-acl": _versioned("aversion", ADMIN, sets=True),
    "check": _versioned("version", READ, sets=False),
}
