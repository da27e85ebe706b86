"""Waits for a countdown latch, on written histories."""

import pytest

from rumpus.checker.families.latch_entries import check_entries
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded

LATCH = {"key": 1, "count": 2}


def call(recorded, called, returned, process, f, outcome="ok", **more):
    recorded.add(called, process, "invoke", f, LATCH | more)
    return recorded.add(returned, process, outcome, f)


def connected():
    recorded = Recorded()
    for client in range(3):
        recorded.session(0, client, "connected")
    return recorded


def judged(recorded, end=90_000):
    result = check_entries(laid_out(recorded.end(end).history()))
    assert all(anomaly.description for anomaly in result.anomalies)
    return [anomaly.kind for anomaly in result.anomalies], result.stats["held_up"]


@pytest.mark.parametrize(("second", "found"), [(49, []), (50, []), (51, ["early-entry"])])
def test_nobody_passes_before_so_many_have_called(second, found):
    recorded = call(connected(), 10, 20, 0, "count_down")
    call(recorded, 5, 50, 2, "wait")
    assert judged(call(recorded, second, 60, 1, "count_down")) == (found, int(not found))


@pytest.mark.parametrize(("outcome", "found"), [("info", []), ("fail", ["early-entry"])])
def test_a_count_that_nobody_knows_may_have_opened_it(outcome, found):
    recorded = call(connected(), 10, 20, 0, "count_down")
    call(recorded, 30, 40, 1, "count_down", outcome)
    assert judged(call(recorded, 50, 60, 2, "wait")) == (found, 0)


def test_a_client_counts_once_and_on_one_latch():
    recorded = call(connected(), 10, 20, 0, "count_down", "info")
    call(recorded, 30, 40, 3, "count_down")  # the next process of the same client
    call(recorded, 30, 40, 1, "count_down", key=2)
    assert judged(call(recorded, 50, 60, 2, "wait")) == (["early-entry"], 0)


def asleep(until, *, second="ok", outcome="fail", down=None):
    recorded = call(connected(), 10, 20, 0, "count_down")
    call(recorded, 30, 1_000, 1, "count_down", second)
    if down is not None:
        recorded.session(down, 2, "suspended").session(down + 500, 2, "connected")
    recorded.add(40, 2, "invoke", "wait", LATCH)
    if outcome:
        recorded.add(until, 2, outcome, "wait")
    return judged(recorded, until + 10)[0]


@pytest.mark.parametrize("outcome", ["ok", "fail", "info", None])
def test_who_waits_on_for_an_open_latch_in_calm_is_stuck(outcome):
    assert asleep(3_100, outcome=outcome) == ["stuck-waiter"]
    assert asleep(2_900, outcome=outcome) == []


def test_who_waits_for_a_count_that_nobody_knows_or_is_cut_off_is_not_stuck():
    assert asleep(9_000, second="info") == []
    assert asleep(4_000, down=2_000) == []
    assert asleep(6_000, down=2_000) == ["stuck-waiter"]


def test_who_comes_when_it_is_open_was_not_held_up():
    recorded = call(connected(), 10, 20, 0, "count_down")
    call(recorded, 30, 40, 1, "count_down")
    assert judged(call(recorded, 50, 60, 2, "wait")) == ([], 0)


def test_leaving_is_no_count():
    recorded = call(connected(), 10, 20, 0, "count_down")
    recorded.add(30, 1, "invoke", "leave").add(30, 1, "info", "leave")
    assert judged(call(recorded, 40, 50, 2, "wait")) == (["early-entry"], 0)
