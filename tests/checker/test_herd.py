from hypothesis import given
from hypothesis import strategies as st

from checker.herd import check_herd
from checker.holds import Words, extract_holds
from tests.checker.recorded import Recorded


def herd(recorded, wakeups=1):
    history = recorded.end(99).history()
    return check_herd(history, extract_holds(history, Words()), Words(), wakeups)


def line_of_three():
    """c0 holds /l/a, c1 and c2 wait since 3 ms."""
    recorded = Recorded().acquire(1, 2, 0, node="/l/a")
    recorded.add(3, 1, "invoke", "acquire").add(3, 2, "invoke", "acquire")
    return recorded.release(10, 12, 0)


def test_one_waiter_woken_is_as_promised():
    result = herd(line_of_three().link(11, 1, "/l/a"))
    assert result.anomalies == []
    assert result.stats["wakeups"] == 1


def test_two_waiters_woken_are_a_herd():
    (anomaly,) = herd(line_of_three().link(11, 1, "/l/a").link(11, 2, "/l/a")).anomalies
    assert anomaly.kind == "herd"
    assert anomaly.clients == [1, 2]


def test_without_a_promise_wakeups_are_counted_only():
    result = herd(line_of_three().link(11, 1, "/l/a").link(11, 2, "/l/a"), wakeups=None)
    assert result.anomalies == []
    assert result.stats["largest"] == 2


def test_a_watch_left_over_from_an_earlier_attempt_does_not_count():
    recorded = Recorded().acquire(1, 2, 0, node="/l/a")
    recorded.add(3, 1, "invoke", "acquire").add(5, 1, "fail", "acquire", error="timed out")
    recorded.add(6, 1, "invoke", "acquire").add(6, 2, "invoke", "acquire")
    recorded.release(10, 12, 0).link(11, 1, "/l/a").link(11, 2, "/l/a")
    assert herd(recorded).anomalies == []


def test_events_for_nodes_that_nobody_held_are_no_releases():
    recorded = line_of_three().link(8, 1, "/l/waiter").link(8, 2, "/l/waiter")
    assert herd(recorded).anomalies == []


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6),
    st.integers(1, 20),
    st.integers(1, 20),
)
def test_a_client_is_woken_if_its_only_attempt_since_the_node_was_made_is_open(
    steps, called, event
):
    called, event = min(called, event), max(called, event)
    recorded, at, attempts = Recorded(), 2, []
    for pause, took in steps:
        attempts.append((at := at + pause, at := at + took))
        recorded.add(attempts[-1][0], 1, "invoke", "acquire").add(at, 1, "fail", "acquire")
    recorded.acquire(called, called, 0, node="/l/a").link(event, 1, "/l/a")
    since = [(call, end) for call, end in attempts if call <= event and end >= called]
    assert herd(recorded).stats["wakeups"] == (len(since) == 1 and since[0][1] >= event)


def test_readers_who_are_let_in_together_count_as_one():
    def woken(*modes):
        recorded = Recorded(clients=4).acquire(1, 2, 0, node="/l/a-0000000001")
        for process, mode in enumerate(modes, start=1):
            recorded.add(3, process, "invoke", "acquire", {"mode": mode})
            recorded.link(5, process, "/l/a-0000000001")
        recorded.release(4, 6, 0).end(9)
        history = recorded.history()
        return len(check_herd(history, extract_holds(history, Words()), Words(), 1).anomalies)

    assert woken("read", "read", "read") == 0
    assert woken("write") == 0
    assert woken("write", "write") == 1
    assert woken("read", "write") == 1
