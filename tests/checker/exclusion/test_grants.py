from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.exclusion import grants
from rumpus.checker.exclusion.grants import check_order, judge_tokens
from rumpus.checker.history import History
from rumpus.checker.timeline.holds import Hold, Words, extract_holds
from rumpus.checker.timeline.ownership import ServerView, SessionEnd, sequence_number
from tests.checker.laid_out import laid_out
from tests.checker.recorded import MS, Recorded


def tokens(recorded):
    history = recorded.end(99).history()
    return judge_tokens(history, extract_holds(history, Words()))


def order(recorded, server):
    history = recorded.end(99).history()
    return check_order(laid_out(history, lives=server, holds=extract_holds(history, Words())))


def test_tokens_that_grow_are_fine():
    recorded = Recorded().acquire(1, 2, 0, token=5).release(3, 4, 0).acquire(5, 6, 1, token=6)
    assert tokens(recorded).anomalies == []


def test_a_later_grant_with_a_token_no_larger_is_a_regression():
    for token in (4, 5):
        recorded = Recorded().acquire(1, 2, 0, token=5).release(3, 4, 0)
        (anomaly,) = tokens(recorded.acquire(5, 6, 1, token=token)).anomalies
        assert anomaly.kind == "token-regression"
        assert anomaly.clients == [0, 1]


def test_acquires_that_overlap_in_time_are_not_compared():
    recorded = Recorded().acquire(1, 6, 0, token=5).acquire(2, 8, 1, token=4)
    assert tokens(recorded).anomalies == []


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 6), st.integers(0, 5)), min_size=1, max_size=7
    )
)
def test_regressions_are_those_of_the_definition(grants):
    holds = [
        Hold(client=n, process=n, called=called, granted=called + took, token=token)
        for n, (called, took, token) in enumerate(grants)
    ]
    expected = {
        later.client
        for later in holds
        if any(e.granted < later.called and e.token >= later.token for e in holds)
    }
    result = judge_tokens(History([], clients=9), holds)
    found = {max(a.clients, key=lambda c: holds[c].granted) for a in result.anomalies}
    assert bool(found) == bool(expected)
    assert len(result.anomalies) == len(expected)


def node(number):
    return f"/l/x-{number:010d}"


KNOWN = frozenset({"0x1", "0x2", "0x3"})


def overtaken():
    """c1 with number 2 is granted before c0 with number 1."""
    recorded = Recorded().acquire(1, 20, 1, node=node(2)).release(21, 22, 1)
    return recorded.acquire(1, 30, 0, node=node(1)).release(31, 32, 0)


def test_granted_in_order_of_the_line_is_fine():
    recorded = Recorded().acquire(1, 2, 0, node=node(1)).release(3, 4, 0)
    recorded.acquire(1, 5, 1, node=node(2)).release(6, 7, 1)
    assert order(recorded, ServerView(known=KNOWN)).anomalies == []


def test_overtaking_is_unfair():
    (anomaly,) = order(overtaken(), ServerView(known=KNOWN)).anomalies
    assert anomaly.kind == "unfair-grant"
    assert "c1 (number 2)" in anomaly.description
    assert "c0 (number 1)" in anomaly.description


def test_numbers_begin_anew_where_the_parent_was_created_again():
    late = Recorded().acquire(1, 20, 1, node=node(2)).release(21, 22, 1)
    late.acquire(1, 30, 0, node=node(1)).release(31, 32, 0)
    again = ServerView(known=KNOWN, lines_before={node(2): 0, node(1): 1})
    assert order(late, again).anomalies == []
    same = ServerView(known=KNOWN, lines_before={node(2): 1, node(1): 1})
    assert len(order(late, same).anomalies) == 1


def test_going_past_one_whose_session_has_ended_is_fine():
    ends = {"0x1": SessionEnd(15 * MS, expired=True)}
    assert order(overtaken(), ServerView(known=KNOWN, ends=ends)).anomalies == []


def test_without_the_servers_logs_overtaking_is_unknown():
    result = order(overtaken(), None)
    assert (result.anomalies, len(result.unknown)) == ([], 1)


def test_an_overtaking_is_found_behind_an_excused_one():
    recorded = Recorded(clients=3).acquire(1, 20, 2, node=node(9)).release(21, 22, 2)
    recorded.acquire(1, 30, 0, node=node(3)).release(31, 32, 0)
    recorded.acquire(1, 40, 1, node=node(5)).release(41, 42, 1)
    ends = {"0x1": SessionEnd(15 * MS, expired=True)}
    (anomaly,) = order(recorded, ServerView(known=KNOWN, ends=ends)).anomalies
    assert anomaly.clients == [1, 2]


def test_a_grant_before_its_turn_is_unfair_whoever_stood_in_front():
    """In front was a waiter that died, or one that gave up: it was never granted."""
    recorded = Recorded().acquire(1, 20, 1, node=node(2)).release(25, 26, 1)
    for turn in (None, 24 * MS):
        (anomaly,) = order(recorded, ServerView(known=KNOWN, turns={node(2): turn})).anomalies
        assert (anomaly.kind, anomaly.clients) == ("unfair-grant", [1])
        assert "out of turn" in anomaly.description
    for turns in ({node(2): 22 * MS}, {}):
        assert order(recorded, ServerView(known=KNOWN, turns=turns)).anomalies == []


def test_a_grant_told_of_as_an_overtaking_is_not_told_of_again():
    (anomaly,) = order(overtaken(), ServerView(known=KNOWN, turns={node(2): None})).anomalies
    assert anomaly.clients == [0, 1]


@given(st.lists(st.integers(0, 6), max_size=8))
def test_overtakings_are_those_of_the_definition(numbers):
    holds = [
        Hold(client=n, process=n, called=0, granted=n, session=f"0x{n}", node=node(number), ops=[n])
        for n, number in enumerate(numbers)
    ]
    result = check_order(
        laid_out(
            History([], clients=9),
            lives=ServerView(known=frozenset(h.session for h in holds)),
            holds=holds,
        )
    )
    assert sorted((a.start, a.end) for a in result.anomalies) == [
        (one, two)
        for one in range(len(numbers))
        for two in range(one + 1, len(numbers))
        if numbers[two] < numbers[one]
    ]


def test_numbers_are_read_from_the_end_of_a_name():
    assert sequence_number("/l/abc-lock-0000000012") == 12
    assert sequence_number("/l/lock") == -1
    assert sequence_number("/l/lock-" + "²" * 10) == -1
    assert sequence_number(None) == -1


def test_readers_may_be_told_in_any_order_and_writers_may_not():
    def of(*modes):
        recorded = Recorded()
        for process, (mode, at, number) in enumerate(modes):
            recorded.add(1, process, "invoke", "acquire", {"mode": mode})
            value = {"session": f"0x{process + 1}", "node": f"/l/x-{number:010}"}
            recorded.add(at, process, "ok", "acquire", value)
        history = recorded.end(50).history()
        known = ServerView(known=frozenset({"0x1", "0x2", "0x3"}))
        found = check_order(laid_out(history, lives=known, holds=extract_holds(history, Words())))
        return len(found.anomalies)

    assert of(("read", 20, 1), ("read", 10, 2)) == 0
    assert of(("write", 20, 1), ("read", 10, 2)) == 1
    assert of(("read", 20, 1), ("write", 10, 2)) == 1


def test_it_takes_as_many_overtaken_as_may_hold():
    recorded = Recorded()
    for process, (at, number) in enumerate([(30, 1), (20, 2), (10, 3)]):
        recorded.acquire(1, at, process, node=f"/l/x-{number:010}")
    history = recorded.end(50).history()
    holds = extract_holds(history, Words())
    sessions = frozenset({"0x1", "0x2", "0x3"})
    for permits, anomalies in [(1, 3), (2, 2), (3, 0)]:
        found = check_order(
            laid_out(history, lives=ServerView(known=sessions), holds=holds, permits=permits)
        )
        assert len(found.anomalies) == anomalies
    assert len(check_order(laid_out(history, lives=None, holds=holds, permits=2)).unknown) == 2
    assert check_order(laid_out(history, lives=None, holds=holds, permits=3)).unknown == []


def test_two_clients_whose_sessions_are_not_told_are_two():
    recorded = Recorded()
    for process, at in ((1, 20), (0, 30)):
        recorded.add(1, process, "invoke", "acquire")
        recorded.add(at, process, "ok", "acquire", {"node": node(2 if process else 1)})
    assert len(order(recorded, None).unknown) == 1


def test_a_client_does_not_overtake_itself():
    recorded = Recorded().acquire(1, 20, 0, node=node(2)).release(21, 22, 0)
    recorded.acquire(23, 30, 3, node=node(1))
    assert order(recorded, ServerView(known=KNOWN | {"0x4"})).anomalies == []


def test_an_order_that_no_grant_tells_is_unknown():
    for name in (None, "/elsewhere/holder"):
        recorded = Recorded().acquire(1, 2, 0, node=name).release(3, 4, 0)
        result = order(recorded, ServerView(known=KNOWN))
        assert result.anomalies == []
        assert result.unknown[0].startswith("the order of 1 grants cannot be judged")
        assert result.stats == {"judged": 0, "not judged": 1}


def test_a_run_without_grants_has_no_order_to_judge():
    assert order(Recorded(), ServerView(known=KNOWN)).unknown == []


def test_of_many_overtakings_some_are_told(monkeypatch):
    monkeypatch.setattr(grants, "MOST_TOLD", 3)
    recorded = Recorded(clients=2)
    for at in range(6):
        began = 10 * at
        recorded.acquire(began, began + 1, at % 2, node=node(9 - at))
        recorded.release(began + 2, began + 3, at % 2)
    assert len(order(recorded, None).unknown) == 3
    assert len(order(recorded, ServerView(known=KNOWN)).anomalies) == 3
