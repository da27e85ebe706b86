"""Waiting for the next change of a znode, by a watch.

"ZooKeeper Programmer's Guide, Watches": a read sets a watch, for changes after its answer. The
watch fires once. It is gone once the connection is lost, and kazoo does not set it again. So a
reader reads again after any event, of the node or of the connection.
"""

import threading
from typing import ClassVar

from kazoo.exceptions import NodeExistsError, NoNodeError, NotEmptyError
from kazoo.protocol.states import WatchedEvent

from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import PAUSE
from rumpus.recipes.requests.session import Session, Unanswered
from rumpus.recipes.znodes.register import ABSENT, LocalRegister, Reading
from rumpus.recipes.znodes.znode_access import Asker, NotAsked


class WatchedZnode(LocalRegister):
    """A register whose readers wait until it has another version than one that they saw."""

    promises: ClassVar[Promises] = Promises(
        prevents=frozenset(
            {"missed-event", "late-event", "repeated-event", "reordered-event"}
            | {"false-event", "session-order", "stuck-waiter", "early-timeout", "overdue-call"}
        ),
        notes=(
            "Changes in quick succession are seen as one. kazoo hands out events and answers on "
            "different threads: a program can see new data before it is told of the change."
        ),
    )

    def watch(self, key: str) -> Reading:
        """Look at the node, leaving a watch."""
        with self._asking() as ask:
            return self._look(ask, key, threading.Event())

    def make(self, key: str, *, ephemeral: bool) -> bool:
        """Create a node; False if it is there, or its parent is not."""
        with self._asking() as ask:
            try:
                ask(self._client.create_async, self._node(key), ephemeral=ephemeral)
            except (NodeExistsError, NoNodeError):
                return False
            return True

    def unmake(self, key: str) -> bool:
        """Delete a node; False if it is not there, or has children."""
        with self._asking() as ask:
            try:
                ask(self._client.delete_async, self._node(key))
            except (NoNodeError, NotEmptyError):
                return False
            return True

    def survey(self, key: str) -> list[str] | None:
        """Leave a watch of every kind on a node; its children, None if it is not there."""
        with self._asking() as ask:
            node = self._node(key)
            if ask(self._client.exists_async, node, _unheeded) is None:
                return None
            try:
                ask(self._client.get_async, node, _unheeded)
                return sorted(ask(self._client.get_children_async, node, _unheeded))
            except NoNodeError:
                return None

    def await_change(self, key: str, version: int, timeout: float) -> Reading | None:
        """Wait until the node has another version; None if it has not in time.

        Raises:
            NotAsked, Unanswered: the last look, made when the time was up, got no answer.
        """
        deadline = Deadline(timeout)
        while True:
            session = Session(self._client)
            try:
                changed = self._wait_once(session, key, version, deadline)
            except (NotAsked, Unanswered):
                if deadline.passed:
                    raise
                session.wake.wait(PAUSE)
                continue
            finally:
                session.close()
            if changed is not None or deadline.passed:
                return changed

    def _wait_once(
        self, session: Session, key: str, version: int, deadline: Deadline
    ) -> Reading | None:
        """Look, and if nothing has changed wait for any news."""
        told = self._signal(session)
        with self._asking() as ask:
            seen = self._look(ask, key, told)
        if seen.version != version:
            return seen
        told.wait(deadline.left())
        return None

    def _signal(self, session: Session) -> threading.Event:
        """The event object that node events set; changes of the connection set it too."""
        return session.wake

    def _is_news(self, event: WatchedEvent) -> bool:  # noqa: ARG002 - all are
        """Whether to read again. An event of type ``NONE`` reports a change of the connection."""
        return True

    def _look(self, ask: Asker, key: str, told: threading.Event) -> Reading:
        """Look, leaving a watch that sets ``told``."""

        def news(event: WatchedEvent) -> None:
            if self._is_news(event):
                told.set()

        while True:
            try:
                data, stat = ask(self._client.get_async, self._node(key), news)
            except NoNodeError:
                if ask(self._client.exists_async, self._node(key), news) is None:
                    return Reading(None, ABSENT, None, ask.session)
            else:
                return Reading(data.decode(), stat.version, stat.mzxid, ask.session)


def _unheeded(event: WatchedEvent) -> None:
    """Ignore the event: the watch was set only so that the harness sees its event on the link."""
