"""Znodes that clients have left on the servers, looked for in the final phase.

These functions raise what kazoo raises. They only read, so operations that use them can be declared
``operation(changes=False)``.
"""

import time
from collections.abc import Callable, Iterable
from operator import not_
from typing import Final, TypedDict, TypeVar

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from rumpus.checker.history import session_hex

REQUEST_PATIENCE_S: Final = 5.0
"""How long a request may take, in seconds."""

PAUSE_S: Final = 0.2
"""Seconds from one look to the next."""

Left = TypeVar("Left")


class Node(TypedDict):
    """A znode: ``owner`` is the session of an ephemeral one, in hex."""

    path: str
    owner: str | None
    czxid: int


class Leftovers(TypedDict):
    """The value of an operation that looks for leftovers."""

    nodes: list[Node]


def names_in(kazoo: KazooClient, folder: str) -> list[str]:
    """A znode's children in order, after a sync; [] if there is no such znode."""
    kazoo.sync_async(folder).get(timeout=REQUEST_PATIENCE_S)
    try:
        return sorted(kazoo.get_children_async(folder).get(timeout=REQUEST_PATIENCE_S))
    except NoNodeError:
        return []


def children_of(kazoo: KazooClient, folder: str) -> list[str]:
    """The same children, as paths."""
    return [f"{folder}/{name}" for name in names_in(kazoo, folder)]


def nodes_at(kazoo: KazooClient, paths: Iterable[str]) -> list[Node]:
    """The znodes at these paths, without those that do not exist."""
    nodes = []
    for path in paths:
        stat = kazoo.exists_async(path).get(timeout=REQUEST_PATIENCE_S)
        if stat is not None:
            owner = session_hex(stat.ephemeralOwner) if stat.ephemeralOwner else None
            nodes.append(Node(path=path, owner=owner, czxid=stat.czxid))
    return nodes


def ephemerals_below(kazoo: KazooClient, top: str) -> list[Node]:
    """The ephemeral znodes at a path and anywhere below it."""
    found = []
    folders = [top]
    while folders:
        folder = folders.pop()
        found += [node for node in nodes_at(kazoo, [folder]) if node["owner"] is not None]
        folders += children_of(kazoo, folder)
    return found


def until_nothing_is_left(look: Callable[[], Left], patience: float) -> Left:
    """Look again and again until nothing is left, and return what the last look saw.

    Args:
        look: returns what is left; false if nothing is.
        patience: seconds to go on; longer than dead clients' sessions take to expire.
    """
    return look_until(not_, look, patience)


def look_until(
    settled: Callable[[Left], bool],
    look: Callable[[], Left],
    patience: float,
    pause: float = PAUSE_S,
) -> Left:
    """Look again and again until what is seen is as it should be, and return the last of it.

    Args:
        settled: whether what was seen is as it should be.
        look: returns what is seen now.
        patience: seconds to go on.
        pause: seconds from one look to the next.
    """
    deadline = time.monotonic() + patience
    while not settled(seen := look()) and time.monotonic() < deadline:
        time.sleep(pause)
    return seen
