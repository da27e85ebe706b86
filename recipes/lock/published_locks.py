"""Faulty locks that are printed in published documents (see ``recipes.published.documents``)."""

import threading
from typing import ClassVar

from kazoo.client import KazooClient

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.unfair_contest import UnfairContest
from rumpus.recipes.lock.contest_lock import FairLock, UnfairLock
from rumpus.recipes.mistake import given, made
from rumpus.recipes.promises import Line, Promises
from rumpus.recipes.requests.deadline import Deadline

LOCK_NODE = "/lock"
"""The lock's node below its parent. The parent's other children belong to other locks."""


class _WatchesParent(UnfairContest):
    def __init__(self, client: KazooClient, path: str, name: str, grace: float) -> None:
        super().__init__(client, path + LOCK_NODE, name, grace)
        self._parent = path

    @classmethod
    def line(cls, path: str) -> Line:
        return Line(kind="single", path=path + LOCK_NODE)

    def _await(self, entry: Entry, deadline: Deadline) -> bool:
        """True if the node is ours; else wait until the parent's children change."""
        session = entry.session
        session.wake.clear()
        session.ask(deadline, self._client.get_children_async, self._parent, session.watcher())
        held = session.ask(deadline, self._client.exists_async, self._path)
        if held is None:
            return False
        data, stat = session.ask(deadline, self._client.get_async, self._path)
        if self._ours(entry, data, stat):
            entry.node, entry.token = self._path, stat.czxid
            return True
        made(self._path, entry.mark)
        session.wake.wait(deadline.left())
        return False


class WatchesParentLock(UnfairLock):
    """Everybody tries to make one ephemeral node, and watches the children of its parent."""

    contest = _WatchesParent
    promises: ClassVar[Promises] = Promises(
        prevents=FairLock.promises.prevents - {"double-grant", "unfair-grant"},
        wakeups=1,
        tokens=True,
        reentrant=True,
        notes=UnfairLock.promises.notes,
    )


class TrustsItsMapLock(FairLock):
    """Only a map within the client says what a thread holds; its session is not checked."""

    def acquire(self, timeout: float | None = None) -> bool:
        """Returns at once for a thread in the map."""
        if self._grant is not None and self._owner == threading.get_ident():
            given(True, super()._believes, self.node)
            self._count += 1
            return True
        return super().acquire(timeout)

    @property
    def _believes(self) -> bool:
        return given(self._grant is not None, super()._believes, self.node)
