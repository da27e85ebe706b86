"""Which requests have a short answer, told before they are processed."""

from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.wire import opcodes
from rumpus.simulation.zookeeper.wire.jute import MalformedRecord
from rumpus.simulation.zookeeper.wire.request_records import read_path_and_watch

SHORT = 4096
"""Bytes of data, of names or of a request for which its answer is short."""

_LISTINGS = frozenset({opcodes.GET_CHILDREN, opcodes.GET_CHILDREN2})
_BY_REQUEST = (
    opcodes.WRITES
    | {opcodes.SYNC, opcodes.PING, opcodes.EXISTS, opcodes.GET_ALL_CHILDREN_NUMBER}
    | {opcodes.ADD_WATCH, opcodes.CHECK_WATCHES, opcodes.REMOVE_WATCHES}
) - {opcodes.RECONFIG}
"""Their answers have no more bytes than their request, and a Stat for each operation."""


def has_short_answer(kind: int, body: bytes, tree: DataTree) -> bool:
    """Whether the answer to a request is short: some times `SHORT` at most.

    A znode may change before the request is processed, so the answer may still be a long one.

    Args:
        kind: the type of the request.
        body: of the request.
        tree: as it is now.
    """
    if kind in _BY_REQUEST:
        return len(body) <= SHORT
    if kind != opcodes.GET_DATA and kind not in _LISTINGS:
        return False
    try:
        path, _ = read_path_and_watch(body)
    except MalformedRecord:
        return True
    node = tree.nodes.get(path)
    if node is None:
        return True
    if kind == opcodes.GET_DATA:
        return len(node.data or b"") <= SHORT
    return 4 * len(node.children) <= SHORT and sum(map(len, node.children)) <= SHORT
