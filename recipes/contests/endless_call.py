"""Calls that do not look at the clock: a mistake of several families."""

from kazoo.client import KazooClient

from rumpus.recipes.requests.retrying_call import RetryingCall


class EndlessCall(RetryingCall):
    """Goes on until it has found what it looks for."""

    def __init__(self, client: KazooClient, timeout: float | None, grace: float) -> None:  # noqa: ARG002 - that is the mistake
        super().__init__(client, None, grace)
