"""What a link sees of watches on one connection: reads that set them, and their events.

A reply's header has the zxid of the last transaction that the server had applied. So for a watch it
is known from which zxid on it was set, and for an event what the client had been shown before.
"""

from rumpus.harness.links import zookeeper_frames
from rumpus.harness.links.links import WatchLeft, WatchSeen
from rumpus.harness.links.zookeeper_frames import WATCH_XID

NO_NODE = -101
UNIMPLEMENTED = -6


class WatchTracing:
    """Reads the frames of one connection, in the order in which they pass.

    Args:
        client: whose connection it is.
        number: the connection's number among that client's.
    """

    __slots__ = ("_asked", "_client", "_number", "shown", "unimplemented")

    def __init__(self, client: int, number: int) -> None:
        self._client = client
        self._number = number
        self._asked: dict[int, zookeeper_frames.Watching] = {}
        self.shown = 0
        """The highest zxid of a reply that has passed."""
        self.unimplemented = False
        """Whether a reply has passed that refuses a request as unknown."""

    def request(self, frame: bytes) -> None:
        """Take a request on its way to the server."""
        watching = zookeeper_frames.watching(frame)
        if watching is not None:
            self._asked[watching.xid] = watching

    def reply(self, frame: bytes, now: int) -> WatchSeen | WatchLeft | None:
        """Take a reply or an event on its way to the client; returns what it tells of watches.

        Args:
            frame: the whole packet.
            now: monotonic nanoseconds.
        """
        header = zookeeper_frames.reply_header(frame)
        if header is None:
            return None
        if header.xid == WATCH_XID:
            seen = zookeeper_frames.watched(frame)
            if seen is None:
                return None
            return WatchSeen(now, self._client, seen.event, seen.path, self._number, self.shown)
        self.shown = max(self.shown, header.zxid)
        self.unimplemented = self.unimplemented or header.error == UNIMPLEMENTED
        asked = self._asked.pop(header.xid, None)
        if asked is None or not (
            header.error == 0 or (header.error == NO_NODE and asked.kind == "exists")
        ):
            return None
        return WatchLeft(now, self._client, asked.kind, asked.path, self._number, header.zxid)
