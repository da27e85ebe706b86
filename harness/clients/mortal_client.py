"""A kazoo client that dies at its n-th write: how an operation is given up half-way on purpose.

Whoever uses it for one call sees a process die between two requests, at exactly that step, with
its session still alive, as a process does that hangs.
"""

from typing import Any

from kazoo.client import KazooClient

from rumpus.recipes.outcomes import OutcomeUnknown


class Died(OutcomeUnknown):
    """The step before which it was to die has been reached; others see what it has left."""


class MortalClient:
    """A client in all, but that it raises ``Died`` once so many writes have been issued.

    Args:
        kazoo: the client.
        writes: how many creates, sets, deletes and multis it lives to issue.
    """

    def __init__(self, kazoo: KazooClient, writes: int) -> None:
        self._kazoo = kazoo
        self._left = writes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kazoo, name)

    def create_async(self, *args: Any, **options: Any) -> Any:
        """As the client's, while it lives."""
        self._write()
        return self._kazoo.create_async(*args, **options)

    def set_async(self, *args: Any, **options: Any) -> Any:
        """As the client's, while it lives."""
        self._write()
        return self._kazoo.set_async(*args, **options)

    def delete_async(self, *args: Any, **options: Any) -> Any:
        """As the client's, while it lives."""
        self._write()
        return self._kazoo.delete_async(*args, **options)

    def transaction(self) -> Any:
        """A multi, which is one write when it is committed."""
        transaction = self._kazoo.transaction()
        commit = transaction.commit_async

        def commit_async() -> Any:
            self._write()
            return commit()

        transaction.commit_async = commit_async
        return transaction

    def _write(self) -> None:
        if not self._left:
            raise Died
        self._left -= 1
