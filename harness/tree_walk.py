"""A walk through the whole tree of a server: the bytes to send it, and what its answers mean.

Pure: bytes in, bytes out, without clock or socket. A session of its own asks for the tree's data,
ACLs and children as fast as the server answers: many requests are on their way at once, because
with one at a time a large tree would take minutes. It leaves no watch and changes nothing.
"""

import struct
from collections import deque
from typing import Final

from rumpus.harness.links.zookeeper_frames import (
    LENGTH_BYTES,
    PING_XID,
    WATCH_XID,
    FrameReader,
    connect_request,
    request,
    session_granted,
    session_timeout,
)

AT_ONCE: Final = 300
"""Znodes asked for at once, by three requests each: together below the 1,000 that a server lets
wait before it reads no more (``globalOutstandingLimit``)."""

UNSEEN: Final = b"/zookeeper"
"""What is below it is the servers' own."""

_GET_DATA, _GET_ACL, _GET_CHILDREN, _SYNC, _CLOSE = 4, 6, 12, 9, -11
_OF_A_ZNODE: Final = (("getData", _GET_DATA), ("getACL", _GET_ACL), ("getChildren2", _GET_CHILDREN))
_NO_NODE = -101

_INT = struct.Struct(">i")
_REPLY = struct.Struct(">iiqi")  # length, xid, zxid, error


class TreeWalk:
    """One walk, over one connection, from the handshake to the end of the session.

    Attributes:
        znodes: how many have been seen: all three answers about them have come, and the last does
            not say that there is none.
        zxid: the highest in the header of a reply; 0 before the first.
        session: its session's id; 0 if it has none.
        over: whether the session is closed.
    """

    def __init__(self, session_timeout_ms: int) -> None:
        self.znodes = 0
        self.zxid = 0
        self.session = 0
        self.over = False
        self._timeout = session_timeout_ms
        self._reader = FrameReader()
        self._synced = False
        self._closing = False
        self._sent = 0
        """The xid of the last request."""
        self._answered = 0
        """The xid of the last reply."""
        self._left: deque[bytes] = deque()
        """Paths to ask for."""
        self._asked: deque[bytes] = deque()
        """Paths of which answers are to come, in order."""
        self._part = 0
        """Which answer about the first of them comes next."""

    def begin(self) -> bytes:
        """What to send first."""
        return connect_request(self._timeout)

    def take(self, data: bytes) -> bytes:
        """Take the next bytes from the server; what to send now, maybe nothing.

        Raises:
            ValueError: no server answers so, or it gave no session, or no sync.
        """
        frames = self._reader.feed(data)
        if not self._reader.tracking:
            raise ValueError("what it sends is not ZooKeeper's protocol")
        sent: list[bytes] = []
        try:
            for frame in frames:
                if not self.session:
                    sent.append(self._welcomed(frame))
                else:
                    sent += self._reply(frame)
        except struct.error as error:
            raise ValueError(f"a reply is cut short ({error})") from error
        sent += self._ask()
        return b"".join(sent)

    def stop(self) -> bytes:
        """Ask for nothing more; what to send so that the session is closed.

        What has been asked for is still awaited. A walk without a session is over.
        """
        self._left.clear()
        if not self.session:
            self.over = True
        if self.over or self._closing:
            return b""
        self._closing = True
        return self._request(_CLOSE)

    def _welcomed(self, frame: bytes) -> bytes:
        if session_timeout(frame) <= 0:
            raise ValueError("it granted no session")
        self.session = session_granted(frame)
        if not self.session:
            raise ValueError("it granted a session without an id")
        return self._request(_SYNC, _INT.pack(1) + b"/")

    def _reply(self, frame: bytes) -> list[bytes]:
        """Take one reply; what to send because of it alone."""
        _, xid, zxid, error = _REPLY.unpack_from(frame)
        if xid in (WATCH_XID, PING_XID):
            return []
        self._answered += 1
        if xid != self._answered:
            raise ValueError(f"a reply carries xid {xid} where {self._answered} was due")
        self.zxid = max(self.zxid, zxid)
        if not self._synced:
            if error:
                raise ValueError(f"it refused to sync: error {error}")
            self._synced = True
            if not self._closing:
                self._left.append(b"/")
        elif self._asked:
            self._answer(frame, error)
        else:
            self.over = True
        return []

    def _answer(self, frame: bytes, error: int) -> None:
        """Take an answer about the first of the paths that were asked for."""
        self._part += 1
        if self._part < len(_OF_A_ZNODE):
            return
        self._part = 0
        path = self._asked.popleft()
        self.znodes += error != _NO_NODE
        if not error and path != UNSEEN and not self._closing:
            above = b"" if path == b"/" else path
            self._left += [b"%s/%s" % (above, name) for name in _children(frame)]

    def _ask(self) -> list[bytes]:
        """Requests for as many znodes as may be asked for now; where none is left, the last one."""
        sent = []
        while self._left and len(self._asked) < AT_ONCE:
            path = self._left.popleft()
            self._asked.append(path)
            place = _INT.pack(len(path)) + path
            sent += [
                self._request(_GET_DATA, place + b"\0"),
                self._request(_GET_ACL, place),
                self._request(_GET_CHILDREN, place + b"\0"),
            ]
        if self._synced and not self._asked and not self._closing:
            sent.append(self.stop())
        return sent

    def _request(self, opcode: int, body: bytes = b"") -> bytes:
        self._sent += 1
        return request(self._sent, opcode, body)


def _children(frame: bytes) -> list[bytes]:
    """The names in a reply to getChildren2."""
    (count,) = _INT.unpack_from(frame, _REPLY.size)
    at = _REPLY.size + LENGTH_BYTES
    names = []
    for _ in range(count):
        (length,) = _INT.unpack_from(frame, at)
        at += LENGTH_BYTES
        names.append(frame[at : at + length])
        at += length
    return names
