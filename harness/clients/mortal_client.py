"""A kazoo client that fails at its n-th write, to abandon an operation half-way on purpose.

To others, the call looks like a process that stopped between two requests, at exactly that step,
with its session still alive: a process that hangs.
"""

from typing import Any

from kazoo.client import KazooClient

from rumpus.recipes.outcomes import OutcomeUnknown


class Died(OutcomeUnknown):
    """The client has issued all writes that it was to issue; their effects stay."""


class MortalClient:
    """A kazoo client that raises ``Died`` instead of any further write after so many.

    Args:
        kazoo: the client.
        writes: how many creates, sets, deletes and multis it issues before.
    """

    def __init__(self, kazoo: KazooClient, writes: int) -> None:
        self._kazoo = kazoo
        self._left = writes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kazoo, name)

    def create_async(self, *args: Any, **options: Any) -> Any:
        """As kazoo's, while writes are left."""
        self._write()
        return self._kazoo.create_async(*args, **options)

    def set_async(self, *args: Any, **options: Any) -> Any:
        """As kazoo's, while writes are left."""
        self._write()
        return self._kazoo.set_async(*args, **options)

    def delete_async(self, *args: Any, **options: Any) -> Any:
        """As kazoo's, while writes are left."""
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
