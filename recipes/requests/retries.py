"""How requests are retried: after a pause, until a deadline, in one session or over several.

The recipe has to know which of its requests are safe to send twice: reads are, and so are writes
whose repetition changes nothing or is refused.
"""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionClosedError, SessionExpiredError
from kazoo.protocol.states import KeeperState

from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import LONGEST_REQUEST, Unanswered

PAUSE: Final = 0.05
"""Seconds between two attempts."""

Found = TypeVar("Found")


def pause(deadline: Deadline, seconds: float = PAUSE) -> None:
    """Rest before another attempt, but not beyond the deadline."""
    left = deadline.left()
    time.sleep(seconds if left is None else min(seconds, left))


def within_session(deadline: Deadline, attempt: Callable[[], Found]) -> Found:
    """Make attempts until one is answered.

    Raises:
        Unanswered: the time is over.
        SessionExpiredError, ZookeeperError: the attempt raised it.
    """
    while True:
        try:
            return attempt()
        except Unanswered:
            if deadline.passed:
                raise
            pause(deadline)


def over_sessions(
    deadline: Deadline, attempt: Callable[[], Found | None], renew: Callable[[], None]
) -> Found | None:
    """Make attempts until one finds something; None when the time is over.

    Args:
        deadline: for all attempts together.
        attempt: returns None to be called again, at once.
        renew: called when the session is lost, to prepare the next attempt for a new session.

    Raises:
        ConnectionClosedError: the client was stopped.
        ZookeeperError: the server refused a request, and the attempt did not expect it.
    """
    while True:
        try:
            found = attempt()
            if found is not None:
                return found
        except ConnectionClosedError:  # a SessionExpiredError too, so it comes first
            raise
        except SessionExpiredError:
            renew()
            pause(deadline)
        except Unanswered:
            pause(deadline)
        if deadline.passed:
            return None


def started_again(client: KazooClient, patience: float = LONGEST_REQUEST) -> bool:
    """Wait until a client that was stopped has been started again; False if it was not in time.

    Call it after ``ConnectionClosedError``. (That is a subclass of ``SessionExpiredError``: code
    that handles both has to catch it first.)
    """
    deadline = Deadline(patience)
    while client.client_state == KeeperState.CLOSED:
        if deadline.passed:
            return False
        time.sleep(PAUSE)
    return True
