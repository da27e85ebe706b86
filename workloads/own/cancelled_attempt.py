"""Attempts to acquire that wait without a timeout, until another thread cancels them."""

import threading
from collections.abc import Callable
from typing import Any, Final, Literal

from kazoo.exceptions import CancelledError

CancelledWay = Literal["acquire", "with"]
"""How an attempt waits that is cancelled: in ``acquire``, or as a context manager (``with``)."""


AGAIN_S: Final = 0.3
"""Seconds after which it is cancelled again: the first time it may not have begun to wait yet."""


def cancelled_attempt(enter: Callable[[], bool], cancel: Callable[[], Any], timeout: float) -> bool:
    """Have an object acquire without a timeout, and cancel that after so many seconds.

    Args:
        enter: has it acquire; whether it was granted.
        cancel: ends what ``enter`` waits for, which then raises kazoo's ``CancelledError``.
        timeout: seconds.

    Returns:
        Whether it was granted.

    Raises:
        CancelledError: it says that it was cancelled, before it was.
    """
    cancelled, over = threading.Event(), threading.Event()

    def end() -> None:
        pause = timeout
        while not over.wait(pause):
            cancelled.set()
            cancel()
            pause = AGAIN_S

    canceller = threading.Thread(target=end, daemon=True)
    canceller.start()
    try:
        return enter()
    except CancelledError:
        if not cancelled.is_set():
            raise
        return False
    finally:
        over.set()
        canceller.join()
