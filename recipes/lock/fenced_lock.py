"""A fair lock together with the fence of what it protects.

The lock alone cannot keep a holder that was paused from acting late; ``recipes.lock.fencing`` can.
Here the two go together: the token of a grant is the czxid of its node, which grows with each
grant, and ``fence`` refuses what comes under an older one.
"""

from typing import ClassVar

from kazoo.client import KazooClient

from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.lock.contest_lock import ContestLock, FairLock
from rumpus.recipes.lock.fencing import ZooKeeperFence
from rumpus.recipes.promises import Promises


class FencedLock(ContestLock):
    """A fair lock with a fence.

    Write to what it protects with ``lock.fence.write(lock.token, ...)``; or take the token to any
    other resource that compares tokens.
    """

    contest = FairContest
    _fence_class: ClassVar[type[ZooKeeperFence]] = ZooKeeperFence
    promises: ClassVar[Promises] = FairLock.promises.and_more(
        {"stale-action", "refused-sequencer"},
        "A holder that was paused may believe too long, and try; the resource refuses it. Only "
        "what is done through the fence is protected.",
        fenced=True,
    )

    def __init__(
        self, client: KazooClient, path: str, *, name: str = "", grace: float = 2.0
    ) -> None:
        super().__init__(client, path, name=name, grace=grace)
        self.fence = self._fence_class(client, self.fence_path(path))

    @staticmethod
    def fence_path(path: str) -> str:
        """Where the fence of a lock stands: beside it."""
        return f"{path}-fence"
