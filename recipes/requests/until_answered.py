"""One question asked again until there is an answer, across lost connections and sessions.

For what may be asked twice: a look, or a write that a second one of the same kind leaves as it is.
"""

from collections.abc import Callable
from typing import TypeVar

from kazoo.client import KazooClient

from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retrying_call import RetryingCall
from rumpus.recipes.requests.session import Session, Unanswered

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
    with RetryingCall(client, deadline.left(), grace=0.0) as call:
        found = call.rounds(lambda: (attempt(call.session),))
    if found is None:
        raise Unanswered("no answer in time")
    return found[0]
