"""Where nobody sees the servers, a hold lives as long as its client believes in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.exclusion.entitlement import check_entitlement
from rumpus.checker.exclusion.mutual_exclusion import check_exclusion
from rumpus.checker.timeline.timeline import Timeline
from rumpus.recipes.promises import EXCLUSION, Promises
from rumpus.results.record_values import check_records
from tests.checker.recorded import MS, Recorded


def timeline(recorded, **more):
    promises = Promises(prevents=EXCLUSION | {"unbelieving-holder"})
    return Timeline(
        history=recorded.history(), promises=promises, foreign=True, unseen=True, **more
    )


def kinds(result):
    return [anomaly.kind for anomaly in result.anomalies]


def test_two_that_believe_at_once_break_the_promise_though_nothing_is_known_of_sessions():
    recorded = Recorded().acquire(1, 2, 0).acquire(3, 5, 1).release(8, 9, 0).release(9, 10, 1)
    result = check_exclusion(timeline(recorded.end(20)))
    (anomaly,) = result.anomalies
    assert (anomaly.kind, anomaly.clients) == ("split-brain", [0, 1])
    assert (anomaly.start, anomaly.end) == (5 * MS, 8 * MS)
    assert "session" not in anomaly.description + result.kinds["split-brain"].meaning
    assert result.unknown == []
    assert result.stats["expiries_while_holding"] is None


def test_an_overlap_of_less_than_a_servers_millisecond_counts():
    recorded = Recorded().acquire(1, 2, 0).acquire(3, 5, 1).release(5.1, 6, 0).release(9, 10, 1)
    assert kinds(check_exclusion(timeline(recorded.end(20)))) == ["split-brain"]


def test_more_than_the_permits_allow_break_the_promise():
    recorded = Recorded()
    for client in range(3):
        recorded.acquire(1, 2 + client, client)
    recorded.release(8, 9, 0).release(9, 10, 1).release(10, 11, 2)
    result = check_exclusion(timeline(recorded.end(20), permits=2))
    assert kinds(result) == ["split-brain"]
    assert "session" not in result.anomalies[0].description
    assert kinds(check_exclusion(timeline(recorded, permits=3))) == []


def test_a_belief_ends_with_the_last_look_that_said_yes():
    recorded = Recorded().acquire(1, 2, 0).session(30, 0, "doubts", since=4 * MS)
    recorded.acquire(3, 5, 1).release(40, 41, 1).release(42, 43, 0)
    assert kinds(check_exclusion(timeline(recorded.end(50)))) == []


def test_a_belief_ends_when_the_process_is_killed_not_when_that_is_seen():
    recorded = Recorded().acquire(1, 2, 0).acquire(3, 5, 1).session(6, 0, "exited", since=4 * MS)
    recorded.release(40, 41, 1)
    assert kinds(check_exclusion(timeline(recorded.end(50)))) == []


def test_an_action_after_a_later_holder_has_acted_is_told():
    recorded = Recorded().acquire(1, 2, 0).session(30, 0, "doubts", since=4 * MS)
    recorded.acquire(3, 5, 1).act(6, 1).act(20, 0).release(40, 41, 1).release(42, 43, 0)
    assert kinds(check_exclusion(timeline(recorded.end(50)))) == ["stale-action"]


def test_nobody_says_that_a_holder_had_no_reason_to_doubt():
    recorded = Recorded().acquire(1, 2, 0).session(30, 0, "doubts", since=4 * MS)
    recorded.release(42, 43, 0)
    assert kinds(check_entitlement(timeline(recorded.end(50)))) == []


spans = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 50), st.integers(1, 50)), min_size=1, max_size=8
)


@given(spans)
def test_it_is_broken_exactly_where_beliefs_of_two_clients_overlap(drawn):
    """Each client holds one after the other; in between others may."""
    free = dict.fromkeys(range(4), 0)
    holds, recorded = [], []
    for client, pause, length in drawn:
        start = free[client] + pause
        end = start + length
        free[client] = end + 1
        holds.append((client, start, end))
    events = Recorded(clients=4)
    for client, start, end in holds:
        recorded += [(start, "acquire", client), (end, "release", client)]
    for time, what, client in sorted(recorded, key=lambda each: each[0]):
        if what == "acquire":
            events.acquire(time - 0.5, time, client)
        else:
            events.release(time, time + 0.4, client)
    overlap = any(
        a != b and max(start, other) < min(end, over)
        for place, (a, start, end) in enumerate(holds)
        for b, other, over in holds[place + 1 :]
    )
    result = check_exclusion(timeline(events.end(2000)))
    assert set(kinds(result)) == ({"split-brain"} if overlap else set())
    assert result.unknown == []


@pytest.mark.parametrize("field", ["since", "until"])
@pytest.mark.parametrize("value", ["soon", None, 1 << 70])
def test_a_belief_that_ends_at_no_time_is_refused(field, value):
    recorded = Recorded().acquire(1, 2, 0).session(3, 0, "doubts", **{field: value})
    with pytest.raises(ValueError, match=f"value.{field}"):
        check_records(recorded.end(50).history())
