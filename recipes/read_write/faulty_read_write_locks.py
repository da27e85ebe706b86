"""Read-write locks with one known mistake each, which the harness must find."""

import threading
from typing import ClassVar

from kazoo.client import KazooClient
from kazoo.protocol.states import EventType, WatchedEvent

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.faulty_contenders import (
    BelievesForGood,
    CountsItsOwnGrants,
    HalvesTimeout,
    IgnoresTimeout,
    NeverBelieves,
)
from rumpus.recipes.contests.faulty_contests import (
    FirstSessionOnly,
    KeepsPlace,
    PersistentNode,
    WatchesFirst,
)
from rumpus.recipes.read_write.read_write_lock import (
    READ,
    WRITE,
    ReadContest,
    ReadLock,
    ReadWriteLock,
    WriteContest,
    WriteLock,
)
from rumpus.recipes.read_write.revocable_lock import RevocableReadWriteLock
from rumpus.recipes.requests.deadline import Deadline


class _PersistentReads(PersistentNode, ReadContest):
    pass


class _PersistentWrites(PersistentNode, WriteContest):
    pass


class _PersistentReader(ReadLock):
    contest = _PersistentReads


class _PersistentWriter(WriteLock):
    contest = _PersistentWrites


class _ComesBack(KeepsPlace, WriteContest):
    pass


class _ComingBackWriter(WriteLock):
    contest = _ComesBack


class _WatchesFirstReads(WatchesFirst, ReadContest):
    pass


class _WatchesFirstWrites(WatchesFirst, WriteContest):
    pass


class _WatchesFirstReader(ReadLock):
    contest = _WatchesFirstReads


class _WatchesFirstWriter(WriteLock):
    contest = _WatchesFirstWrites


class _FirstSessionWrites(FirstSessionOnly, WriteContest):
    pass


class _FirstSessionWriter(WriteLock):
    contest = _FirstSessionWrites


class _CountingWriter(CountsItsOwnGrants, WriteLock):
    pass


class _BelievingReader(BelievesForGood, ReadLock):
    pass


class _BelievingWriter(BelievesForGood, WriteLock):
    pass


class _UnbelievingReader(NeverBelieves, ReadLock):
    pass


class _UnbelievingWriter(NeverBelieves, WriteLock):
    pass


class _PatientReader(IgnoresTimeout, ReadLock):
    pass


class _PatientWriter(IgnoresTimeout, WriteLock):
    pass


class _ImpatientReader(HalvesTimeout, ReadLock):
    pass


class _ImpatientWriter(HalvesTimeout, WriteLock):
    pass


class _Barging(ReadContest):
    def _blocking(self, ahead: list[str]) -> list[str]:
        return ahead if ahead and WRITE in ahead[0] else []


class _BargingReader(ReadLock):
    contest = _Barging


class _Mislabelled(WriteContest):
    mark: ClassVar[str] = READ


class _MislabelledWriter(WriteLock):
    contest = _Mislabelled


class _ReadersIgnored(WriteContest):
    def _blocking(self, ahead: list[str]) -> list[str]:
        return [node for node in ahead if WRITE in node]


class _WriterAmongReaders(WriteLock):
    contest = _ReadersIgnored


class _NoRecheck(WriteContest):
    def _round(self, entry: Entry, deadline: Deadline) -> bool:
        self._enter(entry, deadline)
        ahead = self._ahead(entry, deadline)
        return not ahead or self._await(self._watched(ahead), entry, deadline)


class _HastyWriter(WriteLock):
    contest = _NoRecheck


class BargingReaders(ReadWriteLock):
    """Its readers join those who read, past a writer who waits."""

    reader = _BargingReader
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "a reader looks at the first node only: it goes in beside other readers, past a writer "
        "that waits, and the writer, who has nobody before it any more, goes in beside it"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"split-brain", "unfair-grant"})


class MislabelledWriter(ReadWriteLock):
    """Its writer's node is called a reader's."""

    writer = _MislabelledWriter
    faulty: ClassVar[bool] = True
    printed: ClassVar[str] = "L 3.6"
    mistake: ClassVar[str] = (
        "the writer's node is created under the readers' prefix (a slip of the pen in article "
        "L), so nobody who reads waits for it"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"split-brain"})


class WriterAmongReaders(ReadWriteLock):
    """Its writer waits for writers only."""

    writer = _WriterAmongReaders
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "a writer, too, waits only for writers before it: it goes in beside those who read"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"split-brain", "unfair-grant"})


class HastyWriter(ReadWriteLock):
    """Its writer does not look again."""

    writer = _HastyWriter
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "a writer goes in when the nearest node before it vanishes, without looking whether "
        "other readers are still there"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"split-brain", "unfair-grant"})


class NotifiedOnlyLock(RevocableReadWriteLock):
    """It hears of requests only by events."""

    faulty: ClassVar[bool] = True
    printed: ClassVar[str] = "L 3.7"
    mistake: ClassVar[str] = (
        "a holder leaves a watch once and from then on waits for its event: it misses a request "
        "that was there before, and every one after a change of connection, which takes the "
        "watch along"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"missed-revocation"})

    def __init__(
        self, client: KazooClient, path: str, *, name: str = "", grace: float = 2.0
    ) -> None:
        super().__init__(client, path, name=name, grace=grace)
        self._watched: str | None = None
        self._notified = threading.Event()

    def _look(self, entry: Entry, deadline: Deadline) -> bool:
        def news(event: WatchedEvent) -> None:
            if event.type == EventType.CHANGED:
                self._notified.set()
                entry.session.wake.set()

        entry.session.wake.clear()
        if self._watched != entry.node:
            self._notified.clear()
            entry.session.ask(deadline, self._client.get_async, entry.node, news)
            self._watched = entry.node
        return self._notified.is_set()


class PersistentNodeReadWriteLock(ReadWriteLock):
    """Its nodes are not ephemeral."""

    reader = _PersistentReader
    writer = _PersistentWriter
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "the nodes are persistent: they outlive their holders and sessions"
    expected: ClassVar[frozenset[str]] = frozenset({"orphan-node", "deadlock"})


class KeepsPlaceReadWriteLock(ReadWriteLock):
    """Its writer comes back to its old place."""

    writer = _ComingBackWriter
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "a writer whose session ended creates its node anew under the old name, before those who "
        "have been let in meanwhile"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"double-grant"})


class WatchesFirstReadWriteLock(ReadWriteLock):
    """Everybody watches whoever is first in the way."""

    reader = _WatchesFirstReader
    writer = _WatchesFirstWriter
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "watches the first of those in the way in place of the nearest: every release wakes all "
        "who wait"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"herd"})


class FirstSessionOnlyReadWriteLock(ReadWriteLock):
    """A client whose session has ended once writes no more."""

    writer = _FirstSessionWriter
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "the writing side remembers that its session is lost, and not that the client has a new "
        "one: it never contends again"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"stuck-waiter"})


class CountsWritesLock(ReadWriteLock):
    """Its writers' tokens are each client's own."""

    writer = _CountingWriter
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "a writer's token is how often this client has been one"
    expected: ClassVar[frozenset[str]] = frozenset({"token-regression"})


class BelievesForGoodReadWriteLock(ReadWriteLock):
    """Its holders do not listen."""

    reader = _BelievingReader
    writer = _BelievingWriter
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "goes on believing that it holds while suspended, and after LOST"
    expected: ClassVar[frozenset[str]] = frozenset({"unaware-holder"})


class NeverHeldReadWriteLock(ReadWriteLock):
    """Its holders do not know that they hold."""

    reader = _UnbelievingReader
    writer = _UnbelievingWriter
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "held is always false: a holder does nothing with the lock"
    expected: ClassVar[frozenset[str]] = frozenset({"unbelieving-holder"})


class IgnoresTimeoutReadWriteLock(ReadWriteLock):
    """Those who wait for it do not give up."""

    reader = _PatientReader
    writer = _PatientWriter
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "acquire takes a timeout and waits for ever"
    expected: ClassVar[frozenset[str]] = frozenset({"overdue-call"})


class HalvesTimeoutReadWriteLock(ReadWriteLock):
    """Those who wait for it give up too early."""

    reader = _ImpatientReader
    writer = _ImpatientWriter
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "acquire gives up after half of its timeout"
    expected: ClassVar[frozenset[str]] = frozenset({"early-timeout"})
