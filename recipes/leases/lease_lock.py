"""A lock that is a lease: a key with its holder's random value, which ends after a time to live.

A holder counts the time to live on its own monotonic clock, from before it sent the request by
which it was granted. So its belief ends before the servers' does, as long as all clocks run at the
same rate. No session is needed: a client that is lost frees the lock by doing nothing.

That bounds what a holder believes, not what it does. Between its last look and its action it can be
frozen for any time. Only a resource that checks tokens refuses such an action.
"""

import random
import threading
import time
from abc import ABC, abstractmethod
from typing import ClassVar, Final, NamedTuple

from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.promises import HOLDING, Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import pause
from rumpus.recipes.requests.session import Unanswered
from rumpus.recipes.servers import Servers

TTL_S: Final = 2.0
"""Seconds that a lease lasts."""

DRIFT: Final = 0.01
"""By how much the rates of two clocks may differ, as a share, plus two milliseconds. The allowance
is that of Redlock's description."""

REQUEST_S: Final = 0.5
"""Seconds that a server may take to answer."""

BETWEEN_S: Final = (0.02, 0.06)
"""Seconds between two tries: drawn between these, so that those who wait do not try together."""

LEASE: Final = frozenset({"split-brain", "stale-belief", "stuck-waiter", "deadlock"}) | HOLDING
"""What a lease promises as long as its servers neither forget a grant nor miscount time. A key that
is left over ends by itself, so nobody waits for ever for the lock of a client that is gone."""


class Granted(NamedTuple):
    """The answer of the servers to a try that was granted. ``token``: None if they give none."""

    token: int | None


class LeaseLock(ABC):
    """A lease with the interface of the other locks; see the module. Not for several threads.

    Subclasses name the ``system`` that they run on (``harness.docker.systems``) and the
    ``library``, a distribution of the package index, by which they speak to it.
    """

    system: ClassVar[str]
    library: ClassVar[str]
    promises: ClassVar[Promises]

    def __init__(self, servers: Servers, path: str, *, name: str = "", grace: float = 1.0) -> None:
        self._servers = servers
        self._key = path
        self._name = name
        self._grace = grace
        self._draws = random.Random()
        self._owner: int | None = None
        self._until = 0.0
        self._token: int | None = None
        self._lock = threading.Lock()

    @classmethod  # noqa: B027 - it has no znodes
    def line(cls, path: str) -> None:
        """None: nobody queues."""

    # What a system has to do.

    @abstractmethod
    def _try(self, owner: int) -> Granted | None:
        """Try once to write the key with this value and the time to live; None if it is there.

        Raises:
            Unanswered: nobody knows.
        """

    @abstractmethod
    def _remove(self, owner: int) -> bool:
        """Remove the key if it has this value; whether it had.

        Raises:
            Unanswered: nobody knows.
        """

    @abstractmethod
    def left(self) -> list[str]:
        """Places at which the key is now. May raise what the library raises."""

    # What clients call.

    def acquire(self, timeout: float | None = None) -> bool:
        """Try until the lease is granted, or for ``timeout`` seconds; whether it was granted.

        Raises:
            LockUnknown: the last try was not answered. It may have been granted, and then the key
                ends by itself.
        """
        deadline = Deadline(timeout)
        while True:
            # A new value for each try: a server that was frozen may yet remove that of an old one.
            owner = self._draws.getrandbits(62) + 1
            began = time.monotonic()
            unknown: Unanswered | None = None
            try:
                granted = self._try(owner)
            except Unanswered as error:
                granted, unknown = None, error
            if granted is not None:
                until = began + TTL_S * (1 - DRIFT) - 0.002
                if time.monotonic() < until:
                    with self._lock:
                        self._owner, self._until, self._token = owner, until, granted.token
                    return True
            if granted is not None or unknown is not None:
                unknown = self._undone(owner)
            if deadline.passed:
                if unknown is not None:
                    raise LockUnknown(str(unknown)) from unknown
                return False
            pause(deadline, self._draws.uniform(*BETWEEN_S))

    def release(self) -> None:
        """Remove the key, if it is still ours.

        Raises:
            NotHeld: nothing was granted, or the lease had ended.
            LockUnknown: no answer. The key ends by itself.
        """
        with self._lock:
            owner, self._owner, self._until = self._owner, None, 0.0
        if owner is None:
            raise NotHeld(f"{self._key}: not held")
        deadline = Deadline(self._grace)
        while True:
            try:
                removed = self._remove(owner)
                break
            except Unanswered as error:
                if deadline.passed:
                    raise LockUnknown(str(error)) from error
                pause(deadline, BETWEEN_S[0])
        if not removed:
            raise NotHeld(f"{self._key}: the lease had ended")

    def remaining(self) -> float:
        """Seconds for which the lease still lasts; 0 without one."""
        with self._lock:
            return max(0.0, self._until - time.monotonic())

    @property
    def held(self) -> bool:
        """Whether the lease still lasts."""
        return self.remaining() > 0

    @property
    def session(self) -> int | None:
        """The value that the key has in this hold: it names the grant, as a session would."""
        return self._owner

    @property
    def token(self) -> int | None:
        """The fencing token of the grant, where the servers give one."""
        return self._token

    @property
    def node(self) -> str | None:
        """The key."""
        return self._key

    def close(self) -> None:  # noqa: B027 - nothing goes on
        """Nothing: a lease that nobody renews ends by itself."""

    def _undone(self, owner: int) -> Unanswered | None:
        """Remove the key of a try that is of no use; the error if nobody knows."""
        try:
            self._remove(owner)
        except Unanswered as error:
            return error
        return None
