"""Holds: which client was granted the lock, when, and how long it believed that it held it.

A hold begins when ``acquire`` returns ok. The client believes that it holds until it calls
``release``, its recipe says that it no longer holds, or its process ends. The worker records
``doubts`` the moment the recipe says that it does not hold (because the session is suspended,
for instance), and ``believes`` if it says again that it does. A paused process goes on believing.
Where ``doubts`` says ``since`` when the recipe no longer said that it holds, the belief ended then:
the client has no ZooKeeper connection whose end would have told it, and is asked now and then. So
with ``exited``: ``since`` says when the process was killed, not when that was seen.

Some recipes compute until when their session is certain to live, and believe only until then.
Their grant carries that time as ``until``, and each ``believes`` that renews it carries a new
one. It bounds the belief of a paused process too, because such a recipe looks at the clock before
it acts.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from sys import intern
from typing import Any

from rumpus.checker.history import History, Op


@dataclass(frozen=True)
class Words:
    """The names under which a family's operations appear in a history."""

    acquire: str = "acquire"
    work: str = "work"
    release: str = "release"
    thing: str = "lock"
    """What is held, for sentences: "the lock", "the leadership"."""
    counted: bool = True
    """Whether a re-entrant holder must release as often as it acquired; else once is enough."""


@dataclass(eq=False, slots=True)
class Hold:
    """One grant of the lock (or leadership). Times are nanoseconds on the run's clock."""

    client: int
    process: int
    called: int
    granted: int
    session: str | None = None
    token: int | None = None
    node: str | None = None
    release_called: int | None = None
    released: bool = False
    """Whether its release returned ok: then its session was alive when release was called."""
    beliefs: list[tuple[int, int]] = field(default_factory=list)
    acts: list[Op] = field(default_factory=list)
    """The witness's records of what this hold did to the protected resource, in order."""
    ops: tuple[int, ...] = ()
    """Indices of the records of its acquire and release, and of what ended its belief."""
    depth: int = 1
    pauses: Sequence[tuple[int, int]] = ()
    """When the client's process was frozen, from just before SIGSTOP to just after SIGCONT, as
    far as it matters to the hold: between the call of its acquire and the end of its belief."""
    shared: bool = False
    """Whether it was acquired in mode ``read``: other such holds may exist at the same time."""

    @property
    def believed_until(self) -> int:
        """When its client stopped believing for the last time."""
        return self.beliefs[-1][1]

    def excludes(self, other: "Hold") -> bool:
        """Whether the two exclude each other: unless both are shared."""
        return not (self.shared and other.shared)


def patience(call: Op) -> float | None:
    """The ``timeout`` that a call was given, in seconds; None if it has none."""
    found = call.value.get("timeout") if isinstance(call.value, dict) else None
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def shares(call: Op) -> bool:
    """Whether an acquire asks for a shared lock (mode ``read``)."""
    return isinstance(call.value, dict) and call.value.get("mode") == "read"


def pauses(history: History) -> dict[int, list[tuple[int, int]]]:
    """For each client, when its process was frozen (if never resumed, to the history's end)."""
    spans: dict[int, list[tuple[int, int]]] = {}
    since: dict[int, int] = {}
    for op in history.events("session"):
        client = op.value["client"]
        if op.f == "paused":
            since.setdefault(client, op.time)
        elif op.f in ("resumed", "exited") and client in since:
            spans.setdefault(client, []).append((since.pop(client), op.time))
    for client, start in since.items():
        spans.setdefault(client, []).append((start, history.end))
    return spans


def extract_holds(history: History, words: Words) -> list[Hold]:
    """All holds of a history in order of grant. Linear in the number of records.

    Holds belong to clients, not to processes: an unknown outcome changes the process number and
    ends no hold. A re-entrant acquire (it is given the same node again) increases the ``depth`` of
    the hold instead of making a new one; only the outermost release ends the hold, or one that
    does not return ok. The end of a client's process ends its belief. In a truncated history a
    belief still open ends with the last record of its client: nothing is known of later times.
    """
    found = _Holds(words)
    called: dict[int, Op] = {}
    last_seen: dict[int, int] = {}
    for op in history:
        if isinstance(op.process, int):
            client = history.client_of(op.process)
            if op.type == "invoke":
                called[client] = op
                if op.f == words.release:
                    found.release_called(client, op)
            elif op.f == words.acquire and op.type == "ok":
                found.granted(client, called[client], op)
            elif op.f == words.release:
                found.released(client, op)
        elif op.process == "witness":
            found.acted(op.value["client"], op)
            continue
        elif op.process == "session":
            client = op.value["client"]
            found.session_event(client, op)
        else:
            continue
        last_seen[client] = op.time
    found.end(last_seen if history.truncated else defaultdict(lambda: history.end))
    _add_pauses(found.holds, history)
    return found.holds


class _Holds:
    """The holds so far, by the records of clients in order of time.

    ``_current``: each client's hold. ``_believing``: since when a client has believed that it
    holds. ``_until``: when its belief ends by itself.
    """

    def __init__(self, words: Words) -> None:
        self._words = words
        self.holds: list[Hold] = []
        self._current: dict[int, Hold] = {}
        self._latest: dict[int, Hold] = {}
        self._believing: dict[int, int] = {}
        self._until: dict[int, int] = {}

    def release_called(self, client: int, call: Op) -> None:
        """A holder stops believing when it calls the outermost release."""
        hold = self._current.get(client)
        if hold is not None and hold.depth == 1:
            self._stop_believing(client, call, hold)
            hold.release_called = call.time

    def granted(self, client: int, call: Op, done: Op) -> None:
        """A new hold, or one that is deeper."""
        assert isinstance(done.process, int)
        value: dict[str, Any] = done.value or {}
        hold = self._current.get(client)
        if hold is not None and _again(hold, done.process, value):
            hold.depth += self._words.counted
            return
        if hold is not None:
            self._stop_believing(client, done, hold)
        hold = Hold(
            client=client,
            process=done.process,
            called=call.time,
            granted=done.time,
            session=_interned(value.get("session")),
            token=value.get("token"),
            node=_interned(value.get("node")),
            ops=(call.index, done.index),
            shared=shares(call),
        )
        self.holds.append(hold)
        self._current[client] = self._latest[client] = hold
        self._believing[client] = done.time
        self._end_by_itself(client, value)

    def released(self, client: int, done: Op) -> None:
        """A release returned, whatever its outcome."""
        hold = self._current.get(client)
        if hold is not None and hold.depth > 1 and done.type == "ok":
            hold.depth -= 1
        elif hold is not None:
            hold.released = done.type == "ok"
            self._stop_believing(client, done, hold)
            del self._current[client]

    def acted(self, client: int, act: Op) -> None:
        """The witness has seen the client act."""
        if client in self._latest:
            self._latest[client].acts.append(act)

    def session_event(self, client: int, op: Op) -> None:
        """What the client's process said of its belief, or its end."""
        hold = self._current.get(client)
        if hold is None:
            return
        if op.f == "exited":
            self._stop_believing(client, op, self._current.pop(client), op.value.get("since"))
        elif op.f == "doubts":
            self._stop_believing(client, op, hold, op.value.get("since"))
        elif op.f == "believes" and hold.release_called is None:
            if client in self._believing and self._until.get(client, op.time) < op.time:
                self._stop_believing(client, op, hold)
            self._believing.setdefault(client, op.time)
            self._end_by_itself(client, op.value)

    def end(self, ends: Mapping[int, int]) -> None:
        """Beliefs still open end; ``ends``: client -> when."""
        for client, since in self._believing.items():
            belief = since, self._believed(client, since, ends[client])
            self._current[client].beliefs.append(belief)

    def _stop_believing(self, client: int, op: Op, hold: Hold, until: int | None = None) -> None:
        """The belief ends at the record's time, or at ``until`` if that is known."""
        since = self._believing.pop(client, None)
        if since is not None:
            until = op.time if until is None else until
            hold.beliefs.append((since, self._believed(client, since, until)))
            hold.ops += (op.index,)

    def _believed(self, client: int, since: int, time: int) -> int:
        """The end of a belief that lasted until ``time``, or until its ``until`` if sooner."""
        return max(since, min(time, self._until.get(client, time)))

    def _end_by_itself(self, client: int, value: dict[str, Any]) -> None:
        self._until.pop(client, None)
        if "until" in value:
            self._until[client] = value["until"]


def _interned(name: str | None) -> str | None:
    """Interned to save memory: the servers' logs contain the same names."""
    return None if name is None else intern(name)


def _again(hold: Hold, process: int, value: dict[str, Any]) -> bool:
    """Whether a grant is re-entrant: a grant of what its client holds already.

    Equal paths are not enough: in recipes whose contenders all create one node, every grant has
    the same path.
    """
    if (hold.node, hold.token) != (value.get("node"), value.get("token")):
        return False
    return hold.process == process if hold.node is None else hold.session == value.get("session")


def _add_pauses(holds: Sequence[Hold], history: History) -> None:
    frozen = pauses(history)
    for hold in holds:
        spans = frozen.get(hold.client, [])
        first = bisect_right(spans, hold.called, key=lambda span: span[1])
        last = bisect_left(spans, hold.believed_until, key=lambda span: span[0])
        if first < last:
            hold.pauses = spans[first:last]
