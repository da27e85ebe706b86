"""Asking again until there is an answer, across lost connections and lost sessions.

For what may be asked twice: a look, or a write that a second one of the same kind leaves as it is.
"""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionClosedError, SessionExpiredError

from recipes.deadline import Deadline
from recipes.session import Session, Unanswered

PAUSE: Final = 0.05
"""Seconds between two tries after a lost connection or session."""

Answer = TypeVar("Answer")


def until_answered(
    client: KazooClient, deadline: Deadline, attempt: Callable[[Session], Answer]
) -> Answer:
    """Make attempts until one returns.

    An attempt is given the session to ask in: the same one as before, or another if that one was
    lost in between.

    Raises:
        Unanswered: the time is over, and there was no answer.
        ConnectionClosedError: the client was stopped.
        ZookeeperError: what else the server answered.
    """
    session = Session(client)
    try:
        while True:
            try:
                return attempt(session)
            except ConnectionClosedError:
                raise
            except SessionExpiredError as error:
                session.close()
                session = Session(client)
                if deadline.passed:
                    raise Unanswered("the session was lost") from error
            except Unanswered:
                if deadline.passed:
                    raise
            left = deadline.left()
            time.sleep(PAUSE if left is None else min(PAUSE, left))
    finally:
        session.close()
