"""The lock of a day's books, mended: the grant is a lease, and its holder counts the time."""

import time
from collections.abc import Mapping

from ledger.lock import BookLock

LEASE_S = 3.0
MARGIN_S = 0.5
LOOK_AGAIN_S = 0.05

GRANT = """
INSERT INTO leases VALUES (%s, 1, clock_timestamp() + make_interval(secs => %s))
ON CONFLICT (key) DO UPDATE SET token = leases.token + 1, ends = excluded.ends
WHERE leases.ends <= clock_timestamp()
RETURNING token
"""


class LeasedBookLock(BookLock):
    """Waiters queue for the advisory lock, which costs nothing. Whoever gets it may still have to
    wait: until the lease of a holder is over whose connection was lost.

    A lease ends by the server's clock. Its holder counts from before it asked for it, and less, so
    it stops believing sooner, whatever has become of its connection.
    """

    promises = ("tokens",)

    def __init__(self, client: None, path: str, services: Mapping[str, str]) -> None:
        super().__init__(client, path, services)
        self.token = 0
        self._until = 0.0

    def remaining(self) -> float:
        """For how many more seconds the worker may believe that it holds the lock."""
        return max(0.0, self._until - time.monotonic())

    def acquire(self, timeout: float = 10.0) -> bool:
        deadline = time.monotonic() + timeout
        if not super().acquire(timeout):
            return False
        while not self._granted():
            if time.monotonic() >= deadline:
                super().release()
                return False
            time.sleep(LOOK_AGAIN_S)
        return True

    def _granted(self) -> bool:
        asked = time.monotonic()
        row = self.ask(GRANT, self.key, LEASE_S)
        if row is None:
            return False
        (self.token,) = row
        self._until = asked + LEASE_S - MARGIN_S
        return True

    def release(self) -> None:
        self._until = 0.0
        self.ask(
            "UPDATE leases SET ends = clock_timestamp() WHERE key = %s AND token = %s "
            "RETURNING token",
            self.key,
            self.token,
        )
        super().release()
