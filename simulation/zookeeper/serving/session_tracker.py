"""Session expiry: sessions expire in buckets, a whole bucket at a time (``ExpiryQueue``)."""

from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime
from typing import Generic, Protocol, TypeVar

from rumpus.simulation.kernel.process import Process, Timer
from rumpus.simulation.zookeeper.serving.session_ids import unsigned
from rumpus.simulation.zookeeper.wire import error_codes

MILLISECOND = 1_000_000
Element = TypeVar("Element", bound=Hashable)


class ExpiryQueue(Generic[Element]):
    """Elements that expire unless they are touched in time.

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
        """For which bucket the timer is set; 0 for none."""
        self._timer: Timer | None = None

    def update(self, element: Element, timeout: int) -> None:
        """Touch an element: it lives for ``timeout`` milliseconds more."""
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
        """Times (monotonic milliseconds) and what expires then, the next first."""
        return [(time, list(members)) for time, members in sorted(self._buckets.items())]

    def stop(self) -> None:
        """Forget all elements and the timer."""
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
        # The clock's rate may have changed since; a thawed process may find several due.
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
    """What a server of any role knows of sessions."""

    def touch(self, session: int, timeout: int) -> bool:
        """Note a client's request; returns whether its session is still valid."""

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
        expire: told of a session that is over, already marked as closing; it is to submit a
            closeSession.
        unknown: error code of a session that is not known: -12 on a standalone server, -112 on
            a leader.
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
        self._queue: ExpiryQueue[int] = ExpiryQueue(process, tick_time, self._over)

    def track(self, session: int, timeout: int) -> None:
        """Track a session; its timeout counts from now."""
        if session not in self._sessions:
            self._sessions[session] = _Tracked(timeout)
        self._queue.update(session, timeout)

    def track_all(self, sessions: Mapping[int, int]) -> None:
        """Sessions found in the database at the start, each with its full timeout from now."""
        for session, timeout in sessions.items():
            self.track(session, timeout)

    def touch(self, session: int, timeout: int) -> bool:
        """Give it ``timeout`` milliseconds more; False if it is unknown or closing."""
        tracked = self._sessions.get(session)
        if tracked is None or tracked.closing:
            return False
        self._queue.update(session, timeout)
        return True

    def committed(self, session: int, timeout: int) -> None:
        """Track it, if it is not yet: a new leader applies what an old one has prepared."""
        self.track(session, timeout)

    def removed(self, session: int) -> None:
        """Forget it."""
        if self._sessions.pop(session, None) is not None:
            self._queue.remove(session)

    def set_closing(self, session: int) -> None:
        """A closeSession is on its way: touches fail from now on."""
        tracked = self._sessions.get(session)
        if tracked is not None:
            tracked.closing = True

    def set_owner(self, session: int, owner: object) -> bool:
        """The client is connected to that server now; False if the session is not known."""
        tracked = self._sessions.get(session)
        if tracked is None:
            return False
        tracked.owner = owner
        return True

    def check(self, session: int, owner: object) -> int:
        """Whether a request of that session by way of that owner may be served: an error code.

        0 if so; the first to ask becomes the owner if there is none.
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
        """Nothing expires any more."""
        self._queue.stop()
        self._sessions.clear()

    def dump(self) -> str:
        """Sessions by the time at which they expire."""
        buckets = self._queue.buckets()
        sessions = sum(len(members) for _, members in buckets)
        ahead = self._process.clock.wall() - self._process.clock.monotonic()
        lines = [f"Session Sets ({len(buckets)})/({sessions}):\n"]
        for time, members in buckets:
            lines.append(f"{len(members)} expire at {java_date(time * MILLISECOND + ahead)}:\n")
            lines += [f"\t0x{unsigned(session):x}\n" for session in members]
        return "".join(lines)

    def _over(self, session: int) -> None:
        tracked = self._sessions.get(session)
        if tracked is not None:
            tracked.closing = True
            self._expire(session)


class LearnerSessionTracker:
    """Sessions of a follower or observer: it only notes who was active, for the leader.

    Args:
        timeouts: sessions of the database, negotiated timeouts in milliseconds.
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
        """Nothing to do: the database keeps the list."""

    def removed(self, session: int) -> None:
        """Do not tell the leader of it any more."""
        self._touched.pop(session, None)

    def take_touched(self) -> dict[int, int]:
        """Active sessions since the last call, with timeouts: the answer to a PING."""
        touched, self._touched = self._touched, {}
        return touched

    def dump(self) -> str:
        """The list of sessions with their timeouts."""
        sessions = self._timeouts()
        return f"Global Sessions({len(sessions)}):\n" + "".join(
            f"0x{unsigned(session):x}\t{sessions[session]}ms\n" for session in sorted(sessions)
        )


def java_date(wall: int) -> str:
    """``java.util.Date`` as text, in UTC: "Tue Nov 14 22:13:20 UTC 2023"; ``wall`` in ns."""
    moment = datetime.fromtimestamp(wall // (1000 * MILLISECOND), UTC)
    return moment.strftime("%a %b %d %H:%M:%S UTC %Y")
