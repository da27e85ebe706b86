"""Views with one known mistake each, which the harness must find."""

import threading
from typing import Any

from kazoo.exceptions import NoNodeError, SessionExpiredError
from kazoo.protocol.states import EventType, WatchedEvent
from kazoo.recipe.cache import TreeEvent

from rumpus.recipes.mistake import made
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.follower import Follower
from rumpus.recipes.requests.session import Session, Unanswered, Watcher
from rumpus.recipes.view.follower_view import Children, ChildrenView, Data, DataView
from rumpus.recipes.view.kazoo_called_views import KazooTreeListenerView

SAVED_EACH = 5
"""``FallsBackDataView`` saves a copy after this many reads."""


class NotifiedOnly(Follower):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._notified = threading.Event()

    def _look(self, session: Session, deadline: Deadline) -> None:
        self._notified.clear()
        super()._look(session, deadline)  # type: ignore[safe-super]

    def _news(self, session: Session) -> Watcher:
        del session

        def news(event: WatchedEvent) -> None:
            if event.type != EventType.NONE:
                self._notified.set()
            else:
                made(own=True)

        return news

    def _await_news(self, session: Session) -> None:
        if session.wake.is_set() and not self._notified.is_set():
            made(own=True)
        self._notified.wait()


class WatchAfterReadDataView(DataView):
    def _look(self, session: Session, deadline: Deadline) -> None:
        try:
            data, stat = session.ask(deadline, self._client.get_async, self._path)
        except NoNodeError:
            stat = None
            self._show(None)
        else:
            self._show(Data(data, stat.mzxid, stat.version))
        now = session.ask(deadline, self._client.exists_async, self._path, self._news(session))
        if (now and now.mzxid) != (stat and stat.mzxid):
            made(own=True)


class WatchAfterReadChildrenView(ChildrenView):
    def _look(self, session: Session, deadline: Deadline) -> None:
        try:
            names, stat = session.ask(
                deadline, self._client.get_children_async, self._path, include_data=True
            )
            self._show(Children(frozenset(names), stat.pzxid))
            now = session.ask(
                deadline, self._client.get_children_async, self._path, self._news(session)
            )
            if set(now) != set(names):
                made(own=True)
        except NoNodeError:
            self._missing(session, deadline)


class TakesAllForNodes(KazooTreeListenerView):
    def _apply(self, event: TreeEvent) -> None:
        if event.event_data is None and event.event_type != TreeEvent.INITIALIZED:
            made(own=True)
        if event.event_type != TreeEvent.INITIALIZED:
            event.event_data.path  # noqa: B018 - of no node
        super()._apply(event)


class FallsBackDataView(DataView):
    _saved: Data | None = None
    _shown = 0

    def _look(self, session: Session, deadline: Deadline) -> None:
        try:
            super()._look(session, deadline)
        except (Unanswered, SessionExpiredError):
            if self._saved is not None:
                if self._saved != self.value:
                    made(own=True)
                self._show(self._saved)
            raise
        self._shown += 1
        if self._shown % SAVED_EACH == 0:
            self._saved = self.value
