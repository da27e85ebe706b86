"""What ZooKeeper knows of a log: which files it consists of, and where the store's replicas listen.

The log's znode has these children:

- ``owners``: the lock whose holder owns the log.
- ``files`` (persistent): the log's files in order, in one znode. A new file is added, and its
  predecessor's length written, in one conditional write.
- ``replicas/NAME`` (persistent): the address of a replica. It may be out of date: whoever listens
  there says so.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError, SessionExpiredError

from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.json_lines import Address
from rumpus.recipes.requests.session import Session, Unanswered

_T = TypeVar("_T")


class LogFile(NamedTuple):
    """A file of the log.

    ``epoch`` is the fencing token of the owner that made it, and ``base`` the log's length before
    it. ``length`` is None while the file is open.
    """

    name: str
    writer: str
    epoch: int
    base: int
    length: int | None = None


class LogDirectory:
    """The directory of one log.

    Every method raises ``Unanswered`` if no answer came in time, or the session has ended.

    Args:
        client: a started client with kazoo's threading handler.
        path: the log's znode.
    """

    def __init__(self, client: KazooClient, path: str) -> None:
        self._client = client
        self._files = f"{path}/files"
        self._replicas = f"{path}/replicas"

    def files(self, deadline: Deadline) -> tuple[list[LogFile], int]:
        """The log's files, as the connected server shows them, and the version of that list.

        The version is -1 if there is no list yet.
        """

        def look(ask: Callable[..., Any]) -> tuple[list[LogFile], int]:
            try:
                data, stat = ask(self._client.get_async, self._files)
            except NoNodeError:
                return [], -1
            return [LogFile(*each) for each in json.loads(data)], stat.version

        return self._asking(deadline, look)

    def change(self, files: Sequence[LogFile], version: int, deadline: Deadline) -> bool:
        """Write the list if it still has this version; whether it had.

        After ``Unanswered`` it may have been written.
        """
        data = json.dumps(files).encode()

        def write(ask: Callable[..., Any]) -> bool:
            try:
                if version < 0:
                    ask(self._client.create_async, self._files, data, makepath=True)
                else:
                    ask(self._client.set_async, self._files, data, version)
            except (BadVersionError, NodeExistsError):
                return False
            return True

        return self._asking(deadline, write)

    def replicas(self, deadline: Deadline) -> dict[str, Address]:
        """The address of each replica, by name."""

        def look(ask: Callable[..., Any]) -> dict[str, Address]:
            found: dict[str, Address] = {}
            with suppress(NoNodeError):
                for name in ask(self._client.get_children_async, self._replicas):
                    host, port = json.loads(
                        ask(self._client.get_async, f"{self._replicas}/{name}")[0]
                    )
                    found[name] = (host, port)
            return found

        return self._asking(deadline, look)

    def register(self, name: str, address: Address, deadline: Deadline) -> None:
        """Write where a replica listens."""
        data = json.dumps(address).encode()

        def write(ask: Callable[..., Any]) -> None:
            try:
                ask(self._client.set_async, f"{self._replicas}/{name}", data)
            except NoNodeError:
                with suppress(NodeExistsError):  # only we create it: an earlier try has
                    ask(self._client.create_async, f"{self._replicas}/{name}", data, makepath=True)

        self._asking(deadline, write)

    def _asking(self, deadline: Deadline, work: Callable[[Callable[..., Any]], _T]) -> _T:
        session = Session(self._client)
        try:
            return work(lambda *request, **options: session.ask(deadline, *request, **options))
        except SessionExpiredError as error:
            raise Unanswered(f"{self._files}: the session has ended") from error
        finally:
            session.close()
