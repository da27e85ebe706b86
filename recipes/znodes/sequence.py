"""Unique, increasing numbers: from sequential znodes, or from the version of one znode."""

from contextlib import suppress
from typing import ClassVar

from kazoo.exceptions import NoNodeError

from rumpus.recipes.promises import Promises
from rumpus.recipes.znodes.znode_access import ZnodeAccess

_PROMISES = Promises(
    prevents=frozenset({"duplicate-sequence", "sequence-regression", "stuck-waiter"}),
    notes="There are gaps: numbers whose reply was lost are nobody's.",
)


class SequentialNodes(ZnodeAccess):
    """The server appends the number to the name of a new node, which is then removed again."""

    promises: ClassVar[Promises] = _PROMISES

    def generate(self) -> int:
        """The next number, larger than all that were given out before the call."""
        with self._asking() as ask:
            node = ask(self._client.create_async, f"{self._path}/n-", ephemeral=True, sequence=True)
            with suppress(NoNodeError):
                ask(self._client.delete_async, node)
            return int(node.rpartition("-")[2])


class VersionNumbers(ZnodeAccess):
    """Each set of a node makes its version the next number."""

    promises: ClassVar[Promises] = _PROMISES

    def generate(self) -> int:
        """The next number, larger than all that were given out before the call."""
        with self._asking() as ask:
            return int(ask(self._client.set_async, self._path, b"").version)
