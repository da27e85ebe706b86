"""What clients have left on the servers, looked at in the final phase.

All of these raise what kazoo raises; an operation that uses them changes nothing
(``operation(changes=False)``).
"""

import time
from collections.abc import Callable, Iterable
from operator import not_
from typing import Final, TypedDict, TypeVar

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

REQUEST_PATIENCE_S: Final = 5.0
"""How long a look may take."""

PAUSE_S: Final = 0.2
"""From one look to the next."""

Left = TypeVar("Left")


class Node(TypedDict):
    """A znode: ``owner`` is the session of an ephemeral one, in hex."""

    path: str
    owner: str | None
    czxid: int


class Leftovers(TypedDict):
    """What an operation tells that looks for them."""

    nodes: list[Node]


def hexadecimal(session: int) -> str:
    """A session's id as histories have it."""
    return f"0x{session & 0xFFFFFFFFFFFFFFFF:x}"


def names_in(kazoo: KazooClient, folder: str) -> list[str]:
    """A znode's children in order, by all that was committed before; [] without it."""
    kazoo.sync_async(folder).get(timeout=REQUEST_PATIENCE_S)
    try:
        return sorted(kazoo.get_children_async(folder).get(timeout=REQUEST_PATIENCE_S))
    except NoNodeError:
        return []


def children_of(kazoo: KazooClient, folder: str) -> list[str]:
    """The same, as paths."""
    return [f"{folder}/{name}" for name in names_in(kazoo, folder)]


def nodes_at(kazoo: KazooClient, paths: Iterable[str]) -> list[Node]:
    """Those of the znodes that exist."""
    nodes = []
    for path in paths:
        stat = kazoo.exists_async(path).get(timeout=REQUEST_PATIENCE_S)
        if stat is not None:
            owner = hexadecimal(stat.ephemeralOwner) if stat.ephemeralOwner else None
            nodes.append(Node(path=path, owner=owner, czxid=stat.czxid))
    return nodes


def until_nothing_is_left(look: Callable[[], Left], patience: float) -> Left:
    """Look again and again until there is nothing, and return the last look.

    Args:
        look: what is left; false if nothing is.
        patience: seconds to go on; longer than sessions of the dead take to expire.
    """
    return look_until(not_, look, patience)


def look_until(
    settled: Callable[[Left], bool],
    look: Callable[[], Left],
    patience: float,
    pause: float = PAUSE_S,
) -> Left:
    """Look again and again until a look is as it should be, and return the last one.

    Args:
        settled: whether it is.
        look: what is seen.
        patience: seconds to go on.
        pause: seconds from one look to the next.
    """
    deadline = time.monotonic() + patience
    while not settled(seen := look()) and time.monotonic() < deadline:
        time.sleep(pause)
    return seen
