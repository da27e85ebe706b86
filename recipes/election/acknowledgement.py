"""Nodes by which leaders tell the others that they know that they lead.

A candidate that is first in line may not know it yet: it may be frozen or cut off at the moment
when its predecessor goes. ("ZooKeeper Recipes and Solutions, Leader Election" suggests a separate
node for that reason.) So a leader that begins to act *acknowledges* its lead: it creates an
ephemeral node *named after its epoch*.

The name makes this safe. The node of one epoch cannot be mistaken for that of another, so it may be
created late and removed late. A leader need not remove its predecessor's node before it creates its
own, and a leader that resigns cannot remove its successor's node.
"""

from contextlib import suppress

from kazoo.client import KazooClient
from kazoo.exceptions import (
    ConnectionClosedError,
    NodeExistsError,
    NoNodeError,
    SessionExpiredError,
)

from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import PAUSE
from rumpus.recipes.requests.retrying_call import until_answered
from rumpus.recipes.requests.session import Session, Unanswered


class Acknowledgements:
    """The acknowledgement nodes: children of ``path``, one for each epoch.

    Args:
        client: a started client with kazoo's threading handler.
        path: their parent, made when first needed.
    """

    def __init__(self, client: KazooClient, path: str) -> None:
        self._client = client
        self._path = path

    def node(self, epoch: int) -> str:
        """The node of an epoch."""
        return f"{self._path}/{epoch:016x}"

    def write(self, epoch: int, name: str, session: Session, deadline: Deadline) -> None:
        """Acknowledge an epoch in its leader's session; does nothing if it is acknowledged already.

        Raises:
            SessionExpiredError: the session is lost.
            Unanswered: no answer in time; it may be acknowledged, or may yet be.
        """
        while session.reconnected(deadline):
            try:
                self._create(epoch, name, session, deadline)
            except NodeExistsError:
                return
            except Unanswered:
                if deadline.passed:
                    raise
                session.wake.wait(PAUSE)
            else:
                return
        raise SessionExpiredError

    def _create(self, epoch: int, name: str, session: Session, deadline: Deadline) -> None:
        data = f"{epoch} {name}".encode()
        for _ in range(2):
            try:
                session.ask(
                    deadline, self._client.create_async, self.node(epoch), data, ephemeral=True
                )
            except NoNodeError:
                session.ask(deadline, self._client.ensure_path_async, self._path)
            else:
                return
        raise Unanswered(f"{self._path} keeps vanishing")

    def withdraw(self, epoch: int) -> None:
        """Remove an epoch's node, on a thread of its own: soon, or when its session ends.

        The delete may be sent in a later session of the client: only this epoch uses the name.
        """

        def ask(session: Session) -> None:
            with suppress(NoNodeError):
                session.ask(Deadline(None), self._client.delete_async, self.node(epoch))

        def go_on() -> None:
            with suppress(ConnectionClosedError):  # the node ends with the session
                until_answered(self._client, Deadline(None), ask)

        self._client.handler.spawn(go_on)

    def stands(self, epoch: int, session: Session, deadline: Deadline) -> bool:
        """Whether an epoch is acknowledged. Raises what ``Session.ask`` does."""
        answer = session.ask(deadline, self._client.exists_async, self.node(epoch))
        return answer is not None
