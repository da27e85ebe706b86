"""A fair lock with a lock-delay: after a holder has failed nobody gets it for a while.

Chubby's remedy for resources that cannot check tokens (Burrows, The Chubby lock service, OSDI 2006,
section 2.4): requests that a dead or disconnected holder has sent shall arrive before the next
holder begins. It helps only if the delay is longer than such requests take. After a release, the
next contender gets the lock at once.

ZooKeeper does not tell a contender whether the previous holder released or failed. So the holder
writes a *mark* that outlives it, into the persistent znode ``taken`` beside the queue's nodes.

- The first contender **takes** the lock: one transaction checks that its own node is there, and
  writes its unique id into the mark, on condition that the mark has not changed since it was read.
- A holder releases by one transaction that removes its own node and empties the mark.
- So a first contender that reads another's id in the mark knows that this holder is gone and has
  not released. It waits for the delay, counted from that read, and then takes the lock. If it dies
  while it waits, the next contender waits the whole delay again: longer, never shorter.

We read the mark after the list that showed us first, through the same server, so the mark is no
older than the list. If the mark has changed since, the transaction fails.
"""

import time
from typing import ClassVar, Final, Unpack

from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import BadVersionError, NoNodeError
from kazoo.protocol.states import ZnodeStat

from rumpus.recipes.contests.contender import ContenderOptions
from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.lock.contest_lock import ContestLock, FairLock
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import pause
from rumpus.recipes.requests.transaction import commit, raise_refusal

DELAY: Final = 1.0
"""Default lock-delay, in seconds. Chubby's is usually a minute."""

DRIFT: Final = 0.05
"""Fraction of the delay that is added, as our clock may be fast."""


class DelayedContest(FairContest):
    """A fair contest whose first contender wins only once it has taken the lock. See the module."""

    def __init__(self, client: KazooClient, path: str, name: str, grace: float) -> None:
        super().__init__(client, path, name, grace)
        self.delay = DELAY
        self._taken = f"{path}/taken"
        self._failure: tuple[int, float] | None = None
        """A failed holder's mark, by its mzxid, and when we first saw it, on our clock."""

    def _round(self, entry: Entry, deadline: Deadline) -> bool:
        return super()._round(entry, deadline) and self._take(entry, deadline)

    def _take(self, entry: Entry, deadline: Deadline) -> bool:
        """Take the lock, as the first contender; False: not yet, look again.

        Raises:
            NoNodeError: our own node is gone.
        """
        whose, stat = self._look(entry, deadline)
        if whose == entry.mark:
            return True  # an earlier try whose answer was lost
        if whose:
            wait = self._to_wait(stat)
            if wait > 0:
                pause(deadline, wait)
                return False
        try:
            self._transact(entry, deadline, entry.mark, stat.version, remove=False)
        except BadVersionError:
            return False
        return True

    def _to_wait(self, stat: ZnodeStat) -> float:
        """Seconds still to wait until the delay of the failed holder with this mark is over."""
        if self._failure is None or self._failure[0] != stat.mzxid:
            self._failure = (stat.mzxid, time.monotonic())
        return self._failure[1] + self.delay * (1 + DRIFT) - time.monotonic()

    def _take_out(self, entry: Entry, deadline: Deadline) -> bool:
        node = self._settled_node(entry, deadline)
        if node is None:
            return False
        whose, _ = self._look(entry, deadline)
        if whose != entry.mark:
            return self._delete(entry, node, deadline)
        try:
            self._transact(entry, deadline, "", -1, remove=True)
        except NoNodeError:
            return False
        return True

    def _settled_node(self, entry: Entry, deadline: Deadline) -> str | None:
        """The node to remove, if there is one; earlier tries to take the lock are over then."""
        if entry.node is None and entry.tried:
            entry.node = self._find(entry, deadline)
        if entry.node is not None and entry.unsure:  # perhaps we have taken it without knowing it
            self._settle_earlier(entry, deadline)
        return entry.node

    def _look(self, entry: Entry, deadline: Deadline) -> tuple[str, ZnodeStat]:
        """The id in the mark (of whoever has taken the lock and not released it), or empty."""
        try:
            data, stat = entry.session.ask(deadline, self._client.get_async, self._taken)
        except NoNodeError:
            self._ensure_parent(entry, self._taken, deadline)
            data, stat = entry.session.ask(deadline, self._client.get_async, self._taken)
        return data.decode(), stat

    def _transact(
        self, entry: Entry, deadline: Deadline, mark: str, version: int, *, remove: bool
    ) -> None:
        """Change the mark, on condition that our own node is there; ``remove`` also deletes it.

        Raises:
            NoNodeError: our own node is not there.
            BadVersionError: the mark has changed since it was read.
        """
        transaction: TransactionRequest = self._client.transaction()
        if remove:
            transaction.delete(entry.node)
        else:
            transaction.check(entry.node, -1)
        transaction.set_data(self._taken, mark.encode(), version)

        raise_refusal(commit(entry.session, deadline, transaction, self._path))


class DelayedLock(ContestLock):
    """A fair lock with a lock-delay. See the module.

    Args:
        client, path, name, grace: see ``recipes.contests.contender``.
        delay: seconds for which nobody gets it after a holder has failed.
    """

    contest = DelayedContest
    promises: ClassVar[Promises] = FairLock.promises.and_more(
        {"early-grant"},
        "After a holder's session has ended without a release nobody is granted the lock for "
        "the delay; after a release somebody is at once. What a failed holder still does "
        "after the delay is not prevented: let the resource check tokens.",
        delay=DELAY,
    )

    def __init__(
        self,
        client: KazooClient,
        path: str,
        *,
        delay: float = DELAY,
        **options: Unpack[ContenderOptions],
    ) -> None:
        super().__init__(client, path, **options)
        assert isinstance(self._contest, DelayedContest)
        self._contest.delay = delay
