"""Watches as the documents know them: ZooKeeper's own client keeps them over a lost connection.

kazoo drops a client's watches with its connection; the client libraries of ZooKeeper set them anew
on the next server, which fires those that should have fired meanwhile ("ZooKeeper Programmer's
Guide, Watches"; ``SetWatches`` in the server). A recipe that waits for one event is to be judged
with such a watch, else a run shows kazoo's ways instead of the text's.
"""

from kazoo.client import KazooClient
from kazoo.protocol.states import EventType, WatchedEvent, ZnodeStat

from rumpus.recipes.requests.retrying_call import Errand


class LastingWatch:
    """One watch on whether a node exists and what it holds; it fires once.

    Args:
        client: a started client with kazoo's threading handler.
        node: what is watched.
    """

    def __init__(self, client: KazooClient, node: str) -> None:
        self._client = client
        self._node = node
        self._seen: ZnodeStat | None = None
        self._set = self._fired = self._broken = False

    def look(self, errand: Errand) -> ZnodeStat | None:
        """The node's Stat, None if it is not there; the watch is set with the first look.

        Raises what ``Session.ask`` does.
        """
        if not self._set:
            self._seen = self._read(errand)
            self._set = True
        return self._seen

    def fired(self, errand: Errand) -> bool:
        """Whether the event has come; sets the watch anew if its connection was lost.

        Raises what ``Session.ask`` does.
        """
        if self._broken and not self._fired:
            self._broken = False
            try:
                now = self._read(errand)
            except BaseException:
                self._broken = True
                raise
            self._fired = _zxid(now) != _zxid(self._seen)
        return self._fired

    def wait(self, errand: Errand) -> bool:
        """Wait for the event; False when the errand's time is over.

        Raises what ``Session.ask`` does.
        """
        while True:
            errand.session.wake.clear()
            if self.fired(errand):
                return True
            if errand.deadline.passed:
                return False
            errand.wait()

    def _read(self, errand: Errand) -> ZnodeStat | None:
        session = errand.session

        def news(event: WatchedEvent) -> None:
            if event.type == EventType.NONE:
                self._broken = True
            else:
                self._fired = True
            session.wake.set()

        stat: ZnodeStat | None = errand.read(self._client.exists_async, self._node, news)
        return stat


def _zxid(stat: ZnodeStat | None) -> int | None:
    return None if stat is None else int(stat.mzxid)
