"""A fair lock together with a fence for the resource that it protects.

A lock alone cannot stop a paused holder from acting late; a fence (``recipes.lock.fencing``) can.
This lock has both: the token of a grant is the czxid of the holder's node, which grows with each
grant, and ``fence`` refuses writes with a token older than one it has seen.
"""

from typing import ClassVar, Unpack

from kazoo.client import KazooClient

from rumpus.recipes.contests.contender import ContenderOptions
from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.lock.contest_lock import ContestLock, FairLock
from rumpus.recipes.lock.fencing import ZooKeeperFence
from rumpus.recipes.promises import Promises


class FencedLock(ContestLock):
    """A fair lock with a fence.

    Write to the protected znodes with ``lock.fence.write(lock.token, ...)``, or send the token to
    any other resource that compares tokens.
    """

    contest = FairContest
    _fence_class: ClassVar[type[ZooKeeperFence]] = ZooKeeperFence
    promises: ClassVar[Promises] = FairLock.promises.and_more(
        {"stale-action", "refused-sequencer"},
        "A holder that was paused may believe too long, and try; the resource refuses it. Only "
        "what is done through the fence is protected.",
        fenced=True,
    )

    def __init__(self, client: KazooClient, path: str, **options: Unpack[ContenderOptions]) -> None:
        super().__init__(client, path, **options)
        self.fence = self._fence_class(client, self.fence_path(path))

    @staticmethod
    def fence_path(path: str) -> str:
        """The path of the znode that holds the fence of the lock at ``path``."""
        return f"{path}-fence"
