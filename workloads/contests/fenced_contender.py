"""A holder that also writes to a znode behind a fence (``recipes.lock.fencing``)."""

import time
from typing import Any, Final

from kazoo.client import TransactionRequest
from kazoo.exceptions import KazooException, NoNodeError

from rumpus.harness.clients.leftovers import REQUEST_PATIENCE_S
from rumpus.harness.clients.messages import Acted
from rumpus.recipes.lock.fencing import StaleToken
from rumpus.recipes.outcomes import OutcomeUnknown
from rumpus.workloads.contests.contender import Contender, Work

WRITE_PATIENCE_S: Final = 1.5
BETWEEN_S: Final = 0.05
"""Seconds between two tries of a write."""
TRIES: Final = 4
"""How often a write is tried. In a process that was frozen the first try fails because the
connection is lost, the next because the session has expired."""


def data_path(path: str) -> str:
    """The znode that the fence of the lock at ``path`` protects."""
    return f"{path}-data"


class FencedContender(Contender):
    """Writes its token to the protected znode before each action, which the witness records.

    Args:
        arguments: those of ``Contender``, then the path of the protected znode.
    """

    def __init__(self, *arguments: Any) -> None:
        *contender, self._data = arguments
        super().__init__(*contender)
        self._writes: list[tuple[int, int]] = []
        self._refused: Work = {}

    def work(self, *how: Any) -> Work:
        """Act as every holder, with no writes yet."""
        self._writes, self._refused = [], {}
        return super().work(*how)

    def told(self) -> Work:
        """The writes, and the refused token if any."""
        return {"writes": self._writes, **self._refused}

    def act(self, token: int | None) -> Acted:
        """Write to the protected znode, then act."""
        try:
            self._write_until_answered(token)
        except StaleToken:
            self._refused = {"refused": token}
        answer = super().act(token)
        return Acted(answer.accepted and not self._refused, answer.order)

    def _write_until_answered(self, token: int | None) -> None:
        """Write, and again while the outcome is unknown: twice under one token does no harm.

        Like any storage client, it does not check whether the caller still holds the lock.
        """
        unanswered = (OutcomeUnknown, KazooException, self.context.kazoo.handler.timeout_exception)
        for _ in range(TRIES):
            try:
                self._write(token)
            except unanswered:  # whether it was carried out is in the servers' logs
                time.sleep(BETWEEN_S)
            else:
                return

    def _write(self, token: int | None) -> None:
        def change(transaction: TransactionRequest) -> None:
            transaction.set_data(self._data, str(token).encode())

        fence = self.recipe.fence
        try:
            (stat,) = fence.write(token, change, WRITE_PATIENCE_S)
        except NoNodeError:
            kazoo = self.context.kazoo
            kazoo.ensure_path_async(self._data).get(timeout=REQUEST_PATIENCE_S)
            (stat,) = fence.write(token, change, WRITE_PATIENCE_S)
        assert token is not None, "a fence lets no write pass without a token"
        self._writes.append((token, stat.version))
