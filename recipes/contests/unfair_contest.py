"""The unfair contest: one ephemeral node that everybody tries to create.

One succeeds; the others watch the node, and all try again when it is gone. This is simple, but
nobody is served in order, and every release wakes every waiter.

The node's data (a unique mark) and its ephemeral owner show whose it is. So when a create is
refused with "node exists", a read may show that the node is ours: an earlier create succeeded and
its reply was lost. That read is not stale: the refused create was a write through the same server,
and a server applies every earlier write before it answers one.

**Removing.** All contenders use the same path. So a delete is sent only in the session that created
the node (``recipes.requests.session``), and only after a read has shown that the node is ours.
"""

from kazoo.exceptions import NodeExistsError, NoNodeError
from kazoo.protocol.states import ZnodeStat

from rumpus.recipes.contests.contest import Contest, Entry
from rumpus.recipes.promises import Line
from rumpus.recipes.requests.deadline import Deadline


class UnfairContest(Contest):
    """Whoever creates the node first wins. The node is ``path`` itself; see the module."""

    @classmethod
    def line(cls, path: str) -> Line:
        """The one node ``path``."""
        return Line(kind="single", path=path)

    def _round(self, entry: Entry, deadline: Deadline) -> bool:
        entry.tried = True
        try:
            _, stat = entry.session.ask(
                deadline,
                self._client.create_async,
                self._path,
                f"{entry.mark} {self._name}".encode(),
                ephemeral=True,
                include_data=True,
            )
        except NoNodeError:
            self._ensure_parent(entry, self._path.rpartition("/")[0], deadline)
            return False  # the next round finds it
        except NodeExistsError:
            return self._await(entry, deadline)
        entry.node, entry.token = self._path, stat.czxid
        return True

    def _await(self, entry: Entry, deadline: Deadline) -> bool:
        """True if the node is ours; else wait until something happens to it."""
        session = entry.session
        session.wake.clear()
        try:
            data, stat = session.ask(
                deadline, self._client.get_async, self._path, session.watcher()
            )
        except NoNodeError:
            return False
        if self._ours(entry, data, stat):
            entry.node, entry.token = self._path, stat.czxid
            return True
        session.wake.wait(deadline.left())
        return False

    @staticmethod
    def _ours(entry: Entry, data: bytes, stat: ZnodeStat) -> bool:
        return data.startswith(entry.mark.encode()) and entry.session.owns(stat)

    def _take_out(self, entry: Entry, deadline: Deadline) -> bool:
        if not entry.tried:
            return False
        if entry.node is None or entry.unsure:
            # A stale read could miss our node. Or it could still show our node after a delete
            # that got no answer has removed it and somebody else has created the path anew.
            self._settle_earlier(entry, deadline)
        try:
            data, stat = entry.session.ask(deadline, self._client.get_async, self._path)
        except NoNodeError:
            return False
        return self._ours(entry, data, stat) and self._delete(entry, self._path, deadline)
