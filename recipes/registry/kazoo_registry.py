"""Service discovery with kazoo's Party, ChildrenWatch and TreeCache.

``Party`` joins, leaves and lists. The adapter adds what kazoo leaves to its users: it joins again
after LOST, because an ephemeral node ends with its session. kazoo's calls have no timeout of their
own: with no server in reach they block until one is. ``ChildrenWatch`` and ``TreeCache`` replace
the watched view of ``recipes.registry.service_registry``.
"""

import threading
from contextlib import suppress
from typing import ClassVar

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.protocol.states import KazooState
from kazoo.recipe.party import Party
from kazoo.recipe.watchers import ChildrenWatch

from rumpus.recipes.promises import Promises
from rumpus.recipes.registry.service_registry import PRESENCE, RegistrationUnknown, ServiceRegistry
from rumpus.recipes.view.kazoo_views import KazooTreeView


class KazooServiceWatch:
    """A ``ChildrenWatch`` that reads the children's data whenever it is called."""

    def __init__(self, client: KazooClient, path: str) -> None:
        self._client = client
        self._path = path
        self._closed = False
        self.addresses: list[str] = []

    def open(self) -> None:
        """Create the parent and the watch, on a thread: both ask the servers at once."""
        self._client.handler.spawn(self._begin)

    def close(self) -> None:
        """End the watch at its next call."""
        self._closed = True

    def _begin(self) -> None:
        self._client.retry(self._client.ensure_path, self._path)
        ChildrenWatch(self._client, self._path, self._told)

    def _told(self, names: list[str]) -> bool:
        addresses = []
        for name in names:
            with suppress(NoNodeError):
                data, _ = self._client.retry(self._client.get, f"{self._path}/{name}")
                addresses.append(data.decode())
        self.addresses = sorted(addresses)
        return not self._closed


class KazooServiceTree(KazooTreeView):
    """A ``TreeCache`` of the entries."""

    @property
    def addresses(self) -> list[str]:
        """The addresses in the cache, sorted."""
        return sorted(node.data.decode() for node in (self.value or {}).values())


class KazooMembers:
    """A Party's members: Party has no watched view, so each access lists."""

    def __init__(self, client: KazooClient, path: str) -> None:
        self._party = Party(client, path)

    def open(self) -> None:
        """Nothing to begin."""

    def close(self) -> None:
        """Nothing to end."""

    @property
    def addresses(self) -> list[str]:
        """What ``list(party)`` says."""
        return sorted(self._party)


class PartyRegistry(ServiceRegistry):
    """``kazoo.recipe.party.Party``."""

    promises: ClassVar[Promises] = Promises(
        prevents=PRESENCE,
        notes=(
            "Lists what one server shows, which may lag. Calls block while no server is in reach. "
            "The adapter joins again after a lost session, which kazoo leaves to its users."
        ),
    )
    settles: ClassVar[bool] = False
    view = KazooMembers

    def __init__(self, client: KazooClient, path: str) -> None:
        super().__init__(client, path)
        self._party: Party | None = None
        self._address: str | None = None
        self._turn = threading.Lock()
        """Guards the party, so that a rejoin in the background cannot follow a leave."""
        client.add_listener(self._changed)

    @property
    def address(self) -> str | None:
        """What is registered; None if nothing is."""
        return self._address

    def register(self, address: str, timeout: float | None = None) -> None:  # noqa: ARG002
        """Join; blocks until a server answers.

        Raises:
            RegistrationUnknown: kazoo has failed.
        """
        with self._turn:
            if self._party is None:
                self._party = Party(self._client, self._path, address)
            self._address = address
            try:
                self._party.join()
            except KazooException as error:
                raise RegistrationUnknown(f"{type(error).__name__}: {error}") from error

    def deregister(self, timeout: float | None = None) -> None:  # noqa: ARG002
        """Leave; blocks until a server answers.

        Raises:
            RegistrationUnknown: kazoo has failed.
        """
        self._address = None
        with self._turn:
            if self._party is None:
                return
            try:
                self._party.leave()
            except KazooException as error:
                raise RegistrationUnknown(f"{type(error).__name__}: {error}") from error
            self._party = None

    def discover(self, timeout: float | None = None) -> list[str]:  # noqa: ARG002
        """``list(party)``; blocks until a server answers."""
        return sorted(Party(self._client, self._path))

    def _changed(self, state: str) -> None:
        if state == KazooState.LOST:
            self._client.handler.spawn(self._rejoin)

    def _rejoin(self) -> None:
        with self._turn:
            if self._party is not None and self._address is not None:
                with suppress(KazooException):  # the next register joins again
                    self._party.join()


class BarePartyRegistry(PartyRegistry):
    """``Party`` as most users call it: nobody joins again when the session was lost."""

    promises: ClassVar[Promises] = Promises(
        prevents=PRESENCE - {"missing-entry"},
        notes=(
            "Lists what one server shows, which may lag. Calls block while no server is in reach. "
            "A member whose session has ended is no member until it joins again."
        ),
    )

    def _changed(self, state: str) -> None:
        """Do nothing."""
