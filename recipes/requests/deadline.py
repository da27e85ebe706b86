"""A point in time by which something has to be done."""

import threading
import time


class Deadline:
    """Seconds from now, with an allowance for answers that are on their way by then.

    Args:
        seconds: how long to wait; None is for ever. Negative counts as 0.
        allowance: how much longer requests may go unanswered. With it, a timeout of 0 still
            asks once.
    """

    def __init__(self, seconds: float | None, allowance: float = 0.0) -> None:
        self._at = None if seconds is None else time.monotonic() + max(0.0, seconds)
        self._allowance = allowance

    def left(self) -> float | None:
        """Seconds left to wait, at least 0; None is for ever."""
        return None if self._at is None else max(0.0, self._at - time.monotonic())

    def left_for_answers(self) -> float | None:
        """Seconds left until an answer is given up, at least 0; None is for ever."""
        if self._at is None:
            return None
        return max(0.0, self._at + self._allowance - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether the time to wait is over."""
        return self._at is not None and time.monotonic() >= self._at

    def acquire(self, lock: threading.Lock) -> bool:
        """Wait for a lock, until the deadline at most; whether it was acquired."""
        left = self.left()
        return lock.acquire(timeout=-1 if left is None else left)
