"""Watches that outlast a lost connection, as in ZooKeeper's own client libraries.

kazoo drops a client's watches with its connection. ZooKeeper's own libraries set them again on the
next server, which fires those that should have fired meanwhile ("ZooKeeper Programmer's Guide,
Watches"; ``SetWatches`` in the server). A published recipe that waits for one event is tested with
such a watch: with kazoo's, a run would show a property of kazoo and not of the text.
"""

from kazoo.client import KazooClient
from kazoo.protocol.states import EventType, WatchedEvent, ZnodeStat

from rumpus.recipes.requests.retrying_call import RetryingCall


class LastingWatch:
    """One watch on a node's existence and data; it fires once.

    Args:
        client: a started client with kazoo's threading handler.
        node: the path of the watched node.
    """

    def __init__(self, client: KazooClient, node: str) -> None:
        self._client = client
        self._node = node
        self._seen: ZnodeStat | None = None
        self._set = self._fired = self._broken = False

    def look(self, call: RetryingCall) -> ZnodeStat | None:
        """The node's Stat as first read, None if it was missing; the first call sets the watch.

        Raises what ``Session.ask`` does.
        """
        if not self._set:
            self._seen = self._read(call)
            self._set = True
        return self._seen

    def fired(self, call: RetryingCall) -> bool:
        """Whether the event has come; sets the watch again if its connection was lost.

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
        """Wait for the event; False if the call timed out.

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
