"""Where a group's members are, and which of them is the primary: the ZooKeeper side of failover.

Below the group's path stand ``candidates``, the queue of an election whose nodes carry each
member's address, and ``primary``, a lasting node into which the primary writes its epoch, its
name and its address once it serves, and ``replicas``, where each member notes now and then which
epoch it follows and how long its copy is. It says where to ask, not who is right: an address may be
out of date, and whoever answers there says so.
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
    """Who serves, in which epoch, and where."""

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
        """What a candidate's node says of its member."""
        return json.dumps([name, *address])

    def members(self, deadline: Deadline) -> dict[str, Address]:
        """Where each member is that stands as a candidate; of two nodes the later one counts.

        Raises:
            Unanswered: no answer in time.
            SessionExpiredError: the session ended meanwhile.
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
                except NoNodeError:  # gone since
                    continue
                name, host, port = json.loads(data)
                found[name] = max(found.get(name, (0, ("", 0))), (stat.czxid, (host, port)))
            return {name: address for name, (_, address) in found.items()}

        return self._asking(deadline, look)

    def find(self, deadline: Deadline) -> Primary | None:
        """Who served last, as far as the server at hand knows; None before the first.

        Raises what ``members`` does.
        """

        def look(ask: Callable[..., Any]) -> Primary | None:
            try:
                return _read(ask(self._client.get_async, self._primary)[0])
            except NoNodeError:
                return None

        return self._asking(deadline, look)

    def publish(self, primary: Primary, deadline: Deadline) -> bool:
        """Say who serves; False if a later primary has said so.

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
        """Note which epoch a member follows, and how long its copy is.

        Raises what ``members`` does.
        """
        text = json.dumps([epoch, length]).encode()

        def write(ask: Callable[..., Any]) -> None:
            try:
                ask(self._client.set_async, f"{self._replicas}/{name}", text)
            except NoNodeError:
                with suppress(NodeExistsError):  # only we do, so it was an earlier try
                    ask(self._client.create_async, f"{self._replicas}/{name}", text, makepath=True)

        self._asking(deadline, write)

    def replicas(self, deadline: Deadline) -> dict[str, tuple[int, int]]:
        """Epoch and length that each member noted last. Raises what ``members`` does."""

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
