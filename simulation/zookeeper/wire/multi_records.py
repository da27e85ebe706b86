"""The headers of results in replies to multi and multiRead.

Source: ``MultiResponse`` of ZooKeeper 3.8.0.
"""

from struct import Struct

from rumpus.simulation.zookeeper.wire.opcodes import ERROR

_HEADER = Struct(">i?i")
_ERROR = Struct(">i?ii")

END = _HEADER.pack(-1, True, -1)
"""Follows the last result."""


def result_header(kind: int) -> bytes:
    """Precedes the result of an operation that has succeeded."""
    return _HEADER.pack(kind, False, 0)


def error_result(code: int) -> bytes:
    """The result of an operation that has failed, or that was rolled back (code 0)."""
    return _ERROR.pack(ERROR, False, code, code)
