"""Whether an answer to a read says what the tree is, to the last field of a Stat."""

from collections.abc import Callable

from rumpus.checker.wire.access import ADMIN, READ, allowed, sums
from rumpus.checker.wire.matching import Conversations
from rumpus.checker.wire.model_tree import ModelTree, View
from rumpus.checker.wire.records import Part, Request, StatFields, sum_of_names
from rumpus.checker.wire.rules import NO_AUTH, NO_NODE


def wrong_answer(part: Part, request: Request, talk: Conversations, tree: ModelTree) -> str:
    """What is wrong with the answer to a read, in words; empty if nothing is.

    Args:
        part: what was asked: the request, or a part of a ``multi-read``.
        request: the request.
        talk: what passed on the links.
        tree: after all transactions up to the zxid in the answer.
    """
    judge = _JUDGES.get(part.name)
    return "" if judge is None else judge(_Read(part, request, talk, tree))


def differing(told: tuple[int, ...], right: StatFields) -> str:
    """Which fields of a Stat are not what they must be, in words; empty if all are."""
    return ", ".join(
        f"{name} {value} where it is {due}"
        for name, value, due in zip(StatFields._fields, told, right, strict=True)
        if value != due
    )


class _Read:
    """A read, its answer, and what the answer must be."""

    def __init__(self, part: Part, request: Request, talk: Conversations, tree: ModelTree) -> None:
        self.part = part
        self.request = request
        self.talk = talk
        self.tree = tree
        self.right: View | None = tree.view(part.path or "/")

    def stat(self) -> str:
        """What is wrong with the Stat."""
        if self.part.stat is None or self.right is None:
            return ""
        return differing(self.part.stat, self.right.stat)

    def error(self, permission: int = 0) -> str | None:
        """What is wrong with the error; None if there is none, rightly.

        Args:
            permission: what the read needs; 0: nothing.
        """
        error = self.part.error or 0
        if error == NO_NODE:
            return "" if self.right is None else "NoNode, and it exists"
        if error not in (0, NO_AUTH):
            return ""
        if self.right is None:
            return "of it, and it does not exist"
        may = None
        if permission:
            may = allowed(self.right.acl, permission, self.talk.identities_of(self.request))
        if error == NO_AUTH:
            return "NoAuth, and may read it" if may else ""
        return "of it, and may not read it" if permission and may is False else None


def _exists(read: _Read) -> str:
    return error if (error := read.error()) is not None else read.stat()


def _data(read: _Read) -> str:
    if (error := read.error(READ)) is not None:
        return error
    if read.right is not None and read.part.told != read.right.data:
        return f"data of {read.part.told and read.part.told[0]} bytes that are not its"
    return read.stat()


def _children(read: _Read) -> str:
    if (error := read.error(READ)) is not None:
        return error
    told = read.part.children
    if read.right is not None and told is not None and told != read.right.children:
        return f"{told[0]} children that are not its {read.right.children[0]}"
    return read.stat()


def _acl(read: _Read) -> str:
    if (error := read.error(READ | ADMIN)) is not None:
        return error
    if read.right is not None and read.part.acl not in sums(read.right.acl):
        return "another access control list than it has"
    return read.stat()


def _count(read: _Read) -> str:
    if read.part.path in ("", "/"):
        return ""  # znodes of the servers' own count there
    if (error := read.error(READ)) is not None:
        return error
    number = sum(1 for _ in read.tree.below(f"{read.part.path}/"))
    return "" if number == read.part.count else f"{read.part.count} znodes below, of {number}"


def _ephemerals(read: _Read) -> str:
    if read.part.error:
        return ""
    session = read.talk.session_of(read.request)
    prefix = read.part.path or "/"
    own = [path.encode() for path, node in read.tree.below(prefix) if node.owner == session]
    told = read.part.children
    if told is None or told == sum_of_names(own):
        return ""
    return f"{told[0]} ephemeral znodes that are not its {len(own)}"


_JUDGES: dict[str, Callable[[_Read], str]] = {
    "exists": _exists,
    "get-data": _data,
    "get-children": _children,
    "get-children2": _children,
    "get-acl": _acl,
    "count-children": _count,
    "get-ephemerals": _ephemerals,
}
