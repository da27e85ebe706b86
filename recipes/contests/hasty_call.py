"""Calls that give up too early: a mistake of several families."""

from kazoo.client import KazooClient

from rumpus.recipes.requests.retrying_call import RetryingCall


class HastyCall(RetryingCall):
    """Takes half of the time that it is given."""

    def __init__(self, client: KazooClient, timeout: float | None, grace: float) -> None:
        super().__init__(client, None if timeout is None else timeout / 2, grace)
