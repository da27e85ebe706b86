"""This client's cached copy of a file, which is dropped before a change of the file is carried out.

Burrows, section 2.7: a change is held back until every client that may have the file in its cache
has dropped it, or its lease has run out. Meanwhile the file cannot be cached, and reads go to the
servers. ZooKeeper's writes wait for nobody, so the recipe makes them wait:

- A client that caches a file first creates an ephemeral *entry* below the file's mark of changes,
  on condition that no change is under way. Then it reads the file, and watches the mark.
- A change (``recipes.chubby.file_change``) first writes into the mark that it is under way: no
  entry can be created from then on. It waits until there is no entry any more, and only then
  changes the file.
- A client that sees the mark change drops its copy, and then removes its entry. That removal is the
  acknowledgement. The entry of a client that does not answer goes with its session.

**Why the copy is current.** The entry was created while no change was under way, and the file was
read after that. No change is carried out while the entry exists, and it exists as long as the
session lives, unless we remove it after we have dropped the copy. So while the lease lasts, which
ends before the session can, the copy is what the servers hold. Lost watches do no harm: they delay
the change, not us.

We take the copy first and look at the lease second. The other way round, a process that is frozen
between the two would return a copy that was current before it was frozen, and is not any more.

A read that is not answered from the cache first makes a write without effect
(``Session.catch_up``), so that it sees every change whose call had returned before.
"""

import threading
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import BadVersionError, NoNodeError, SessionExpiredError
from kazoo.protocol.states import ZnodeStat

from rumpus.recipes.chubby.cell import Contents, FilePaths, read_file
from rumpus.recipes.chubby.change_mark import ChangeMark, Patience
from rumpus.recipes.chubby.lease import Lease
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import PAUSE
from rumpus.recipes.requests.session import Session, Unanswered
from rumpus.recipes.requests.transaction import commit, raise_refusal

LOOK_S: Final = 5.0
"""Seconds that one look of the thread that keeps the copy may take before it is begun anew."""


@dataclass(frozen=True)
class CacheEntry:
    """The znode that says that we have the file in our cache, and the mark's version then."""

    node: str
    version: int


class CachedFile:
    """One file as this client sees it. See the module.

    Args:
        client: a started client with kazoo's threading handler.
        paths: the file's znodes.
        lease: the lease of the session in which the copy is kept.
        abandoned_after: seconds after which a change of somebody else counts as abandoned.
    """

    def __init__(
        self, client: KazooClient, paths: FilePaths, lease: Lease, abandoned_after: float
    ) -> None:
        self._client = client
        self._paths = paths
        self._lease = lease
        self._patience = Patience(abandoned_after)
        self._session = Session(client)
        self._news = self._session.watcher()
        self._filling = threading.Lock()
        self._changing = threading.Lock()
        self._entry: CacheEntry | None = None
        self._copy: Contents | None = None
        self._dropped: list[CacheEntry] = []
        self._closed = False
        self._kept = False

    def read(self, deadline: Deadline) -> Contents:
        """The file: from the cache if it is there and the session is safe, else from the servers.

        Raises:
            NoNodeError: there is no such file.
            HandleInvalid, InJeopardy: as ``Lease.admit``.
            SessionExpiredError, Unanswered: as ``Session.ask``.
        """
        copy = self._copy
        if copy is not None and self._is_current():
            return copy
        self._lease.admit(deadline)
        if not deadline.acquire(self._filling):
            raise Unanswered("another thread reads the file")
        try:
            if not self._kept:
                self._kept = True
                threading.Thread(target=self._keep, name="cached-file", daemon=True).start()
            return self._read_from_servers(deadline)
        finally:
            self._filling.release()

    def _is_current(self) -> bool:
        """Whether the copy that was taken just before may be returned."""
        return self._lease.remaining() > 0

    def drop(self) -> None:
        """Drop the copy; its entry is removed soon. Never blocks."""
        with self._changing:
            self._copy = None
            if self._entry is not None:
                self._dropped.append(self._entry)
                self._entry = None
        self._session.wake.set()

    def close(self) -> None:
        """Drop the copy for good. Never blocks."""
        self._closed = True
        self.drop()
        if not self._kept:  # else the thread that keeps the copy does it
            self._session.close()

    def _read_from_servers(self, deadline: Deadline) -> Contents:
        stat = self._cacheable(deadline)
        entry = None if stat is None else self._enter(stat.version, deadline)
        if entry is None:
            self._session.catch_up(deadline, f"{self._paths.cache}/none")
            return read_file(self._client, self._session, deadline, self._paths)
        try:
            found = read_file(self._client, self._session, deadline, self._paths)
        except BaseException:
            self.drop()
            raise
        with self._changing:
            if self._entry is entry:
                self._copy = found._replace(cached=True)
        return found

    def _cacheable(self, deadline: Deadline) -> ZnodeStat | None:
        """The mark's Stat if no change is under way, with a watch on the mark; else None."""
        ask, client, cache = self._session.ask, self._client, self._paths.cache
        data, stat = ask(deadline, client.get_async, cache, self._news)
        mark = ChangeMark.parse(data)
        if mark.change is None:
            return stat
        if self._patience.exhausted(stat):
            idle = ChangeMark(None, mark.last).dump()
            with suppress(BadVersionError):
                ask(deadline, client.set_async, cache, idle, stat.version)
        return None

    def _enter(self, version: int, deadline: Deadline) -> CacheEntry | None:
        """Create our entry, unless the mark has another version by now."""
        entry = CacheEntry(f"{self._paths.cache}/{uuid.uuid4().hex}", version)
        with self._changing:
            if self._closed or self._entry is not None or self._dropped:
                return None
            self._entry = entry
        transaction: TransactionRequest = self._client.transaction()
        transaction.check(self._paths.cache, version)
        transaction.create(entry.node, ephemeral=True)
        try:
            raise_refusal(commit(self._session, deadline, transaction, entry.node))
        except BadVersionError:
            with self._changing:
                if self._entry is entry:
                    self._entry = None
            return None
        except BaseException:
            self.drop()
            raise
        return entry

    def _keep(self) -> None:
        """Look at the mark after every piece of news, and drop the copy when it has changed."""
        session = self._session
        while not session.lost and not (self._closed and not self._dropped):
            session.wake.clear()
            try:
                self._look()
            except SessionExpiredError:
                break
            except Unanswered:
                time.sleep(PAUSE)
                continue
            if not (self._closed and not self._dropped):
                session.wake.wait()
        with self._changing:
            self._copy = self._entry = None
        session.close()

    def _look(self) -> None:
        deadline = Deadline(LOOK_S)
        with self._changing:
            entry = self._entry
        if entry is not None:
            ask, get = self._session.ask, self._client.get_async
            _, stat = ask(deadline, get, self._paths.cache, self._news)
            if stat.version != entry.version:
                self._invalidate(entry)
        while self._dropped:
            with suppress(NoNodeError):
                self._session.ask(deadline, self._client.delete_async, self._dropped[0].node)
            del self._dropped[0]

    def _invalidate(self, entry: CacheEntry) -> None:
        """Drop the copy, as the mark has changed since its entry was made."""
        if self._entry is entry:
            self.drop()
