"""Waiting for changes of etcd's keys, and following all of them, by watches from a revision.

etcd keeps its history (until it is compacted), so a watch that begins again at the revision after
the last event that came has missed nothing, whichever server it asks then.
"""

import threading
from collections.abc import Sequence
from typing import Any, ClassVar, Final, NamedTuple

from rumpus.recipes.etcd.etcd_access import (
    EtcdAccess,
    after_prefix,
    decoded,
    get,
    pairs,
    revision_of,
)
from rumpus.recipes.etcd.etcd_keys import EtcdRegister
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import PAUSE, pause
from rumpus.recipes.requests.session import Unanswered
from rumpus.recipes.servers import Servers
from rumpus.recipes.znodes.register import ABSENT, Reading

SILENCE_S: Final = 1.0
"""Seconds of silence after which another server is asked: one that is cut off says nothing."""

STREAM_S: Final = 3600.0


class Event(NamedTuple):
    """A change: at which revision, of which key, to which version and value."""

    revision: int
    key: str
    version: int
    value: str


class Followed(NamedTuple):
    """A part of a stream of events: which stream, from which revision on it is complete."""

    stream: int
    since: int
    events: Sequence[Event]


class EventStream:
    """All changes below a prefix, from a revision on, in a thread of its own.

    Args:
        access: used by the thread alone, but for ``reconnect``.
        prefix: of the keys; ends in a slash.
        since: the first revision.
    """

    def __init__(self, access: EtcdAccess, prefix: str, since: int) -> None:
        self.since = since
        self._access = access
        self._prefix = prefix
        self._next = since
        self._came: list[Event] = []
        self._news = threading.Condition()
        self._closed = threading.Event()
        threading.Thread(target=self._follow, name="etcd-events", daemon=True).start()

    def take(self, revision: int, timeout: float) -> list[Event] | None:
        """The events that nobody has taken, once that of a revision has come; None if it has not.

        Args:
            revision: of the last event that must have come.
            timeout: seconds.
        """
        with self._news:
            if not self._news.wait_for(lambda: self._next > revision, timeout):
                return None
            taken, self._came = self._came, []
            return taken

    def reconnect(self) -> None:
        """Drop the connection."""
        self._access.reconnect()

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
        self._access.reconnect()

    def _follow(self) -> None:
        end = after_prefix(self._prefix)
        while not self._closed.is_set():
            try:
                first = self._first_revision()
                for each in self._access.watch(
                    self._prefix, first, STREAM_S, SILENCE_S, range_end=end
                ):
                    self._note(each["kv"])
            except Unanswered:
                self._closed.wait(PAUSE)
            else:
                self._access.reconnect()  # silence: perhaps this server is cut off

    def _first_revision(self) -> int:
        """Where a watch begins (again)."""
        return self._next

    def _note(self, pair: dict[str, Any]) -> None:
        revision = int(pair["mod_revision"])
        key = decoded(pair["key"]).removeprefix(self._prefix)
        version = int(pair.get("version", 0)) + ABSENT
        with self._news:
            self._came.append(Event(revision, key, version, decoded(pair.get("value", ""))))
            self._next = max(self._next, revision + 1)
            self._news.notify_all()


class EtcdWatchedKeys(EtcdRegister):
    """Registers whose readers wait for a change, or follow all changes."""

    promises: ClassVar[Promises] = Promises(
        prevents=frozenset(
            {"missed-event", "repeated-event", "reordered-event", "false-event"}
            | {"stuck-waiter", "early-timeout", "overdue-call"}
        ),
        notes="Every change comes, once and in order, as long as the history is not compacted. An "
        "event can come after a read that shows its change. Reads are those of registers.",
    )

    stream_class: ClassVar[type[EventStream]] = EventStream

    def __init__(self, servers: Servers, path: str) -> None:
        super().__init__(servers, path)
        self._stream: EventStream | None = None

    def prepare(self) -> None:
        """Begin to follow the changes."""
        if self._stream is None:
            since = revision_of(self._look("")) + 1
            access = EtcdAccess(self._servers)
            self._stream = self.stream_class(access, self._key(""), since)

    def close(self) -> None:
        """End the stream of events."""
        super().close()
        if self._stream is not None:
            self._stream.close()

    def reconnect(self) -> None:
        """Drop the connections, of the stream too."""
        super().reconnect()
        if self._stream is not None:
            self._stream.reconnect()

    def follow(self, timeout: float) -> Followed | None:
        """All changes since the last call, up to those before this call.

        None if they have not come in time. Then the next call has them.
        """
        stream = self._stream
        assert stream is not None, "prepare comes first"
        prefix = self._key("")
        sorting = {"sort_order": "DESCEND", "sort_target": "MOD", "limit": 1}
        newest = get(prefix, range_end=after_prefix(prefix), **sorting)
        found = pairs(self._access.transaction([], [newest]))
        revision = int(found[0]["mod_revision"]) if found else 0
        events = stream.take(revision, timeout)
        return None if events is None else Followed(self._identity, stream.since, events)

    def await_change(self, key: str, version: int, timeout: float) -> Reading | None:
        """Wait until the key has another version; None if it has not in time.

        Raises:
            Unanswered: the last look, made when the time was up, got no answer.
        """
        deadline = Deadline(timeout)
        seen: int | None = None
        while True:
            try:
                if seen is None or deadline.passed:
                    answer = self._look(key)
                    seen = revision_of(answer)
                    found = self._found(answer, 0)
                    if found.version != version:
                        return found
                    if deadline.passed:
                        return None
                event = self._next_event(key, seen + 1, deadline)
                if event is not None:
                    return event
                self._access.reconnect()  # silence: perhaps this server is cut off
            except Unanswered:
                if deadline.passed:
                    raise
                pause(deadline)

    def _next_event(self, key: str, revision: int, deadline: Deadline) -> Reading | None:
        """The first change of a key from a revision on; None if there was none for a second."""
        left = deadline.left()
        seconds = SILENCE_S if left is None else min(SILENCE_S, left)
        for event in self._access.watch(self._key(key), revision, seconds) if seconds else ():
            return self._reading_of(event["kv"])
        return None
