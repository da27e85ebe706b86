"""Leader election on etcd, as ``concurrency.Election`` of etcd's package.

``go.etcd.io/etcd/client/v3/concurrency/election.go``: candidates queue by the create revision of
their keys (``recipes.etcd.etcd_queue``). The leader proclaims by writing its key, on condition that
the key is still the one that it created, and resigns by deleting it on the same condition.
Observers read the first key: its create revision is the epoch.

Here a leader acknowledges its lead by what it proclaims.
"""

import json
from typing import Any, ClassVar

from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.election.contest_election import Leader
from rumpus.recipes.etcd.etcd_access import decoded
from rumpus.recipes.etcd.etcd_contender import EtcdContender
from rumpus.recipes.leases.lease_lock import LEASE
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import pause
from rumpus.recipes.requests.session import Unanswered


class EtcdElection(EtcdContender):
    """Candidates lead in the order in which they came. See the module."""

    promises: ClassVar[Promises] = Promises(
        prevents=(LEASE - {"deadlock"})
        | {"token-regression", "unfair-grant", "leaderless", "orphan-node"}
        | {"false-acknowledgement", "epoch-regression"},
        tokens=True,
        notes="A leader that is frozen between a look and its action can act after the lead has "
        "passed on: let what it acts on check the epoch. Whether an observer overlooks a leader "
        "(false-observation) and whether an acknowledgement is lost is not judged: that takes "
        "the logs of ZooKeeper's servers.",
    )

    reading: ClassVar[dict[str, Any]] = {}
    """How observers read; by default etcd's reads are linearizable."""

    def campaign(self, timeout: float | None = None) -> bool:
        """Wait to lead, for ever or for ``timeout`` seconds; at once if we lead already.

        Raises:
            LockUnknown: the time is over, and a key of ours may be there until its lease ends.
        """
        return self.leading or self._win(timeout)

    def resign(self) -> None:
        """Step down; takes at most ``grace`` seconds.

        Raises:
            NotHeld: we did not lead, or the lease had ended.
            LockUnknown: no answer in time; the key ends with its lease.
        """
        self._let_go()

    def acknowledge(self) -> None:
        """Tell observers that we know that we lead; takes at most ``grace`` seconds.

        Raises:
            NotHeld: we do not lead, or have lost the lead.
            LockUnknown: no answer in time; observers may be told, or may yet be.
        """
        place = self._place
        if place is None:
            raise NotHeld(f"{self._path}: not led by this client")
        deadline = Deadline(self._grace)
        while True:
            try:
                if self._queue.proclaim(place):
                    return
            except Unanswered as error:
                if deadline.passed:
                    raise LockUnknown(f"{self._path}: cannot tell if acknowledged") from error
                pause(deadline)
            else:
                raise NotHeld(f"{self._path}: the lead has ended")

    def leader(self, timeout: float | None = 5.0) -> Leader | None:
        """Who leads, no older than everything committed before the call; None if nobody does.

        Raises:
            LockUnknown: no answer in time.
        """
        deadline = Deadline(timeout)
        while True:
            try:
                found = self._queue.first(**self.reading)
            except Unanswered as error:
                if deadline.passed:
                    raise LockUnknown(f"{self._path}: cannot tell who leads") from error
                pause(deadline)
                continue
            if found is None:
                return None
            said = json.loads(decoded(found["value"]))
            epoch = int(found["create_revision"])
            return Leader(said["name"], epoch, acknowledged=bool(said.get("acknowledged")))

    @property
    def leading(self) -> bool:
        """Whether we may rely, right now, on being the leader."""
        return self.remaining() > 0
