"""Elections and locks on etcd that queue, with one known mistake each."""

from typing import Any, ClassVar

from rumpus.recipes.catalogue_entry import variant
from rumpus.recipes.etcd.etcd_access import after_prefix, created_at, delete
from rumpus.recipes.etcd.etcd_election import EtcdElection
from rumpus.recipes.etcd.etcd_queue import Ahead, EtcdQueue, Place
from rumpus.recipes.etcd.etcd_queue_lock import EtcdQueueLock
from rumpus.recipes.etcd.etcd_session import EtcdSession
from rumpus.recipes.leases.lease_lock import TTL_S
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Unanswered


class _DoesNotWait(EtcdQueue):
    def _is_ours(self, place: Place, deadline: Deadline) -> bool:
        return not place.session.lost


class _ResignsByPrefix(EtcdQueue):
    def _ahead(self, place: Place) -> Ahead | None:
        before = self._in_order("DESCEND", max_create_revision=place.revision - 1)
        answer = self._access.transaction([], [before])
        return self._last(answer)

    def _remove(self, place: Place) -> bool:
        prefix = f"{self._path}/"
        ours = created_at(place.key, place.revision)
        everything = delete(prefix, range_end=after_prefix(prefix))
        return bool(self._access.transaction([ours], [everything]).get("succeeded"))


class _IgnoresEnd(EtcdSession):
    def remaining(self) -> float:
        return 0.0 if self._closed.is_set() else TTL_S

    @property
    def lost(self) -> bool:
        return self._closed.is_set()

    def _extend(self, began: float, ttl: int) -> bool:
        return True


class _ProclaimsEarly(EtcdQueue):
    def _value(self, *, acknowledged: bool = False) -> str:
        return super()._value(acknowledged=True)


class _FirstSessionOnly(EtcdQueue):
    _first: EtcdSession | None = None

    def _opened(self) -> EtcdSession:
        if self._first is None:
            self._first = super()._opened()
        if self._first.lost:
            raise Unanswered("the session has ended")
        return self._first


def _with(**parts: Any) -> type[EtcdElection]:
    return variant(EtcdElection, queue_class=variant(EtcdQueue, **parts))


UnqueuedElection = variant(EtcdElection, queue_class=_DoesNotWait)
ResignsByPrefixElection = variant(EtcdElection, queue_class=_ResignsByPrefix)
IgnoresLostLeaseElection = _with(session_class=_IgnoresEnd)
UnboundElection = _with(bound=False)
ProclaimsEarlyElection = variant(EtcdElection, queue_class=_ProclaimsEarly)
FirstSessionElection = variant(EtcdElection, queue_class=_FirstSessionOnly)
UnqueuedLock = variant(EtcdQueueLock, queue_class=_DoesNotWait)


class SerializableObserverElection(EtcdElection):
    """Observers read from one server alone."""

    reading: ClassVar[dict[str, Any]] = {"serializable": True}


class CountsTermsElection(EtcdElection):
    """Its epoch is the number of its own terms."""

    _terms = 0

    def campaign(self, timeout: float | None = None) -> bool:
        """Campaign, and count."""
        won = super().campaign(timeout)
        self._terms += won
        return won

    @property
    def token(self) -> int | None:
        """How often we have led."""
        return None if self._place is None else self._terms


class NeverLeadingElection(EtcdElection):
    """Never believes that it leads."""

    def remaining(self) -> float:
        """Nothing."""
        return 0.0


class CampaignsForEverElection(EtcdElection):
    """Has no timeout."""

    def campaign(self, timeout: float | None = None) -> bool:
        """Campaign until we lead."""
        return super().campaign(None)


class CampaignsForHalfElection(EtcdElection):
    """Gives up early."""

    def campaign(self, timeout: float | None = None) -> bool:
        """Campaign for half of the timeout."""
        return super().campaign(None if timeout is None else timeout / 2)
