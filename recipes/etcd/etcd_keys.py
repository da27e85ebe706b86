"""Requests on keys of etcd that report their outcome exactly, for tests of etcd itself.

None is repeated automatically. All may raise ``Unanswered``: the request has taken effect, or may
yet, or never will.
"""

import random
from typing import Any, ClassVar

from rumpus.recipes.etcd.etcd_access import Answer, EtcdAccess, decoded, encoded, get, pairs, put
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.reconnecting import Reconnecting
from rumpus.recipes.servers import Servers
from rumpus.recipes.znodes.register import ABSENT, Reading


class EtcdKeys(Reconnecting):
    """What the recipes on keys share.

    Args:
        servers: where etcd is.
        path: the keys' common prefix, without the slash.
    """

    system: ClassVar[str] = "etcd"
    library: ClassVar[str] = "etcd3gw"
    access_class: ClassVar[type[EtcdAccess]] = EtcdAccess

    def __init__(self, servers: Servers, path: str) -> None:
        self._servers = servers
        self._path = path
        self._access = self.access_class(servers)
        self._identity = random.getrandbits(62) + 1

    @classmethod
    def line(cls, path: str) -> None:
        """None: nobody queues."""

    def prepare(self) -> None:
        """Nothing: keys need no parents."""

    def close(self) -> None:
        """Drop the connection."""
        self._access.reconnect()

    def reconnect(self) -> None:
        """Drop the connection: the next request goes to the next server."""
        self._access.reconnect()

    def _key(self, name: str) -> str:
        return f"{self._path}/{name}"


class EtcdRegister(EtcdKeys):
    """Keys that are read, written, and compared and set by version. Reads are linearizable.

    A key that nobody has written has the version 0 in etcd, and ``ABSENT`` here, as a znode has.
    etcd has no sessions: as the session of a ``Reading`` counts the client's object.
    """

    promises: ClassVar[Promises] = Promises(
        prevents=frozenset({"not-linearizable", "session-order", "stuck-waiter"}),
        notes="A read asks a majority who leads, so a minority answers none.",
    )

    reading: ClassVar[dict[str, Any]] = {}
    """Options of a read."""

    def read(self, key: str) -> Reading:
        """What a register holds."""
        return self._found(self._look(key), 0)

    def write(self, key: str, value: str) -> Reading:
        """Write a value, whatever is there."""
        name = self._key(key)
        return self._found(self._access.transaction([], [put(name, value), get(name)]), 1)

    def cas(self, key: str, version: int, value: str) -> Reading | None:
        """Write a value if the register has that version; None if it had another."""
        name = self._key(key)
        expected = has_version(name, version - ABSENT)
        answer = self._access.transaction([expected], [put(name, value), get(name)])
        return self._found(answer, 1) if answer.get("succeeded") else None

    def _look(self, key: str) -> Answer:
        return self._access.transaction([], [get(self._key(key), **self.reading)])

    def _found(self, answer: Answer, place: int) -> Reading:
        found = pairs(answer, place)
        if not found:
            return Reading(None, ABSENT, None, self._identity)
        return self._reading_of(found[0])

    def _reading_of(self, pair: dict[str, Any]) -> Reading:
        version, revision = int(pair["version"]) + ABSENT, int(pair["mod_revision"])
        return Reading(decoded(pair["value"]), version, revision, self._identity)


def has_version(key: str, version: int) -> dict[str, Any]:
    """The comparison that a key has been written so many times since it was created."""
    return {"key": encoded(key), "target": "VERSION", "version": version}
