"""A holder that also writes to a znode behind a fence (``recipes.lock.fencing``)."""

import time
from typing import Any, Final

from kazoo.client import TransactionRequest
from kazoo.exceptions import KazooException, NoNodeError

from rumpus.harness.clients.client_body import Outcome
from rumpus.harness.clients.messages import Acted
from rumpus.recipes.lock.fencing import StaleToken, ZooKeeperFence
from rumpus.recipes.outcomes import OutcomeUnknown
from rumpus.workloads.contests.contention import REQUEST_PATIENCE_S, ContentionClient

WRITE_PATIENCE_S: Final = 1.5
BETWEEN_S: Final = 0.05
"""Between two tries."""
TRIES: Final = 4
"""A process that was frozen loses the first to its connection, the next to its session."""


def data_path(path: str) -> str:
    """The znode that is protected by the fence of the lock at a path."""
    return f"{path}-data"


class FencedClient(ContentionClient):
    """Writes its token to the protected znode before each action on the witness.

    ``work`` returns ``writes`` beside ``acts``: token and the znode's version of each write that
    was acknowledged; and ``refused``, the token, if the fence refused one.

    Args:
        fence: what it writes through.
        data: the znode.
        contention: arguments of ``ContentionClient``.
    """

    def __init__(
        self, *arguments: Any, fence: ZooKeeperFence, data: str, **contention: Any
    ) -> None:
        super().__init__(*arguments, **contention)
        self._fence = fence
        self._data = data
        self._writes: list[tuple[int, int]] = []
        self._refused = False

    def _do_work(self, value: dict[str, Any]) -> Outcome:
        self._writes, self._refused = [], False
        token = self._grant.token
        outcome = super()._do_work(value)
        told = {**outcome.value, "writes": self._writes}
        if self._refused:
            told["refused"] = token
        return Outcome(outcome.type, told, outcome.error)

    def _act(self, token: int | None) -> Acted:
        try:
            self._write_until_answered(token)
        except StaleToken:
            self._refused = True
        answer = super()._act(token)
        return Acted(answer.accepted and not self._refused, answer.order, answer.linger)

    def _write_until_answered(self, token: int | None) -> None:
        """Write, again while nobody knows: under one token twice does no harm.

        As any storage's client, it does not ask whether its user still holds a lock.
        """
        unanswered = (OutcomeUnknown, KazooException, self._context.kazoo.handler.timeout_exception)
        for _ in range(TRIES):
            try:
                self._write(token)
            except unanswered:  # if it was carried out, the servers' logs tell
                time.sleep(BETWEEN_S)
            else:
                return

    def _write(self, token: int | None) -> None:
        def change(transaction: TransactionRequest) -> None:
            transaction.set_data(self._data, str(token).encode())

        try:
            (stat,) = self._fence.write(token, change, WRITE_PATIENCE_S)
        except NoNodeError:
            self._context.kazoo.ensure_path_async(self._data).get(timeout=REQUEST_PATIENCE_S)
            (stat,) = self._fence.write(token, change, WRITE_PATIENCE_S)
        assert token is not None, "a fence lets no write pass without a token"
        self._writes.append((token, stat.version))
