"""The unfair contest: one ephemeral node that everybody tries to create.

One succeeds; the others watch the node and all try again when it is gone. Simple, in no order,
and every release wakes everyone.

Whose node it is stands in its data (a unique mark) and in its ephemeral owner, so a create that
comes back with "exists" may turn out to have been ours: the reply to an earlier try was lost.
The look that follows is not stale, because the refused create was itself a write through the same
server, which has applied everything up to it before it answers.

**Removing.** The path is shared, so a delete is only sent in the session that made the node
(``recipes.requests.session``), and only after a look has shown that the node is ours.
"""

from kazoo.exceptions import NodeExistsError, NoNodeError
from kazoo.protocol.states import ZnodeStat

from rumpus.recipes.contests.contest import Contest, Entry
from rumpus.recipes.promises import Line
from rumpus.recipes.requests.deadline import Deadline


class UnfairContest(Contest):
    """Whoever is quickest. The node is ``path`` itself; see the module."""

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
            # A stale look could miss our node, or show it although a delete that got no answer
            # has removed it and the path is somebody else's by now.
            self._settle_earlier(entry, deadline)
        try:
            data, stat = entry.session.ask(deadline, self._client.get_async, self._path)
        except NoNodeError:
            return False
        return self._ours(entry, data, stat) and self._delete(entry, self._path, deadline)
