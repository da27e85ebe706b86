"""Rounds of a double barrier, on written histories and on those that a barrier can leave."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.families.barrier_rounds import (
    certain_ends,
    check_barrier_rounds,
    check_rounds_by_model,
    count_rounds,
    parties_of,
)
from rumpus.checker.timeline.ownership import CLOCK_SLACK_NS, ServerView, SessionEnd
from tests.checker.laid_out import laid_out
from tests.checker.recorded import MS, Recorded

PARTIES = 3


def call(recorded, called, returned, process, f, outcome="ok", parties=None):
    value = {"parties": parties} if parties and f == "enter" else None
    recorded.add(called, process, "invoke", f, value)
    return recorded.add(returned, process, outcome, f)


def one_round(recorded, start, processes=range(PARTIES), parties=None):
    """All go in between 0 and 20 ms after the start, and out between 30 and 50."""
    for place, process in enumerate(processes):
        call(recorded, start + place, start + 20, process, "enter", parties=parties)
        call(recorded, start + 30 + place, start + 50, process, "leave")
    return recorded


def ended(ends):
    """The servers' view in which sessions had certainly ended by these times."""
    return ServerView(
        ends={name: SessionEnd(time - CLOCK_SLACK_NS, expired=True) for name, time in ends.items()},
        known=frozenset(ends),
    )


def kinds(recorded, **ends):
    result = check_barrier_rounds(laid_out(recorded.history(), servers=ended(ends)))
    return [anomaly.kind for anomaly in result.anomalies]


def test_rounds_of_all_are_right():
    assert kinds(one_round(one_round(Recorded(), 0), 100)) == []


def test_sessions_end_for_certain_where_the_logs_tell_when():
    ends = {"0x1": SessionEnd(5, expired=True), "0x2": SessionEnd(6, expired=False)}
    server = ServerView(ends=ends, known=frozenset({"0x1", "0x3"}))
    assert certain_ends(server) == {"0x1": 5 + CLOCK_SLACK_NS}
    assert certain_ends(None) == {}


def test_rounds_are_passed_once_all_have_left():
    assert count_rounds(Recorded().history()) == 0
    recorded = one_round(one_round(Recorded(), 0), 100)
    assert count_rounds(recorded.history()) == 2
    call(recorded, 160, 170, 0, "enter")
    assert count_rounds(call(recorded, 180, 190, 0, "leave").history()) == 2


def test_the_model_judges_where_every_outcome_is_known():
    recorded = one_round(Recorded(), 0)
    assert not check_rounds_by_model(laid_out(recorded.history())).anomalies
    early = call(recorded, 60, 70, 0, "enter")
    assert [each.kind for each in check_rounds_by_model(laid_out(early.history())).anomalies] == [
        "early-entry"
    ]
    assert (
        check_rounds_by_model(laid_out(call(early, 80, 90, 1, "enter", "info").history())) is None
    )


def test_who_is_in_before_all_have_come_is_early():
    recorded = one_round(Recorded(), 0)
    call(recorded, 60, 70, 0, "enter")
    call(recorded, 60, 70, 1, "enter")
    assert kinds(recorded) == ["early-entry"] * 2
    recorded = one_round(Recorded(), 0)
    call(recorded, 60, 70, 0, "enter")
    call(recorded, 61, 71, 1, "enter")
    assert kinds(call(recorded, 65, 72, 2, "enter", "fail")) == ["early-entry"] * 2


def test_who_leaves_as_a_member_after_its_session_had_ended_is_told_wrongly():
    recorded = Recorded()
    for process in range(PARTIES):
        call(recorded, 0, 20, process, "enter")
        recorded.add(30 + process, process, "invoke", "leave")
    for process in range(PARTIES):
        session = {"session": f"0x{process}"}
        recorded.add(50 + process, process, "ok", "leave", session)
    assert kinds(recorded) == []
    assert kinds(recorded, **{"0x0": 29 * MS, "0x1": 35 * MS}) == ["false-exit"]


def test_an_enter_of_unknown_outcome_may_have_made_them_complete():
    recorded = one_round(Recorded(), 0)
    for process in (0, 1):
        call(recorded, 60, 70, process, "enter")
    assert kinds(call(recorded, 60, 65, 2, "enter", "info")) == []


def test_but_not_once_its_client_has_been_let_in_and_out_again():
    recorded = Recorded()
    call(recorded, 0, 1, 2, "enter", "info")
    one_round(recorded, 10, (0, 1, 2 + PARTIES))
    for process in (0, 1):
        call(recorded, 70, 80, process, "enter")
    assert kinds(recorded) == ["early-entry"] * 2


def by_two(recorded, start, processes=(0, 1)):
    """A round of two of the three clients, of which each has said so."""
    return one_round(recorded, start, processes, parties=2)


def test_as_many_must_come_as_each_enter_says():
    recorded = by_two(by_two(Recorded(), 0), 100, (1, 2))
    assert kinds(recorded) == []
    assert not check_rounds_by_model(laid_out(recorded.history())).anomalies
    assert count_rounds(recorded.history()) == 2
    assert kinds(call(recorded, 160, 170, 0, "enter", parties=2)) == ["early-entry"]
    assert kinds(one_round(Recorded(), 0, (0, 1))) == ["early-entry"] * 2


def test_all_must_come_where_nothing_is_said():
    assert parties_of(Recorded().history()) == PARTIES
    assert parties_of(one_round(Recorded(), 0).history()) == PARTIES
    assert parties_of(by_two(Recorded(), 0, (0, 2)).history()) == 2


def test_numbers_of_parties_that_contradict_each_other_leave_it_open():
    recorded = one_round(by_two(Recorded(), 0), 100)
    assert parties_of(recorded.history()) is None
    result = check_barrier_rounds(laid_out(recorded.history()))
    assert (result.anomalies, result.stats) == ([], {})
    assert result.unknown == ["calls of enter name different numbers of parties"]
    assert check_rounds_by_model(laid_out(recorded.history())) is None
    assert count_rounds(recorded.history()) == 0


def alone(recorded, *, let_in, outcome="ok", left="ok"):
    """c0 is let in alone, with two that wait: c1 gives up, c2 is let in later."""
    call(recorded, 0, 10, 1, "enter", "fail", parties=2)
    call(recorded, 5, 20, 0, "enter", parties=2)
    call(recorded, 30, 45, 0, "leave")
    call(recorded, 7, let_in, 2, "enter", outcome, parties=2)
    if outcome == "ok":
        call(recorded, 60, 70, 2, "leave", left)
    return recorded


def test_who_waited_for_a_later_round_was_not_in_this_one():
    assert kinds(alone(Recorded(), let_in=44)) == []
    assert kinds(alone(Recorded(), let_in=46)) == ["early-entry"]
    assert kinds(alone(Recorded(), let_in=46, outcome="info")) == []
    assert kinds(alone(Recorded(), let_in=46, outcome="fail")) == ["early-entry"]


@pytest.mark.parametrize("left", ["info", "fail"])
def test_unless_its_session_may_have_ended_before_it_was_told(left):
    """A client that was stopped may read only later that it was let in, and be none any more."""
    assert kinds(alone(Recorded(), let_in=46, left=left)) == []


def test_unless_it_may_have_been_in_it_in_an_earlier_session():
    recorded = Recorded()
    recorded.session(1, 2, "connected", session="0x7")
    recorded.session(40, 2, "connected", session="0x7")
    assert kinds(alone(recorded, let_in=46)) == ["early-entry"]
    recorded = Recorded()
    recorded.session(1, 2, "connected", session="0x7")
    recorded.session(40, 2, "connected", session="0x8")
    assert kinds(alone(recorded, let_in=46)) == []


def test_a_leave_that_was_called_before_does_not_say_who_came_later():
    """Of somebody who was let in, and was on its way out when the next was let in."""
    recorded = Recorded()
    call(recorded, 0, 10, 0, "enter", parties=2)
    call(recorded, 12, 40, 0, "leave")
    call(recorded, 5, 20, 1, "enter", parties=2)
    assert kinds(call(recorded, 30, 50, 1, "leave")) == []


def killed(ends):
    """c2 was killed on its way in; its successor takes part, and two others go in once more."""
    recorded = Recorded()
    recorded.session(0, 2, "connected", session="0x7")
    call(recorded, 5, 6, 2, "enter", "info").session(6, 2, "exited")
    one_round(recorded, 10, (0, 1, 2 + PARTIES))
    for process in (0, 1):
        call(recorded, 70, 80, process, "enter")
    return kinds(recorded, **ends)


def test_the_killed_may_be_members_until_their_sessions_end():
    assert killed({}) == []
    assert killed({"0x7": 75 * MS}) == []
    assert killed({"0x7": 20 * MS}) == ["early-entry"] * 2


def test_who_is_out_while_another_is_in_is_early():
    recorded = Recorded()
    for process in range(PARTIES):
        call(recorded, 0, 10, process, "enter")
    call(recorded, 20, 30, 0, "leave")
    call(recorded, 25, 50, 1, "leave")
    call(recorded, 40, 50, 2, "leave")
    assert kinds(recorded) == ["early-exit"]


@pytest.mark.parametrize("outcome", ["info", "fail"])
def test_the_dead_need_not_be_waited_for(outcome):
    recorded = Recorded()
    for process in range(PARTIES):
        call(recorded, 0, 10, process, "enter")
    for process in (0, 1):
        call(recorded, 20, 30, process, "leave")
    assert kinds(call(recorded, 40, 50, 2, "leave", outcome)) == []


@given(st.data())
def test_what_a_barrier_with_more_clients_lets_through_is_never_called_wrong(data):
    """Rounds of two of four clients; who waits may have called long before."""
    recorded, events, free, now = Recorded(4), [], dict.fromkeys(range(4), 0), 0
    for _ in range(data.draw(st.integers(1, 6))):
        pair = data.draw(st.permutations(range(4)))[:2]
        calls = {each: data.draw(st.integers(free[each] + 1, free[each] + 40)) for each in pair}
        opened = max(now, *calls.values()) + data.draw(st.integers(1, 9))
        told = {each: opened + data.draw(st.integers(1, 9)) for each in pair}
        leaves = {each: told[each] + data.draw(st.integers(1, 9)) for each in pair}
        now = max(leaves.values()) + 1
        for each in pair:
            free[each] = now + data.draw(st.integers(1, 40))
            events += [(calls[each], each, "invoke", "enter"), (told[each], each, "ok", "enter")]
            events += [(leaves[each], each, "invoke", "leave"), (free[each], each, "ok", "leave")]
    for time, process, type_, f in sorted(events, key=lambda event: event[0]):
        asked = {"parties": 2} if (type_, f) == ("invoke", "enter") else None
        recorded.add(time, process, type_, f, asked)
    assert kinds(recorded) == []
    assert not check_rounds_by_model(laid_out(recorded.history())).anomalies


@given(st.data())
def test_what_a_barrier_lets_lets_through_is_never_called_wrong(data):
    """Rounds whose members open and empty it at one moment each, called and told at any time."""
    recorded = Recorded()
    events = []
    free = dict.fromkeys(range(PARTIES), 0)
    now = 0
    for _ in range(data.draw(st.integers(1, 4))):
        opened = now + data.draw(st.integers(1, 20))
        emptied = opened + data.draw(st.integers(1, 20))
        for process in range(PARTIES):
            enter = data.draw(st.integers(free[process] + 1, max(free[process] + 1, opened)))
            entered = data.draw(st.integers(max(enter, opened) + 1, max(enter, opened) + 10))
            leave = entered + data.draw(st.integers(1, 5))
            emptied = max(emptied, leave)
            events.append((enter, process, "invoke", "enter"))
            events.append((entered, process, "ok", "enter"))
            events.append((leave, process, "invoke", "leave"))
        for process in range(PARTIES):
            free[process] = emptied + data.draw(st.integers(1, 10))
            events.append((free[process], process, "ok", "leave"))
        now = max(free.values())
    for time, process, type_, f in sorted(events, key=lambda event: event[0]):
        recorded.add(time, process, type_, f)
    assert kinds(recorded) == []
