"""Ephemeral znodes: there while the session that made them lives."""

from typing import ClassVar

from kazoo.exceptions import NodeExistsError, NoNodeError
from kazoo.protocol.states import ZnodeStat

from rumpus.recipes.promises import Promises
from rumpus.recipes.znodes.znode_access import Asker, ZnodeAccess


class EphemeralNodes(ZnodeAccess):
    """Ephemeral nodes by name, each owned by the session that created it."""

    promises: ClassVar[Promises] = Promises(
        prevents=frozenset(
            {"early-removal", "lingering-ephemeral", "revived-session", "stuck-waiter"}
        ),
        notes=(
            "A session ends when a server says so, which may be up to its timeout and a tick "
            "after its client was last heard; a dead client's nodes stay for so long."
        ),
    )

    def create(self, name: str) -> int | None:
        """Create the node; the id of its session (signed 64 bits), None if the node existed."""
        with self._asking() as ask:
            try:
                self._create(ask, f"{self._path}/{name}")
            except NodeExistsError:
                return None
            return ask.session

    def remove(self, name: str) -> bool:
        """Remove a node of the present session; False if there is none."""
        with self._asking() as ask:
            node = f"{self._path}/{name}"
            stat = self._stat(ask, node)
            if stat is None or stat.ephemeralOwner != ask.session:
                return False
            try:
                ask(self._client.delete_async, node)
            except NoNodeError:
                return False
            return True

    def owners(self) -> tuple[dict[str, int], int]:
        """All nodes, no older than what was committed before the call, and the session that read.

        Shape: name -> session (signed 64 bits), 0 for one that is not ephemeral.
        """
        with self._asking() as ask:
            ask.catch_up()
            found = {}
            for name in ask(self._client.get_children_async, self._path):
                stat = self._stat(ask, f"{self._path}/{name}")
                if stat is not None:
                    found[name] = stat.ephemeralOwner
            return found, ask.session

    def _create(self, ask: Asker, node: str) -> None:
        ask(self._client.create_async, node, ephemeral=True)

    def _stat(self, ask: Asker, node: str) -> ZnodeStat | None:
        return ask(self._client.exists_async, node)
