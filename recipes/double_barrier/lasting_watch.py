"""Watches as the documents know them: ZooKeeper's own client keeps them over a lost connection.

kazoo drops a client's watches with its connection; the client libraries of ZooKeeper set them anew
on the next server, which fires those that should have fired meanwhile ("ZooKeeper Programmer's
Guide, Watches"; ``SetWatches`` in the server). A recipe that waits for one event is to be judged
with such a watch, else a run shows kazoo's ways instead of the text's.
"""

from kazoo.client import KazooClient
from kazoo.protocol.states import EventType, WatchedEvent, ZnodeStat

from rumpus.recipes.requests.retrying_call import RetryingCall


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

    def look(self, call: RetryingCall) -> ZnodeStat | None:
        """The node's Stat, None if it is not there; the watch is set with the first look.

        Raises what ``Session.ask`` does.
        """
        if not self._set:
            self._seen = self._read(call)
            self._set = True
        return self._seen

    def fired(self, call: RetryingCall) -> bool:
        """Whether the event has come; sets the watch anew if its connection was lost.

        Raises what ``Session.ask`` does.
        """
        if self._broken and not self._fired:
            self._broken = False
            try:
                now = self._read(call)
            except BaseException:
                self._broken = True
                raise
            self._fired = _zxid(now) != _zxid(self._seen)
        return self._fired

    def wait(self, call: RetryingCall) -> bool:
        """Wait for the event; False when the call's time is over.

        Raises what ``Session.ask`` does.
        """
        while True:
            call.session.wake.clear()
            if self.fired(call):
                return True
            if call.deadline.passed:
                return False
            call.wait()

    def _read(self, call: RetryingCall) -> ZnodeStat | None:
        session = call.session

        def news(event: WatchedEvent) -> None:
            if event.type == EventType.NONE:
                self._broken = True
            else:
                self._fired = True
            session.wake.set()

        stat: ZnodeStat | None = call.read(self._client.exists_async, self._node, news)
        return stat


def _zxid(stat: ZnodeStat | None) -> int | None:
    return None if stat is None else int(stat.mzxid)
