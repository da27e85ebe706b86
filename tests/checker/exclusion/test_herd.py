from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.exclusion.herd import check_herd
from rumpus.checker.timeline.holds import Words, extract_holds
from rumpus.checker.timeline.ownership import Ownership, ServerView
from tests.checker.laid_out import laid_out
from tests.checker.recorded import MS, Recorded


def herd(recorded, wakeups=1, server=None, permits=1, clock=None):
    history = recorded.end(99).history()
    given = {"wakeups": wakeups, "servers": server, "permits": permits, "clock": clock}
    return check_herd(laid_out(history, **given))


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


def overrunning(outcome):
    """c1's patience ends at 7 ms; c2, which stood behind it, watches /l/a from then on."""
    recorded = Recorded().acquire(1, 2, 0, node="/l/a")
    recorded.add(3, 1, "invoke", "acquire", {"timeout": 0.004}).add(3, 2, "invoke", "acquire")
    recorded.release(10, 12, 0).link(11, 1, "/l/a").link(11, 2, "/l/a")
    return recorded.add(13, 1, outcome, "acquire", {"node": "/l/b"})


def test_an_attempt_that_has_used_up_its_timeout_may_have_left_a_watch():
    result = herd(overrunning("fail"))
    assert result.anomalies == []
    assert (result.stats["wakeups"], result.stats["left_over"]) == (2, 1)


def test_an_attempt_that_is_granted_after_its_timeout_had_not_given_up():
    assert len(herd(overrunning("ok")).anomalies) == 1


def test_events_for_nodes_that_nobody_held_are_no_releases():
    recorded = line_of_three().link(8, 1, "/l/waiter").link(8, 2, "/l/waiter")
    result = herd(recorded)
    assert (result.anomalies, result.stats["wakeups"]) == ([], 0)
    assert result.stats["by_waiters_that_left"] == 2


def test_an_earlier_attempt_that_was_granted_leaves_no_watch():
    """In a busy line nearly everybody held it once while the next holders stood behind."""
    recorded = Recorded().add(1, 0, "invoke", "acquire").acquire(1, 2, 1, node="/l/b")
    recorded.release(3, 4, 1).add(5, 0, "ok", "acquire", {"node": "/l/a"})
    recorded.add(5, 1, "invoke", "acquire").add(5, 2, "invoke", "acquire").release(10, 12, 0)
    (anomaly,) = herd(recorded.link(11, 1, "/l/a").link(11, 2, "/l/a")).anomalies
    assert anomaly.clients == [1, 2]


def rounds(recorded, path="/l"):
    """c0 and c1 hold one path in turn, c2 waits all the time; every end wakes whoever waits."""
    recorded.add(0, 2, "invoke", "acquire")
    for number in range(4):
        holder, at = number % 2, 10 * number
        recorded.acquire(at + 1, at + 2, holder, node=path, token=at)
        recorded.add(at + 3, 1 - holder, "invoke", "acquire").release(at + 5, at + 7, holder)
        for client in (1 - holder, 2):
            recorded.link(at + 6, client, path)
        recorded.add(at + 8, 1 - holder, "fail", "acquire")
    return recorded


def test_a_path_that_all_contenders_make_is_released_as_often_as_it_was_held():
    result = herd(rounds(Recorded()))
    assert (result.stats["releases"], result.stats["wakeups"]) == (4, 8)
    assert result.stats["per_release"] == 2.0
    assert [anomaly.start // MS for anomaly in result.anomalies] == [6, 16, 26, 36]


def owned(path, made, gone, number=1):
    return Ownership(path, f"0x{number}", made, made * MS, made, gone * MS, gone, created=made * MS)


def test_the_servers_logs_tell_which_end_of_a_path_an_event_belongs_to():
    """c0's release got no answer: its node went with its session, long after the call."""
    recorded = Recorded().acquire(1, 2, 0, node="/l", token=1).release(5, 7, 0, "info")
    recorded.add(3, 1, "invoke", "acquire").add(3, 2, "invoke", "acquire")
    recorded.link(30, 1, "/l").link(30, 2, "/l")
    view = ServerView(owners=[owned("/l", 1, 29)])
    assert [a.start // MS for a in herd(recorded, server=view).anomalies] == [30]


def test_an_event_of_the_folder_is_a_wakeup_if_a_release_was_the_last_change():
    recorded = line_of_three().link(11, 1, "/l", "child").link(11, 2, "/l", "child")
    recorded.link(30, 1, "/l", "child").link(30, 2, "/l", "child")  # somebody else came
    view = ServerView(owners=[owned("/l/a", 1, 10), owned("/l/b", 25, 90, 2)])
    result = herd(recorded, server=view)
    assert [a.start // MS for a in result.anomalies] == [11]
    assert result.stats["wakeups"] == 2
    assert herd(line_of_three().link(11, 1, "/l", "child")).stats["wakeups"] == 0


def test_a_release_does_not_wake_the_client_that_released():
    recorded = line_of_three().add(13, 0, "invoke", "acquire").link(14, 0, "/l/a")
    assert herd(recorded.link(14, 1, "/l/a")).stats["wakeups"] == 1


def test_where_several_may_hold_a_granted_attempt_may_have_left_a_watch():
    """c1 was granted while c0 held, and waits again: it had watched c0's node the first time."""
    recorded = Recorded().acquire(1, 2, 0, node="/l/a").acquire(3, 4, 1, node="/l/b")
    recorded.release(5, 6, 1).add(7, 1, "invoke", "acquire").release(10, 12, 0)
    stats = herd(recorded.link(11, 1, "/l/a"), permits=2).stats
    assert (stats["wakeups"], stats["left_over"]) == (1, 1)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6),
    st.integers(1, 20),
    st.integers(1, 20),
)
def test_a_wakeup_is_held_against_the_recipe_if_the_client_gave_up_no_attempt_since(
    steps, called, event
):
    called, event = min(called, event), max(called, event)
    recorded, at, attempts = Recorded(), 2, []
    for pause, took in steps:
        attempts.append((at := at + pause, at := at + took))
        recorded.add(attempts[-1][0], 1, "invoke", "acquire").add(at, 1, "fail", "acquire")
    recorded.acquire(called, called, 0, node="/l/a").link(event, 1, "/l/a")
    since = [(call, end) for call, end in attempts if call <= event and end >= called]
    stats = herd(recorded).stats
    assert stats["wakeups"] == any(end >= event for _, end in since)
    judged = stats["wakeups"] - stats["left_over"]
    assert judged == (len(since) == 1 and since[0][1] >= event)


def test_readers_who_are_let_in_together_count_as_one():
    def woken(*modes):
        recorded = Recorded(clients=4).acquire(1, 2, 0, node="/l/a-0000000001")
        for process, mode in enumerate(modes, start=1):
            recorded.add(3, process, "invoke", "acquire", {"mode": mode})
            recorded.link(5, process, "/l/a-0000000001")
        recorded.release(4, 6, 0).end(9)
        history = recorded.history()
        return len(
            check_herd(
                laid_out(history, wakeups=1, holds=extract_holds(history, Words()), words=Words())
            ).anomalies
        )

    assert woken("read", "read", "read") == 0
    assert woken("write") == 0
    assert woken("write", "write") == 1
    assert woken("read", "write") == 1
