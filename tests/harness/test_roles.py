from rumpus.checker.timeline.holds import Words
from rumpus.harness.roles import RoleTracker
from tests.checker.recorded import Recorded


def roles(recorded):
    tracker = RoleTracker(3, Words())
    for op in recorded.ops:
        tracker.observe(op)
    return tracker.holder(), tracker.next_in_line()


def test_nobody_holds_or_waits_at_first():
    assert roles(Recorded()) == (None, None)


def test_who_was_granted_last_holds_and_who_waits_longest_is_next():
    recorded = Recorded().acquire(1, 2, 0).add(4, 2, "invoke", "acquire")
    assert roles(recorded.add(5, 1, "invoke", "acquire")) == (0, 2)


def test_holding_ends_with_the_call_of_release_and_with_the_process():
    assert roles(Recorded().acquire(1, 2, 0).add(3, 0, "invoke", "release")) == (None, None)
    assert roles(Recorded().acquire(1, 2, 0).session(3, 0, "exited")) == (None, None)


def test_a_later_process_of_a_client_is_the_same_client():
    assert roles(Recorded().acquire(1, 2, 4)) == (1, None)


def test_an_attempt_that_failed_waits_no_longer():
    recorded = Recorded().add(1, 1, "invoke", "acquire").add(2, 1, "fail", "acquire")
    assert roles(recorded) == (None, None)


def test_who_comes_to_hold_unasked_holds_while_it_believes():
    recorded = Recorded().session(1, 2, "believes")
    assert roles(recorded) == (2, None)
    assert roles(recorded.session(2, 2, "doubts")) == (None, None)
    assert roles(recorded.session(3, 1, "believes").session(4, 1, "exited")) == (None, None)


def test_who_was_granted_holds_through_its_doubts():
    recorded = Recorded().session(1, 0, "believes").acquire(1, 2, 0).session(3, 0, "doubts")
    assert roles(recorded) == (0, None)
