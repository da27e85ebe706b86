"""The addresses of a group's members, and which of them is the primary, in ZooKeeper.

The group's znode has these children:

- ``candidates``: the queue of an election; each candidate's node holds the member's address.
- ``primary`` (persistent): the primary writes its epoch, name and address once it serves.
- ``replicas``: each member writes at intervals which epoch it follows and how long its log is.

An address may be out of date: the member that answers there says so.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError

from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.json_lines import Address
from rumpus.recipes.requests.session import Session

_T = TypeVar("_T")


class Primary(NamedTuple):
    """A primary: its epoch, name and address."""

    epoch: int
    name: str
    address: Address


class PrimaryDirectory:
    """The directory of one group.

    Args:
        client: a started client with kazoo's threading handler.
        path: the group's znode.
    """

    def __init__(self, client: KazooClient, path: str) -> None:
        self.candidates = f"{path}/candidates"
        self._client = client
        self._primary = f"{path}/primary"
        self._replicas = f"{path}/replicas"

    @staticmethod
    def card(name: str, address: Address) -> str:
        """The data of a candidate's node: the member's name and address."""
        return json.dumps([name, *address])

    def members(self, deadline: Deadline) -> dict[str, Address]:
        """The address of each candidate, by name; if it has two nodes, the later one counts.

        Raises:
            Unanswered: no answer in time.
            SessionExpiredError: the session has ended.
        """

        def look(ask: Callable[..., Any]) -> dict[str, Address]:
            try:
                names = ask(self._client.get_children_async, self.candidates)
            except NoNodeError:
                return {}
            found: dict[str, tuple[int, Address]] = {}
            for node in names:
                try:
                    data, stat = ask(self._client.get_async, f"{self.candidates}/{node}")
                except NoNodeError:  # removed meanwhile
                    continue
                name, host, port = json.loads(data)
                found[name] = max(found.get(name, (0, ("", 0))), (stat.czxid, (host, port)))
            return {name: address for name, (_, address) in found.items()}

        return self._asking(deadline, look)

    def find(self, deadline: Deadline) -> Primary | None:
        """The primary that served last, as the connected server shows it; None before the first.

        Raises what ``members`` does.
        """

        def look(ask: Callable[..., Any]) -> Primary | None:
            try:
                return _read(ask(self._client.get_async, self._primary)[0])
            except NoNodeError:
                return None

        return self._asking(deadline, look)

    def publish(self, primary: Primary, deadline: Deadline) -> bool:
        """Write who serves; False if a later primary has been written.

        Raises what ``members`` does; it may have been written then.
        """
        text = json.dumps([primary.epoch, primary.name, *primary.address]).encode()

        def write(ask: Callable[..., Any]) -> bool:
            while True:
                try:
                    data, stat = ask(self._client.get_async, self._primary)
                    if _read(data).epoch >= primary.epoch:
                        return _read(data).epoch == primary.epoch
                    ask(self._client.set_async, self._primary, text, stat.version)
                except NoNodeError:
                    try:
                        ask(self._client.create_async, self._primary, text, makepath=True)
                    except NodeExistsError:
                        continue
                except BadVersionError:
                    continue
                return True

        return self._asking(deadline, write)

    def register(self, name: str, epoch: int, length: int, deadline: Deadline) -> None:
        """Write which epoch a member follows, and how long its log is.

        Raises what ``members`` does.
        """
        text = json.dumps([epoch, length]).encode()

        def write(ask: Callable[..., Any]) -> None:
            try:
                ask(self._client.set_async, f"{self._replicas}/{name}", text)
            except NoNodeError:
                with suppress(NodeExistsError):  # only we create it: an earlier try has
                    ask(self._client.create_async, f"{self._replicas}/{name}", text, makepath=True)

        self._asking(deadline, write)

    def replicas(self, deadline: Deadline) -> dict[str, tuple[int, int]]:
        """Name -> the epoch and length that the member wrote last. Raises what ``members`` does."""

        def look(ask: Callable[..., Any]) -> dict[str, tuple[int, int]]:
            try:
                names = ask(self._client.get_children_async, self._replicas)
            except NoNodeError:
                return {}
            found = {}
            for name in names:
                epoch, length = json.loads(
                    ask(self._client.get_async, f"{self._replicas}/{name}")[0]
                )
                found[name] = (epoch, length)
            return found

        return self._asking(deadline, look)

    def _asking(self, deadline: Deadline, work: Callable[[Callable[..., Any]], _T]) -> _T:
        session = Session(self._client)
        try:
            return work(lambda *request, **options: session.ask(deadline, *request, **options))
        finally:
            session.close()


def _read(data: bytes) -> Primary:
    epoch, name, host, port = json.loads(data)
    return Primary(epoch, name, (host, port))
