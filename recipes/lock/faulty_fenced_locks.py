"""Fenced locks whose tokens, or whose fence, are wrong."""

from kazoo.client import KazooClient

from rumpus.recipes.lock.fenced_lock import FencedLock
from rumpus.recipes.lock.fencing import StaleToken, ZooKeeperFence
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session


class MemoryOfOne(ZooKeeperFence):
    """Remembers what this client has written, not what others have."""

    def __init__(self, client: KazooClient, path: str) -> None:
        super().__init__(client, path)
        self._highest = 0

    def _admit(self, session: Session, token: int | None, deadline: Deadline) -> int:
        session.ask(deadline, self._client.ensure_path_async, self._path)
        if token is None or token < self._highest:
            raise StaleToken(f"{self._path}: token {token}, and {self._highest} has been seen")
        self._highest = token
        return -1


class LookThenWrite(ZooKeeperFence):
    """Compares a token once, and then writes under it whatever happens."""

    _admitted: int | None = None

    def _admit(self, session: Session, token: int | None, deadline: Deadline) -> int:
        if token is None or token != self._admitted:
            super()._admit(session, token, deadline)
            self._admitted = token
        return -1


class AlsoEqual(ZooKeeperFence):
    """Refuses the token that it has seen last, too."""

    def _admit(self, session: Session, token: int | None, deadline: Deadline) -> int:
        return super()._admit(session, None if token is None else token - 1, deadline)


class LocalCounterLock(FencedLock):
    """Its tokens are counted by each client."""

    def __init__(
        self, client: KazooClient, path: str, *, name: str = "", grace: float = 2.0
    ) -> None:
        super().__init__(client, path, name=name, grace=grace)
        self._grants = 0

    @property
    def token(self) -> int | None:
        """How often this client has been granted the lock."""
        return self._grants if self._grant else None

    def acquire(self, timeout: float | None = None) -> bool:
        """As every lock's; counts."""
        granted = super().acquire(timeout)
        self._grants += granted
        return granted
