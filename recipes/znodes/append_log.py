"""A log in one znode: pieces are appended by reading all of it and setting it by version."""

import json
from typing import ClassVar

from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError

from rumpus.recipes.promises import Promises
from rumpus.recipes.znodes.znode_access import Asker, ZnodeAccess


class AppendLog(ZnodeAccess):
    """Optimistic: a client whose version is outdated reads again and retries."""

    promises: ClassVar[Promises] = Promises(
        prevents=frozenset({"not-linearizable", "stuck-waiter"}),
        notes="Who appends under contention may have to try many times: it is lock-free, not fair.",
    )

    def append(self, key: str, piece: str) -> None:
        """Put a piece at the end of a log."""
        with self._asking() as ask:
            while not self._try(ask, self._node(key), piece):
                pass

    def read(self, key: str) -> list[str]:
        """All pieces, in order."""
        with self._asking() as ask:
            ask.catch_up()
            return self._look(ask, self._node(key))[0]

    def _node(self, key: str) -> str:
        return f"{self._path}/{key}"

    def _look(self, ask: Asker, node: str) -> tuple[list[str], int | None]:
        """The pieces and the version; no version if there is no node."""
        try:
            data, stat = ask(self._client.get_async, node)
        except NoNodeError:
            return [], None
        return json.loads(data), stat.version

    def _try(self, ask: Asker, node: str, piece: str) -> bool:
        """Read, and append on condition that nothing has changed; False if another was quicker."""
        pieces, version = self._look(ask, node)
        data = json.dumps([*pieces, piece]).encode()
        try:
            self._put(ask, node, data, version)
        except (BadVersionError, NodeExistsError, NoNodeError):
            return False
        return True

    def _put(self, ask: Asker, node: str, data: bytes, version: int | None) -> None:
        if version is None:
            ask(self._client.create_async, node, data)
        else:
            ask(self._client.set_async, node, data, version)
