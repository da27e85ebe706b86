"""A client of a Chubby cell: its session, its handles, and what their listeners are told."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from kazoo.protocol.states import KazooState

from rumpus.checker.every_run.timeouts import TIMED_OUT
from rumpus.checker.history import session_hex
from rumpus.harness.clients.client_body import ClientContext
from rumpus.recipes.chubby.handle import Handle, Mode
from rumpus.recipes.chubby.handle_events import Event, EventKind
from rumpus.recipes.chubby.lease import HandleInvalid, Standing
from rumpus.recipes.chubby.library import PRIMARY, Chubby
from rumpus.recipes.contests.interfaces import NotHeld
from rumpus.recipes.lock.delayed_lock import DELAY
from rumpus.recipes.outcomes import NotDone
from rumpus.workloads.chubby.files import MORE, OPEN_S, READ_S, TEMPORARY, TOPICS, number_of
from rumpus.workloads.chubby.misuse import ANY
from rumpus.workloads.chubby.told import (
    FAILOVER_LOOKS,
    LOOK_S,
    MOST_LOOKS,
    STANDING_LOOKS,
    News,
    Told,
)
from rumpus.workloads.contests.contender import Contender
from rumpus.workloads.framework.operation import Failed


class CellClient(Contender):
    """A client's session with the cell, and its handles.

    Args:
        context: the client's context.
        recipe: the class of the sessions.
        cell: the cell's znode.
    """

    def __init__(self, context: ClientContext, recipe: type[Chubby], cell: str) -> None:
        super().__init__(context, None, recipe.line(cell))
        self._kind = recipe
        self._cell = cell
        self._session: Chubby | None = None
        self._handles: dict[str, Handle] = {}
        self._told = threading.Condition()
        self._numbers: dict[str, int] = {}
        self._news: dict[str, Told] = {}
        self._losses = 0
        self._delay = 1.5 * DELAY  # the default would not show that it is heeded
        self._expired: Chubby | None = None
        context.kazoo.add_listener(self._connection_changed)

    @property
    def session_name(self) -> str | None:
        """The session of the handles."""
        identity = None if self._session is None else self._session.session_id
        return None if identity is None else session_hex(identity)

    @contextmanager
    def using(self, name: str, patience: float = OPEN_S) -> Iterator[Handle]:
        """The handle of a file, which is opened if need be; an invalid one is given up.

        The end of the session takes all handles with it. Until the next use it is still there, for
        ``news`` to look whether that was told.
        """
        if self._session is not None and self._session.standing is Standing.EXPIRED:
            self.close()
        if self._session is None:
            self._session = self._kind(self.context.kazoo, self._cell, name=self.context.name)
        handle = self._handles.get(name)
        try:
            if handle is None:
                handle = self._open(self._session, name, patience)
            yield handle
        except HandleInvalid:
            if self._session is not None and self._session.standing is not Standing.EXPIRED:
                self.forget(name)
            raise

    def _open(self, session: Chubby, name: str, patience: float) -> Handle:
        topics = {kind: topic for topic, (file, kind) in TOPICS.items() if file == name}
        news = Told(session, since=self._losses)

        def told(event: Event) -> None:
            with self._told:
                news.take(event)
                if event.kind in topics:
                    self._note(topics[event.kind], event.number)
                elif event.kind is EventKind.EXPIRED:
                    self._expired = session
                self._told.notify_all()

        handle = session.open(
            name,
            events=topics.keys() | MORE.get(name, frozenset()),
            listener=told,
            lock_delay=self._delay,
            contents=b'""',
            timeout=patience,
        )
        try:
            children = len(handle.read_dir(READ_S)) if EventKind.CHILD_CHANGED in topics else 0
        except NotDone:
            handle.close()
            raise
        self._handles[name] = handle
        self._news[name] = news
        with self._told:  # events tell of what happens after that
            for kind, topic in topics.items():
                self._note(topic, number_of(handle.opened, kind, children))
        if name == PRIMARY:
            self.recipe = handle
        return handle

    @contextmanager
    def another(self, name: str, mode: Mode = ANY) -> Iterator[Handle]:
        """Another handle of a file, for one use."""
        with self.using(name):
            assert self._session is not None, "it was opened"
            handle = self._session.open(name, mode, timeout=OPEN_S)
            try:
                yield handle
            finally:
                handle.close()

    @contextmanager
    def guarded(self, name: str, sequencer: str) -> Iterator[Handle]:
        """Another handle of a file, with a sequencer, for one use."""
        with self.another(name) as handle:
            handle.set_sequencer(sequencer)
            yield handle

    def forget(self, name: str) -> None:
        """Close the handle of a file."""
        handle = self._handles.pop(name, None)
        self._news.pop(name, None)
        if handle is not None:
            handle.close()

    def close(self) -> None:
        """Close the session and its handles; the next call opens others.

        Nobody believes in a lock that is released in this way: its handle is poisoned first.
        """
        if self.recipe is not None:
            self.recipe.poison()
            self.context.look_at_belief()
        if self._session is not None:
            self._session.close()
        self._session = None
        self._handles.clear()
        self._news.clear()

    def _note(self, topic: str, number: int) -> None:
        self._numbers[topic] = max(self._numbers.get(topic, 0), number)

    def await_change(self, topic: str, version: int, timeout: float) -> int:
        """Wait until an event has told of a higher number than the given one; which one."""
        session = self._session

        def is_told() -> bool:
            return self._expired is session or self._numbers[topic] > version

        with self._told:
            if not self._told.wait_for(is_told, timeout):
                raise NotDone(TIMED_OUT)
            if self._numbers[topic] <= version:
                raise HandleInvalid("the session has expired")
            return self._numbers[topic]

    def await_end(self, timeout: float) -> int:
        """Wait until an event has told that the temporary file is gone; which instance it was."""
        with self.using(TEMPORARY) as handle:
            news, instance = self._news[TEMPORARY], handle.opened.instance
            with self._told:
                over = self._told.wait_for(
                    lambda: news.invalid or self._expired is news.session, timeout
                )
        if not over:
            raise Failed(TIMED_OUT, {"gone": instance})
        if not news.invalid:
            raise HandleInvalid("the session has expired")
        self.forget(TEMPORARY)
        return instance

    def await_conflict(self, timeout: float) -> int:
        """Wait until an event has told of requests in conflict with our hold; of how many."""
        news = self._news.get(PRIMARY)
        if news is None:
            raise NotHeld("no file was opened yet")
        with self._told:
            if not self._told.wait_for(lambda: news.conflicts, timeout):
                raise NotDone(TIMED_OUT)
            return news.conflicts

    def news(self) -> News:
        """What the lock's handle was told of its session, and what it should have been told of."""
        if PRIMARY not in self._news:
            with self.using(PRIMARY):
                pass
        told = self._news[PRIMARY]
        missing, looks = None, 0
        for _ in range(MOST_LOOKS):
            with self._told:
                now = told.missing(connected=self.context.kazoo.connected)
                looks, missing = looks + 1 if now == missing else 1, now
                found: News = {
                    "session": self.session_name,
                    "standing": told.session.standing.value,
                    "told": [each.value for each in told.standings],
                    "missing": missing,
                    "failovers": told.failovers,
                    "losses": self._losses - told.since,
                }
            is_failover = missing == EventKind.MASTER_FAILED_OVER.value
            if missing is None or looks > (FAILOVER_LOOKS if is_failover else STANDING_LOOKS):
                return found
            time.sleep(LOOK_S)
        raise NotDone("one change came after the other")

    def _connection_changed(self, state: str) -> None:
        """Runs on kazoo's connection thread."""
        if state != KazooState.CONNECTED:
            with self._told:
                self._losses += 1
                for told in self._news.values():
                    told.new_connection = True
