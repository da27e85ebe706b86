"""Measures on histories made by hand, each figure counted on paper."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.measures import Messages, Spread, Wakeups, measure
from rumpus.checker.timeline.holds import Words
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded

WORDS = Words()


def measured(recorded, *, contended=True, words=WORDS):
    return measure(laid_out(recorded.history(), words=words, contended=contended))


def rows(measures):
    return {row.after: (row.count, row.median, row.p95, row.longest) for row in measures.handovers}


def final(recorded, ms):
    return recorded.add(ms, "control", "info", "phase", {"phase": "final", "healed": True})


def held_and_asked_for():
    recorded = Recorded().acquire(0, 1, 0)
    recorded.add(2, 1, "invoke", "acquire")
    return recorded


def test_the_spread_counts_grants_of_the_load_by_client():
    recorded = Recorded(clients=3)
    recorded.acquire(0, 1, 0).release(2, 3, 0)
    recorded.acquire(4, 5, 0).release(6, 7, 0)
    recorded.acquire(8, 9, 1).release(10, 11, 1)
    recorded.add(12, 2, "invoke", "acquire").add(13, 2, "fail", "acquire")
    final(recorded, 20).acquire(21, 22, 2).release(23, 24, 2)
    assert measured(recorded).spread == Spread(
        f="acquire", clients=3, grants=3, least=0, most=2, jain=round(9 / (3 * 5), 4)
    )


def test_clients_that_never_asked_are_not_in_the_spread():
    recorded = Recorded(clients=5).acquire(0, 1, 0).release(2, 3, 0).acquire(4, 5, 3)
    spread = measured(recorded).spread
    assert (spread.clients, spread.jain) == (2, 1.0)


def test_entering_again_is_no_second_grant_but_an_operation():
    recorded = Recorded(clients=1)
    recorded.acquire(0, 1, 0, node="/l/n").acquire(2, 3, 0, node="/l/n")
    recorded.release(4, 5, 0).release(6, 7, 0)
    recorded.add(8, "link", "info", "requests", {"client": 0, "requests": {"create": 8}})
    measures = measured(recorded)
    assert measures.spread.grants == 1
    assert (measures.messages.per_operation, measures.messages.per_grant) == (2.0, 8.0)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=8))
def test_jains_index_lies_between_one_nth_and_one(numbers):
    recorded, time = Recorded(clients=len(numbers)), 0
    for client, number in enumerate(numbers):
        recorded.add(time, client, "invoke", "put").add(time + 1, client, "fail", "put")
        for _ in range(number):
            time += 2
            recorded.add(time, client, "invoke", "put").add(time + 1, client, "ok", "put")
        time += 2
    spread = measured(recorded, contended=False, words=Words(acquire="put")).spread
    if not sum(numbers):
        assert spread.jain is None
    else:
        assert 1 / len(numbers) - 1e-4 <= spread.jain <= 1
        assert (spread.jain == 1) is (len(set(numbers)) == 1) or spread.jain > 0.9999


def test_a_handover_lasts_from_the_releases_call_to_the_waiters_grant():
    recorded = held_and_asked_for()
    recorded.release(10, 11, 0)
    recorded.add(14, 1, "ok", "acquire", {"session": "0x2"})
    assert rows(measured(recorded)) == {"release": (1, 4.0, 4.0, 4.0)}


def test_a_client_that_came_after_the_release_was_handed_nothing():
    recorded = Recorded().acquire(0, 1, 0).release(10, 11, 0).acquire(12, 13, 1)
    assert rows(measured(recorded)) == {}


def test_a_release_of_unknown_outcome_starts_no_clock():
    recorded = held_and_asked_for()
    recorded.release(10, 11, 0, outcome="info")
    recorded.add(14, 1, "ok", "acquire", {"session": "0x2"})
    assert rows(measured(recorded)) == {}


def test_switching_after_a_death_counts_from_the_end_of_the_process():
    recorded = held_and_asked_for()
    recorded.session(100, 0, "exited")
    recorded.add(2350, 1, "ok", "acquire", {"session": "0x2"})
    assert rows(measured(recorded)) == {"death": (1, 2250.0, 2250.0, 2250.0)}


def test_switching_after_a_declared_death_counts_from_the_declaration():
    recorded = held_and_asked_for()
    recorded.add(50, 0, "invoke", "die").session(51, 0, "doubts").add(52, 0, "ok", "die", {})
    recorded.add(250, 1, "ok", "acquire", {"session": "0x2"})
    assert rows(measured(recorded)) == {"death": (1, 200.0, 200.0, 200.0)}


def test_switching_after_a_lost_session_counts_from_the_end_of_the_belief():
    recorded = held_and_asked_for()
    recorded.session(500, 0, "doubts")
    recorded.add(1700, 1, "ok", "acquire", {"session": "0x2"})
    assert rows(measured(recorded)) == {"loss": (1, 1200.0, 1200.0, 1200.0)}


def test_a_belief_that_ended_after_the_next_grant_handed_nothing_over():
    recorded = held_and_asked_for()
    recorded.add(1700, 1, "ok", "acquire", {"session": "0x2"})
    recorded.session(1750, 0, "doubts")
    recorded.add(1800, 2, "invoke", "acquire").release(1810, 1811, 1)
    recorded.add(1813, 2, "ok", "acquire", {"session": "0x3"})
    assert rows(measured(recorded)) == {"release": (1, 3.0, 3.0, 3.0)}


def test_a_late_release_of_unknown_outcome_does_not_hide_a_handover():
    recorded = Recorded().acquire(0, 1, 0)
    recorded.add(2, 1, "invoke", "acquire").add(2, 2, "invoke", "acquire")
    recorded.add(1700, 1, "ok", "acquire", {"session": "0x2"})
    recorded.release(1750, 1751, 0, outcome="info").release(1810, 1811, 1)
    recorded.add(1813, 2, "ok", "acquire", {"session": "0x3"})
    assert rows(measured(recorded)) == {"release": (1, 3.0, 3.0, 3.0)}


def two_readers_and_a_waiting_writer():
    recorded = Recorded()
    for reader in (0, 1):
        recorded.add(reader, reader, "invoke", "acquire", {"mode": "read"})
        recorded.add(reader + 2, reader, "ok", "acquire", {"session": f"0x{reader}"})
    return recorded.add(4, 2, "invoke", "acquire", {"mode": "write"})


def test_a_writer_waits_for_the_last_reader():
    recorded = two_readers_and_a_waiting_writer()
    recorded.release(10, 11, 0).release(20, 21, 1)
    recorded.add(25, 2, "ok", "acquire", {"session": "0x2"})
    assert rows(measured(recorded)) == {"release": (1, 5.0, 5.0, 5.0)}


def test_a_dead_reader_is_what_the_writer_waited_for():
    recorded = two_readers_and_a_waiting_writer()
    recorded.session(10, 0, "exited").release(20, 21, 1)
    recorded.add(2010, 2, "ok", "acquire", {"session": "0x2"})
    assert rows(measured(recorded)) == {"death": (1, 2000.0, 2000.0, 2000.0)}


def test_the_quantiles_are_of_the_nearest_rank():
    recorded, time = Recorded(clients=2), 0
    recorded.acquire(time, time + 1, 0)
    for number in range(1, 21):
        holder, waiter = (number + 1) % 2, number % 2
        recorded.add(time + 2, waiter, "invoke", "acquire")
        recorded.release(time + 50, time + 51, holder)
        time += 50 + number
        recorded.add(time, waiter, "ok", "acquire", {"session": f"0x{waiter}"})
    assert rows(measured(recorded)) == {"release": (20, 10.0, 19.0, 20.0)}


def test_events_count_as_wakeups_while_their_client_waits():
    recorded = Recorded().acquire(0, 1, 0, node="/l/1")
    recorded.add(2, 1, "invoke", "acquire").add(2, 2, "invoke", "acquire")
    recorded.release(10, 11, 0)
    recorded.link(12, 1, "/l/1").link(12, 2, "/l", event="child").link(12, 0, "/l/1")
    recorded.add(13, 1, "ok", "acquire", {"session": "0x2", "node": "/l/2"})
    recorded.link(14, 1, "/l/2", event="changed").release(20, 21, 1)
    assert measured(recorded).wakeups == Wakeups(events=2, per_grant=1.0)


def test_messages_are_requests_and_events_without_heartbeats():
    recorded = Recorded().acquire(0, 1, 0).release(2, 3, 0)
    recorded.link(4, 1, "/l/1")
    recorded.add(5, "link", "info", "requests", {"client": 0, "requests": {"create": 4, "ping": 9}})
    recorded.add(5, "link", "info", "requests", {"client": 1, "requests": {"create": 1, "sync": 2}})
    assert measured(recorded).messages == Messages(
        requests={"create": 5, "ping": 9, "sync": 2},
        watch_events=1,
        total=8,
        per_operation=4.0,
        per_grant=8.0,
    )


def test_what_nobody_counted_is_not_zero():
    recorded = Recorded().acquire(0, 1, 0)
    assert measured(recorded).messages is None
    assert measured(recorded, contended=False).wakeups is None
    assert measured(recorded, words=Words(acquire="")).spread is None


@pytest.mark.parametrize("contended", [True, False])
def test_an_empty_history_measures_nothing(contended):
    measures = measured(Recorded(), contended=contended)
    assert (measures.spread, measures.handovers, measures.messages) == (None, [], None)
