import pytest

from rumpus.simulation.kernel.simulator import MILLISECOND, SECOND, Simulator
from rumpus.simulation.zookeeper.serving.session_tracker import (
    ExpiryQueue,
    LearnerSessionTracker,
    SessionTracker,
    java_date,
)
from rumpus.simulation.zookeeper.wire import error_codes


class Expired:
    """Notes what expires, and when: milliseconds since the world began."""

    def __init__(self, seed=1):
        self.simulator = Simulator(seed)
        self.process = self.simulator.process("server")
        self.found = []

    def __call__(self, element):
        self.found.append((self.simulator.now / MILLISECOND, element))

    def run_until(self, milliseconds):
        self.simulator.run(milliseconds * MILLISECOND)


@pytest.fixture
def expired():
    return Expired()


@pytest.mark.parametrize(
    ("touched", "timeout", "interval", "at"),
    [
        (0, 4000, 2000, 6000),
        (1, 4000, 2000, 6000),
        (1999, 4000, 2000, 6000),
        (2000, 4000, 2000, 8000),
        (650, 4000, 2000, 6000),
        (340, 1000, 500, 1500),
        (0, 1, 2000, 2000),
    ],
)
def test_expiry_comes_at_the_bucket_after_the_timeout(expired, touched, timeout, interval, at):
    queue = ExpiryQueue(expired.process, interval, expired)
    expired.run_until(touched)
    queue.update("x", timeout)
    expired.run_until(at - 1)
    assert expired.found == []
    expired.run_until(60_000)
    assert expired.found == [(at, "x")]


def test_a_touch_moves_an_element_on(expired):
    queue = ExpiryQueue(expired.process, 2000, expired)
    queue.update("a", 4000)
    queue.update("b", 4000)
    expired.run_until(3000)
    queue.update("a", 4000)
    expired.run_until(60_000)
    assert expired.found == [(6000, "b"), (8000, "a")]


def test_a_bucket_expires_in_the_order_of_touches_and_may_grow_meanwhile(expired):
    queue = ExpiryQueue(expired.process, 1000, expired)
    for element in ("c", "a", "b"):
        queue.update(element, 1500)
    queue.remove("a")
    assert queue.buckets() == [(100_002_000, ["c", "b"])]
    expired.run_until(10_000)
    assert [element for _, element in expired.found] == ["c", "b"]
    assert queue.buckets() == []


def test_a_shorter_timeout_is_not_kept_waiting_by_a_longer_one(expired):
    queue = ExpiryQueue(expired.process, 1000, expired)
    queue.update("long", 9000)
    queue.update("short", 1000)
    expired.run_until(20_000)
    assert expired.found == [(2000, "short"), (10_000, "long")]


def test_an_empty_queue_has_no_timer(expired):
    queue = ExpiryQueue(expired.process, 1000, expired)
    queue.update("x", 1000)
    expired.run_until(5000)
    before = expired.simulator.events
    expired.run_until(1_000_000)
    assert expired.simulator.events == before


def test_nothing_expires_after_stop(expired):
    queue = ExpiryQueue(expired.process, 1000, expired)
    queue.update("x", 1000)
    queue.stop()
    expired.run_until(10_000)
    assert expired.found == []


def test_expiry_may_stop_the_queue_or_touch_what_expires_with_it(expired):
    def expire(element):
        expired(element)
        if element == "last":
            queue.stop()
        elif element == "a":
            queue.remove("b")
            queue.update("c", 1000)

    queue = ExpiryQueue(expired.process, 1000, expire)
    for element in ("a", "b"):
        queue.update(element, 1000)
    queue.update("last", 1500)
    queue.update("late", 1900)
    expired.run_until(10_000)
    assert [element for _, element in expired.found] == ["a", "b", "last", "late"]
    assert queue.buckets() == []


def test_a_thawed_process_expires_all_buckets_that_are_due(expired):
    queue = ExpiryQueue(expired.process, 1000, expired)
    for number in range(3):
        queue.update(number, 1000 * (number + 1))
    expired.process.freeze()
    expired.run_until(7500)
    expired.process.thaw()
    expired.run_until(8000)
    assert expired.found == [(7500, 0), (7500, 1), (7500, 2)]


def test_buckets_follow_a_clock_that_runs_fast(expired):
    expired.process.clock.run_at(2)
    queue = ExpiryQueue(expired.process, 1000, expired)
    queue.update("x", 1500)
    expired.run_until(10_000)
    assert expired.found == [(1000, "x")]


@pytest.mark.parametrize("rate", [1.01, 1.37, 3.0])
def test_a_fast_clock_whose_bucket_comes_between_two_nanoseconds_still_reaches_it(expired, rate):
    expired.process.clock.run_at(rate)
    queue = ExpiryQueue(expired.process, 1000, expired)
    for number in range(20):
        queue.update(number, 500 + 997 * number)
    expired.run_until(40_000)
    assert [element for _, element in expired.found] == list(range(20))


def test_a_clock_that_slows_down_keeps_its_buckets(expired):
    queue = ExpiryQueue(expired.process, 1000, expired)
    queue.update("x", 1500)
    expired.process.clock.run_at(0.5)
    expired.run_until(10_000)
    assert expired.found == [(4000, "x")]


@pytest.fixture
def tracker(expired):
    return SessionTracker(expired.process, 1000, expired)


def test_a_session_that_is_touched_in_time_lives(tracker, expired):
    tracker.track(7, 3000)
    for second in range(1, 20):
        expired.run_until(second * 1000)
        assert tracker.touch(7, 3000)
    expired.run_until(60_000)
    assert expired.found == [(23_000, 7)]


def test_a_touch_counts_with_the_timeout_of_the_connection(tracker, expired):
    tracker.track(7, 3000)
    tracker.touch(7, 10_000)
    expired.run_until(60_000)
    assert expired.found == [(11_000, 7)]


def test_an_expired_session_is_closing_until_it_is_removed(tracker, expired):
    tracker.track(7, 3000)
    expired.run_until(5000)
    assert not tracker.touch(7, 3000)
    assert tracker.check(7, None) == error_codes.SESSION_EXPIRED
    tracker.removed(7)
    assert tracker.check(7, None) == error_codes.UNKNOWN_SESSION
    assert not tracker.touch(7, 3000)


def test_a_leader_calls_unknown_sessions_expired(expired):
    tracker = SessionTracker(expired.process, 1000, expired, error_codes.SESSION_EXPIRED)
    assert tracker.check(7, None) == error_codes.SESSION_EXPIRED


def test_a_closing_session_takes_no_touch_but_still_expires_only_once(tracker, expired):
    tracker.track(7, 3000)
    tracker.set_closing(7)
    assert not tracker.touch(7, 3000)
    tracker.removed(7)
    expired.run_until(60_000)
    assert expired.found == []


def test_requests_by_way_of_another_server_are_moved(tracker):
    here, there = object(), object()
    tracker.track(7, 3000)
    assert tracker.check(7, here) == 0
    assert tracker.check(7, there) == error_codes.SESSION_MOVED
    assert tracker.set_owner(7, there)
    assert tracker.check(7, here) == error_codes.SESSION_MOVED
    assert tracker.check(7, there) == 0
    assert not tracker.set_owner(8, there)


def test_sessions_of_the_database_start_with_their_full_timeout(tracker, expired):
    expired.run_until(10_000)
    tracker.track_all({1: 2000, 2: 5000})
    expired.run_until(60_000)
    assert expired.found == [(13_000, 1), (16_000, 2)]


def test_dump_shows_buckets_of_sessions(tracker):
    tracker.track(0x100, 3000)
    tracker.track(-1, 3000)
    assert tracker.dump() == (
        "Session Sets (1)/(2):\n"
        "2 expire at Tue Nov 14 22:13:24 UTC 2023:\n"
        "\t0x100\n\t0xffffffffffffffff\n"
    )


def test_a_learner_notes_who_was_active_since_the_last_ping():
    tracker = LearnerSessionTracker(lambda: {5: 4000, 3: 6000})
    assert tracker.touch(5, 4000)
    assert tracker.touch(9, 2000)
    tracker.removed(9)
    assert tracker.take_touched() == {5: 4000}
    assert tracker.take_touched() == {}
    assert tracker.dump() == "Global Sessions(2):\n0x3\t6000ms\n0x5\t4000ms\n"


def test_dates_are_javas():
    assert java_date(0) == "Thu Jan 01 00:00:00 UTC 1970"
    assert java_date(1_709_210_096 * SECOND) == "Thu Feb 29 12:34:56 UTC 2024"
