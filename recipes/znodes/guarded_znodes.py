"""Znodes with access control lists, and what their Stats say.

"ZooKeeper Programmer's Guide, ZooKeeper access control using ACLs" and "ZooKeeper Stat Structure":
an access control list belongs to one znode, and children do not inherit it; each operation needs
one permission.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from kazoo.protocol.states import ZnodeStat
from kazoo.security import ACL, Id, make_digest_acl_credential

from rumpus.recipes.promises import Promises
from rumpus.recipes.znodes.znode_access import ZnodeAccess

Entry = tuple[int, str, str]
"""Permissions (bits), scheme and id of one entry of a list."""


class Sight(NamedTuple):
    """A znode as an operation found or left it; ``data`` and ``children`` only if it has them."""

    stat: ZnodeStat
    data: str | None = None
    children: tuple[str, ...] | None = None


def credential(user: str) -> str:
    """A user's id of the scheme ``digest``: the password is the user's name."""
    return str(make_digest_acl_credential(user, user))


class GuardedZnodes(ZnodeAccess):
    """Every operation is one request, made by a user of the scheme ``digest``.

    All raise ``NotAsked`` and ``Unanswered``, and what else the server answers: ``NoAuthError``
    without the permission, ``NoNodeError``, ``NodeExistsError``, ``BadVersionError``.

    Attributes:
        user: name, and password, of the user; to be set before ``prepare``.
    """

    promises: ClassVar[Promises] = Promises(
        prevents=frozenset({"unauthorised-access", "refused-access", "wrong-stat", "stuck-waiter"}),
        notes="Whether a Stat can be had without READ depends on the version of ZooKeeper.",
    )

    user: str = ""

    def prepare(self) -> None:
        """Authenticate the user, and create the path if it is missing."""
        with self._asking() as ask:
            ask(self._client.add_auth_async, "digest", f"{self.user}:{self.user}")
        super().prepare()

    def make(self, name: str, value: str, acl: Sequence[Entry]) -> Sight:
        """Create a node with an access control list."""
        return self._create(name, value, acl)

    def grow(self, name: str, child: str) -> None:
        """Create a child with a list of its own that allows everybody everything."""
        self._create(f"{name}/{child}", "", [(31, "world", "anyone")])

    def prune(self, name: str, child: str) -> None:
        """Delete a child."""
        with self._asking() as ask:
            ask(self._client.delete_async, self._node(f"{name}/{child}"))

    def read(self, name: str) -> Sight:
        """Data and Stat."""
        with self._asking() as ask:
            data, stat = ask(self._client.get_async, self._node(name))
            return Sight(stat, data=data.decode())

    def listing(self, name: str) -> Sight:
        """Children and Stat."""
        with self._asking() as ask:
            children, stat = ask(
                self._client.get_children_async, self._node(name), include_data=True
            )
            return Sight(stat, children=tuple(sorted(children)))

    def write(self, name: str, value: str) -> Sight:
        """Set the data."""
        with self._asking() as ask:
            stat = ask(self._client.set_async, self._node(name), value.encode())
            return Sight(stat, data=value)

    def allow(self, name: str, acl: Sequence[Entry]) -> Sight:
        """Replace the access control list, on condition that it is still the one from creation."""
        with self._asking() as ask:
            stat = ask(self._client.set_acls_async, self._node(name), self._list(acl), 0)
            return Sight(stat)

    def _create(self, name: str, value: str, acl: Sequence[Entry]) -> Sight:
        with self._asking() as ask:
            _, stat = ask(
                self._client.create_async,
                self._node(name),
                value.encode(),
                acl=self._list(acl),
                include_data=True,
            )
            return Sight(stat, data=value)

    def _list(self, acl: Sequence[Entry]) -> list[Any]:
        return [ACL(permissions, Id(scheme, name)) for permissions, scheme, name in acl]

    def _node(self, name: str) -> str:
        return f"{self._path}/{name}"
