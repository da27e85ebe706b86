"""Several keys of etcd written by one transaction, and read by another."""

from typing import ClassVar

from rumpus.recipes.etcd.etcd_access import Answer, decoded, get, pairs, put
from rumpus.recipes.etcd.etcd_keys import EtcdKeys, has_version
from rumpus.recipes.promises import Promises
from rumpus.recipes.znodes.multi_write import NAMES


class EtcdMultiWrite(EtcdKeys):
    """One value in all of some keys. A transaction is carried out at one revision, or not at all.

    The version of the last key counts: 0 if it was never written.
    """

    promises: ClassVar[Promises] = Promises(
        prevents=frozenset({"torn-multi", "not-linearizable", "stuck-waiter"})
    )

    def write(self, value: str) -> int:
        """Put a value into all keys; the version that this gives to the last of them."""
        return self._written(self._put(value))

    def write_if(self, value: str, version: int) -> int | None:
        """As ``write``, if the last key has that version; None if it had another."""
        answer = self._put(value, version)
        return self._written(answer) if answer.get("succeeded") else None

    def read(self) -> tuple[dict[str, str | None], int]:
        """What the keys hold at one moment, and the version of the last.

        Shape: name -> value; None where nothing was written yet.
        """
        answer = self._access.transaction([], [get(self._key(name)) for name in NAMES])
        found = {name: pairs(answer, place) for place, name in enumerate(NAMES)}
        values = {name: decoded(kvs[0]["value"]) if kvs else None for name, kvs in found.items()}
        last = found[NAMES[-1]]
        return values, int(last[0]["version"]) if last else 0

    def _put(self, value: str, version: int | None = None) -> Answer:
        """Write all keys, and read the last."""
        last = self._key(NAMES[-1])
        expected = [] if version is None else [has_version(last, version)]
        writes = [put(self._key(name), value) for name in NAMES]
        return self._access.transaction(expected, [*writes, get(last)])

    def _written(self, answer: Answer) -> int:
        return int(pairs(answer, len(NAMES))[0]["version"])
