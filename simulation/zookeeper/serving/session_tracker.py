"""Tracking and expiry of sessions (``SessionTrackerImpl``, ``ExpiryQueue``)."""

from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime
from typing import Generic, Protocol, TypeVar

from rumpus.simulation.kernel.process import Process, Timer
from rumpus.simulation.zookeeper.serving.session_ids import unsigned
from rumpus.simulation.zookeeper.wire import error_codes

MILLISECOND = 1_000_000
Element = TypeVar("Element", bound=Hashable)


class ExpiryQueue(Generic[Element]):
    """Elements that expire unless they are touched in time. They expire in buckets.

    An element touched at ``now`` goes into the bucket ``((now + timeout) / interval + 1) *
    interval`` of the monotonic clock (integer division), so that it expires more than its
    timeout, and at most its timeout and an interval, after the last touch. Elements of one
    bucket expire in the order of their touches into it. There is no timer while it is empty.

    Args:
        process: the process whose clock counts.
        interval: milliseconds.
        expire: called with each expired element, after its removal.
    """

    __slots__ = (
        "_armed",
        "_bucket_of",
        "_buckets",
        "_clock",
        "_expire",
        "_interval",
        "_process",
        "_timer",
    )

    def __init__(
        self, process: Process, interval: int, expire: Callable[[Element], object]
    ) -> None:
        self._process = process
        self._clock = process.clock
        self._interval = interval
        self._expire = expire
        self._bucket_of: dict[Element, int] = {}
        self._buckets: dict[int, dict[Element, None]] = {}
        self._armed = 0
        """The bucket that the timer is set for; 0 if it is not set."""
        self._timer: Timer | None = None

    def update(self, element: Element, timeout: int) -> None:
        """Touch an element: its ``timeout`` (milliseconds) counts from now."""
        interval = self._interval
        now = self._clock.monotonic() // MILLISECOND
        bucket = ((now + timeout) // interval + 1) * interval
        former = self._bucket_of.get(element)
        if bucket == former:
            return
        if former is not None:
            self._leave(element, former)
        self._bucket_of[element] = bucket
        members = self._buckets.get(bucket)
        if members is None:
            members = self._buckets[bucket] = {}
            if not self._armed or bucket < self._armed:
                self._arm(bucket)
        members[element] = None

    def remove(self, element: Element) -> None:
        """Remove an element, if present, so that it does not expire."""
        bucket = self._bucket_of.pop(element, None)
        if bucket is not None:
            self._leave(element, bucket)

    def buckets(self) -> list[tuple[int, list[Element]]]:
        """Times of expiry (monotonic milliseconds), ascending, and the elements of each."""
        return [(time, list(members)) for time, members in sorted(self._buckets.items())]

    def stop(self) -> None:
        """Remove all elements and the timer."""
        self._bucket_of.clear()
        self._buckets.clear()
        self._disarm()

    def _leave(self, element: Element, bucket: int) -> None:
        members = self._buckets[bucket]
        del members[element]
        if not members:
            del self._buckets[bucket]

    def _arm(self, bucket: int) -> None:
        self._disarm()
        self._armed = bucket
        delay = bucket * MILLISECOND - self._clock.monotonic()
        self._timer = self._process.call_later(max(delay, 0), self._fire)

    def _disarm(self) -> None:
        self._armed = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self) -> None:
        self._disarm()
        # The clock's rate may have changed; after a pause several buckets may be due.
        while self._buckets:
            bucket = min(self._buckets)
            if bucket * MILLISECOND > self._clock.monotonic():
                self._arm(bucket)
                return
            over = self._buckets.pop(bucket)
            for element in over:
                del self._bucket_of[element]
            for element in over:
                self._expire(element)


class Sessions(Protocol):
    """The interface of session trackers."""

    def touch(self, session: int, timeout: int) -> bool:
        """A client has sent a request. Returns whether its session is still valid."""

    def committed(self, session: int, timeout: int) -> None:
        """A session's createSession has been applied."""

    def removed(self, session: int) -> None:
        """A session's closeSession has been applied."""

    def dump(self) -> str:
        """The first part of the four-letter word ``dump``."""


class _Tracked:
    __slots__ = ("closing", "owner", "timeout")

    def __init__(self, timeout: int) -> None:
        self.timeout = timeout
        self.owner: object = None
        self.closing = False


class SessionTracker:
    """Sessions of a standalone server or a leader (``SessionTrackerImpl``).

    Args:
        process: on whose clock they expire.
        tick_time: length of a bucket, milliseconds.
        expire: called with each expired session, which is already marked as closing; has to
            submit a closeSession.
        unknown: error code for a session that is not tracked: -12 on a standalone server, -112
            on a leader.
    """

    __slots__ = ("_expire", "_process", "_queue", "_sessions", "_unknown")

    def __init__(
        self,
        process: Process,
        tick_time: int,
        expire: Callable[[int], object],
        unknown: int = -12,
    ) -> None:
        self._process = process
        self._expire = expire
        self._unknown = unknown
        self._sessions: dict[int, _Tracked] = {}
        self._queue: ExpiryQueue[int] = ExpiryQueue(process, tick_time, self._expired)

    def track(self, session: int, timeout: int) -> None:
        """Track a session; its timeout (milliseconds) counts from now."""
        if session not in self._sessions:
            self._sessions[session] = _Tracked(timeout)
        self._queue.update(session, timeout)

    def track_all(self, sessions: Mapping[int, int]) -> None:
        """Track the sessions of the database; their timeouts count from now."""
        for session, timeout in sessions.items():
            self.track(session, timeout)

    def touch(self, session: int, timeout: int) -> bool:
        """Restart a session's timeout (milliseconds). False if it is not tracked or closing."""
        tracked = self._sessions.get(session)
        if tracked is None or tracked.closing:
            return False
        self._queue.update(session, timeout)
        return True

    def committed(self, session: int, timeout: int) -> None:
        """Track the session: a new leader applies transactions that an old leader prepared."""
        self.track(session, timeout)

    def removed(self, session: int) -> None:
        """Stop tracking a session."""
        if self._sessions.pop(session, None) is not None:
            self._queue.remove(session)

    def set_closing(self, session: int) -> None:
        """A closeSession has been submitted: touches fail from now on."""
        tracked = self._sessions.get(session)
        if tracked is not None:
            tracked.closing = True

    def set_owner(self, session: int, owner: object) -> bool:
        """The client is connected to server ``owner`` now. False if it is not tracked."""
        tracked = self._sessions.get(session)
        if tracked is None:
            return False
        tracked.owner = owner
        return True

    def check(self, session: int, owner: object) -> int:
        """Error code for a request of a session that came through a server; 0 if it is valid.

        A session without an owner gets ``owner`` as its owner.
        """
        tracked = self._sessions.get(session)
        if tracked is None:
            return self._unknown
        if tracked.closing:
            return error_codes.SESSION_EXPIRED
        if tracked.owner is None:
            tracked.owner = owner
        elif tracked.owner is not owner and owner is not None:
            return error_codes.SESSION_MOVED
        return 0

    def stop(self) -> None:
        """Stop tracking all sessions."""
        self._queue.stop()
        self._sessions.clear()

    def dump(self) -> str:
        """For ``dump``: the sessions by their time of expiry."""
        buckets = self._queue.buckets()
        sessions = sum(len(members) for _, members in buckets)
        ahead = self._process.clock.wall() - self._process.clock.monotonic()
        lines = [f"Session Sets ({len(buckets)})/({sessions}):\n"]
        for time, members in buckets:
            lines.append(f"{len(members)} expire at {java_date(time * MILLISECOND + ahead)}:\n")
            lines += [f"\t0x{unsigned(session):x}\n" for session in members]
        return "".join(lines)

    def _expired(self, session: int) -> None:
        tracked = self._sessions.get(session)
        if tracked is not None:
            tracked.closing = True
            self._expire(session)


class LearnerSessionTracker:
    """Sessions of a follower or observer, which only collects active sessions for the leader.

    Args:
        timeouts: returns session to negotiated timeout (milliseconds), from the database.
    """

    __slots__ = ("_timeouts", "_touched")

    def __init__(self, timeouts: Callable[[], Mapping[int, int]]) -> None:
        self._timeouts = timeouts
        self._touched: dict[int, int] = {}

    def touch(self, session: int, timeout: int) -> bool:
        """Note the session for the next PING; a learner accepts every session."""
        self._touched[session] = timeout
        return True

    def committed(self, session: int, timeout: int) -> None:
        """Nothing to do: the database contains the session."""

    def removed(self, session: int) -> None:
        """Do not report the session to the leader any more."""
        self._touched.pop(session, None)

    def take_touched(self) -> dict[int, int]:
        """Sessions active since the last call, with timeouts: the answer to a PING."""
        touched, self._touched = self._touched, {}
        return touched

    def dump(self) -> str:
        """For ``dump``: the sessions with their timeouts."""
        sessions = self._timeouts()
        return f"Global Sessions({len(sessions)}):\n" + "".join(
            f"0x{unsigned(session):x}\t{sessions[session]}ms\n" for session in sorted(sessions)
        )


def java_date(wall: int) -> str:
    """``java.util.Date`` as text, in UTC: "Tue Nov 14 22:13:20 UTC 2023"; ``wall`` in ns."""
    moment = datetime.fromtimestamp(wall // (1000 * MILLISECOND), UTC)
    return moment.strftime("%a %b %d %H:%M:%S UTC %Y")
