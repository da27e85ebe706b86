"""Several znodes written at once, and read as they were at one moment.

ZooKeeper's ``multi`` carries out all of a transaction or nothing. Reads of several nodes are not
one transaction. So after the reads, a transaction that consists of checks alone compares the
versions of all nodes; if it fails, the nodes are read again.
"""

from typing import Any, ClassVar

from rumpus.recipes.promises import Promises
from rumpus.recipes.znodes.znode_access import Asker, ZnodeAccess

NAMES = ("a", "b", "c")
"""The nodes that are written together."""


class MultiWrite(ZnodeAccess):
    """One value in all of some nodes."""

    promises: ClassVar[Promises] = Promises(
        prevents=frozenset({"torn-multi", "not-linearizable", "stuck-waiter"}),
        notes="Who reads under many writes may have to try many times.",
    )

    def prepare(self) -> None:
        """See that the nodes are there."""
        with self._asking() as ask:
            for name in NAMES:
                ask(self._client.ensure_path_async, self._node(name))

    def write(self, value: str) -> int:
        """Put a value into all nodes; the version that this gives to the last of them."""
        with self._asking() as ask:
            transaction = self._client.transaction()
            for name in NAMES:
                transaction.set_data(self._node(name), value.encode())
            results = ask(transaction.commit_async)
            committed(results, must=True)
            return int(results[-1].version)

    def write_if(self, value: str, version: int) -> int | None:
        """As ``write``, if the last node has that version; None if it had another."""
        with self._asking() as ask:
            transaction = self._client.transaction()
            for name in NAMES[:-1]:
                transaction.set_data(self._node(name), value.encode())
            transaction.set_data(self._node(NAMES[-1]), value.encode(), version)
            results = ask(transaction.commit_async)
            return int(results[-1].version) if committed(results) else None

    def read(self) -> tuple[dict[str, str | None], int]:
        """What the nodes hold at one moment, and the version of the last.

        Shape: name -> value; None where nothing was written yet.
        """
        with self._asking() as ask:
            ask.catch_up()
            while True:
                found = {name: self._look(ask, name) for name in NAMES}
                if self._stood(ask, {name: version for name, (_, version) in found.items()}):
                    return {name: value for name, (value, _) in found.items()}, found[NAMES[-1]][1]

    def _node(self, name: str) -> str:
        return f"{self._path}/{name}"

    def _look(self, ask: Asker, name: str) -> tuple[str | None, int]:
        data, stat = ask(self._client.get_async, self._node(name))
        return data.decode() or None, stat.version

    def _stood(self, ask: Asker, versions: dict[str, int]) -> bool:
        """Whether all these versions are there at one moment."""
        transaction = self._client.transaction()
        for name, version in versions.items():
            transaction.check(self._node(name), version)
        return committed(ask(transaction.commit_async))


def committed(results: list[Any], *, must: bool = False) -> bool:
    """Whether a transaction was committed; kazoo returns errors among its results.

    Raises:
        ZookeeperError: it was not committed, and ``must`` is set.
    """
    errors = [each for each in results if isinstance(each, Exception)]
    if errors and must:
        raise errors[0]
    return not errors
