"""Registers: znodes that are read, written, and compared and set by version.

How fresh a read is depends on what goes before it ("ZooKeeper Programmer's Guide, Consistency
Guarantees"; ``/zookeeper/sync``): nothing, a ``sync``, or a write.
"""

from typing import ClassVar, NamedTuple

from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError

from rumpus.recipes.promises import Promises
from rumpus.recipes.znodes.znode_access import Asker, ZnodeAccess

ABSENT = -1
"""The version of a register that nobody has written."""


class Reading(NamedTuple):
    """What a register holds, or held when it was written.

    ``zxid`` is the zxid of the last write, None if there was none; ``session`` (signed 64 bits) is
    the id of the session that read or wrote it.
    """

    value: str | None
    version: int
    zxid: int | None
    session: int


class LocalRegister(ZnodeAccess):
    """Reads are answered by whatever server the client is connected to, as they are by default."""

    promises: ClassVar[Promises] = Promises(
        prevents=frozenset({"session-order", "stuck-waiter"}),
        notes=(
            "A read may be stale: the server may lag, or have been cut off. Writes and "
            "compare-and-set are linearizable, and no session sees the state go backwards."
        ),
    )

    def read(self, key: str) -> Reading:
        """What a register holds."""
        with self._asking() as ask:
            self._freshen(ask, key)
            try:
                data, stat = ask(self._client.get_async, self._node(key))
            except NoNodeError:
                return Reading(None, ABSENT, None, ask.session)
            return Reading(data.decode(), stat.version, stat.mzxid, ask.session)

    def write(self, key: str, value: str) -> Reading:
        """Write a value, whatever is there."""
        with self._asking() as ask:
            while True:
                written = self._set(ask, key, value, version=-1) or self._create(ask, key, value)
                if written is not None:
                    return written

    def cas(self, key: str, version: int, value: str) -> Reading | None:
        """Write a value if the register has that version; None if it had another."""
        with self._asking() as ask:
            if version == ABSENT:
                return self._create(ask, key, value)
            return self._set(ask, key, value, version)

    def _freshen(self, ask: Asker, key: str) -> None:
        """The request that precedes a read, to make it fresh. Here: none."""

    def _node(self, key: str) -> str:
        return f"{self._path}/{key}"

    def _set(self, ask: Asker, key: str, value: str, version: int) -> Reading | None:
        try:
            stat = ask(self._client.set_async, self._node(key), value.encode(), version)
        except (NoNodeError, BadVersionError):
            return None
        return Reading(value, stat.version, stat.mzxid, ask.session)

    def _create(self, ask: Asker, key: str, value: str) -> Reading | None:
        try:
            _, stat = ask(
                self._client.create_async, self._node(key), value.encode(), include_data=True
            )
        except NodeExistsError:
            return None
        return Reading(value, stat.version, stat.mzxid, ask.session)


class SyncedRegister(LocalRegister):
    """Each read comes after a ``sync``."""

    promises: ClassVar[Promises] = Promises(
        prevents=LocalRegister.promises.prevents | {"stale-sync"},
        notes=(
            "A read sees what the leader had committed when it passed the sync on. Linearizable "
            "but for this: a leader that has been deposed and has not noticed answers a sync by "
            "itself, as no quorum is asked; its reads are stale."
        ),
    )

    def _freshen(self, ask: Asker, key: str) -> None:
        ask(self._client.sync_async, self._node(key))


class LinearizableRegister(LocalRegister):
    """Each read comes after a write without effect."""

    promises: ClassVar[Promises] = Promises(
        prevents=LocalRegister.promises.prevents | {"not-linearizable"},
        notes="A read costs a write, which needs a quorum.",
    )

    def _freshen(self, ask: Asker, key: str) -> None:  # noqa: ARG002 - any key is caught up with
        ask.catch_up()
