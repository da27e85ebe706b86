"""Requests on znodes that report their outcome exactly, for tests of ZooKeeper itself.

Each operation takes place in one session and reports which, so that a checker can put in order
what a session saw. No operation waits for ever, and none is retried automatically.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, ClassVar, Final

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError, SessionExpiredError
from kazoo.protocol.connection import _CONNECTION_DROP

from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.reconnecting import Reconnecting
from rumpus.recipes.requests.session import Session, Unanswered

PATIENCE: Final = 3.0
"""Seconds that one operation may take."""


class NotAsked(NotDone):
    """There was no connection: nothing was sent, and nothing happened."""


class Asker:
    """Requests within one session.

    Attributes:
        session: its id (signed 64 bits).
    """

    def __init__(self, client: KazooClient, session: Session, identity: int, path: str) -> None:
        self.session = identity
        self._client = client
        self._session = session
        self._path = path
        self._deadline = Deadline(PATIENCE)

    def __call__(self, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Issue one of the client's ``*_async`` methods and wait for its answer.

        Raises:
            Unanswered: it may have taken effect, or may yet, or may never.
            ZookeeperError: what else the server answered.
        """
        try:
            return self._session.ask(self._deadline, method, *args, **options)
        except SessionExpiredError as error:
            raise Unanswered(f"the session has ended during {method.__name__}") from error

    def catch_up(self) -> None:
        """Make sure that the next read sees everything committed before this call.

        Makes a write without effect: a server answers it only once it has seen it committed.
        ``sync`` would not do: a deposed leader that has not noticed answers it by itself.
        """
        with suppress(NoNodeError):
            self(self._client.delete_async, f"{self._path}/nothing")


class ZnodeAccess(Reconnecting, Recipe):
    """What the recipes on znodes share.

    Every operation may raise ``NotAsked`` (there was no connection, and nothing has happened) or
    ``Unanswered`` (either all of it has happened or will, or nothing of it ever will).

    Args:
        client: a started client with kazoo's threading handler.
        path: the znode below which everything happens; it must exist (see ``prepare``).
    """

    promises: ClassVar[Promises]
    _asker_class: ClassVar[type[Asker]] = Asker

    def __init__(self, client: KazooClient, path: str) -> None:
        self._client = client
        self._path = path

    @contextmanager
    def _asking(self) -> Iterator[Asker]:
        """Requests within the present session.

        Raises:
            NotAsked: there is none that is connected.
        """
        session = Session(self._client)
        try:
            identity = session.id
            if identity is None:
                raise NotAsked("no connection")
            yield self._asker_class(self._client, session, identity, self._path)
        finally:
            session.close()

    def reconnect(self) -> None:
        """Drop the connection, and wait until the session is connected again, to any server.

        Raises:
            NotAsked: there was no connection, or none came in time.
        """
        with self._asking():
            session = Session(self._client)
            try:
                # As kazoo's own tests do it; ``KazooClient`` has no public method for this.
                self._client._call(_CONNECTION_DROP, self._client.handler.async_result())  # noqa: SLF001
                deadline = Deadline(PATIENCE)
                while session.connected and not deadline.passed:
                    session.wake.wait(deadline.left())
                session.reconnected(deadline)
            except Unanswered as error:
                raise NotAsked(str(error)) from error
            finally:
                session.close()

    def prepare(self) -> None:
        """Create the path if it is missing."""
        with self._asking() as ask:
            ask(self._client.ensure_path_async, self._path)
