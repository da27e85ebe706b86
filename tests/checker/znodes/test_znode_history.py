import pytest

from rumpus.checker.every_run.model_check import check_model
from rumpus.checker.znodes.guarantee_models import SEQUENTIAL_CONSISTENCY
from rumpus.checker.znodes.late_events import check_late_events
from rumpus.checker.znodes.znode_history import (
    transactions_as_register,
    watches_by_connection,
    writes_by_comparison,
)
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded


def op(recorded, start, end, process, f, value, result=None, outcome="ok"):
    recorded.add(start, process, "invoke", f, value)
    return recorded.add(end, process, outcome, f, result)


def stat(version, zxid, *, value=None, session="s0"):
    answer = {"key": "w", "version": version, "zxid": zxid, "session": session}
    return answer if value is None else {**answer, "value": value}


@pytest.mark.parametrize(
    ("process", "read", "found"),
    [(1, stat(1, 6, value="b"), []), (0, stat(0, 5, value="a"), ["session-order"])],
    ids=["reads-its-write", "goes-back"],
)
def test_a_comparison_that_was_made_is_a_write_of_its_session(process, read, found):
    recorded = Recorded(2)
    op(recorded, 1, 2, 0, "write", {"key": "w", "value": "a"}, stat(0, 5))
    op(recorded, 3, 4, process, "cas", {"key": "w", "value": [0, "b"]}, stat(1, 6))
    op(recorded, 5, 6, process, "read", {"key": "w"}, read)
    plain = writes_by_comparison(recorded.end(9).history())
    assert [each.f for each in plain if each.type == "ok"][:3] == ["write", "write", "read"]
    result = check_model(laid_out(plain), SEQUENTIAL_CONSISTENCY, "session-order")
    assert [each.kind for each in result.anomalies] == found


def watched(*, event_at=None, reconnected_at=None, session="s0"):
    """Client 0 leaves a watch, client 1 writes, client 0 reads what was written."""
    recorded = Recorded(2)
    recorded.session(0, 0, "connected").session(0, 1, "connected")
    op(recorded, 1, 2, 1, "write", {"key": "w", "value": "a"}, stat(0, 5, session="s1"))
    op(recorded, 3, 4, 0, "watch", {"key": "w"}, stat(0, 5, value="a"))
    op(recorded, 5, 6, 1, "write", {"key": "w", "value": "b"}, stat(1, 6, session="s1"))
    if event_at == 7:
        recorded.link(7, 0, "/rumpus/watch/w", "changed")
    if reconnected_at == 7:
        recorded.session(7, 0, "suspended").session(7.5, 0, "connected")
    op(recorded, 8, 9, 0, "read", {"key": "w"}, stat(1, 6, value="b", session=session))
    if event_at == 10:
        recorded.link(10, 0, "/rumpus/watch/w", "changed")
    found = check_late_events(laid_out(recorded.end(20).history()), keys=["w"])
    return [each.kind for each in found.anomalies]


def test_an_event_before_the_data():
    assert watched(event_at=7) == []


def test_an_event_after_the_data():
    assert watched(event_at=10) == ["late-event"]
    assert watched() == ["late-event"]


def test_a_watch_goes_with_its_connection():
    assert watched(reconnected_at=7) == []


def test_an_event_that_nobody_left_a_watch_for():
    recorded = Recorded(2).session(0, 0, "connected")
    op(recorded, 1, 2, 1, "write", {"key": "w", "value": "a"}, stat(0, 5, session="s1"))
    recorded.link(3, 0, "/rumpus/watch/w", "changed")
    assert check_late_events(laid_out(recorded.end(20).history()), keys=["w"]).anomalies


def test_a_watch_during_which_the_connection_changed_may_be_of_either():
    recorded = Recorded(2).session(0, 0, "connected")
    op(recorded, 1, 2, 1, "write", {"key": "w", "value": "a"}, stat(0, 5, session="s1"))
    recorded.add(3, 0, "invoke", "watch", {"key": "w"})
    recorded.session(4, 0, "suspended").session(5, 0, "connected")
    recorded.add(6, 0, "ok", "watch", stat(0, 5, value="a"))
    op(recorded, 7, 8, 1, "write", {"key": "w", "value": "b"}, stat(1, 6, session="s1"))
    recorded.link(9, 0, "/rumpus/watch/w", "changed")
    assert check_late_events(laid_out(recorded.end(20).history()), keys=["w"]).anomalies == []


def test_other_znodes_are_left_out():
    recorded = Recorded(1).session(0, 0, "connected")
    recorded.link(3, 0, "/rumpus/watch/a0", "changed")
    op(recorded, 4, 5, 0, "read", {"key": "a0"}, {**stat(0, 5, value="a"), "key": "a0"})
    history = watches_by_connection(recorded.end(20).history(), ["w"])
    assert not [each for each in history if isinstance(each.process, int)]


@pytest.mark.parametrize(
    ("values", "of_register"),
    [
        ({"a": "v0", "b": "v0"}, ("ok", {"value": "v0", "version": 1})),
        ({"a": "v0", "b": "v1"}, ("info", None)),
    ],
)
def test_what_all_nodes_held_is_the_value_of_a_register(values, of_register):
    recorded = op(Recorded(1), 1, 2, 0, "read", None, {"values": values, "version": 1})
    *_, read, _ = transactions_as_register(recorded.end(9).history())
    assert (read.type, read.value) == of_register


@pytest.mark.parametrize("outcome", ["ok", "fail", "info"])
def test_a_conditional_transaction_is_a_comparison(outcome):
    asked, told = {"value": "v1", "version": 4}, {"version": 5} if outcome == "ok" else None
    recorded = op(Recorded(1), 1, 2, 0, "write_if", asked, told, outcome=outcome)
    plain = [
        each for each in transactions_as_register(recorded.end(9).history()) if each.f == "cas"
    ]
    assert [(each.type, each.value) for each in plain] == [
        ("invoke", {"value": [4, "v1"]}),
        (outcome, told),
    ]


def test_an_answer_that_names_no_znode_ends_its_call():
    recorded = Recorded(1)
    op(recorded, 1, 2, 0, "watch", {"key": "w"}, None, "fail")
    op(recorded, 3, 4, 0, "watch", {"key": "w"}, stat(0, 5, value="a"))
    op(recorded, 5, 6, 0, "read", {"key": "other"}, None, "fail")
    op(recorded, 7, 8, 0, "read", {"key": "w"}, None, "info")
    history = recorded.end(9).history()
    told = [(each.f, each.type) for each in watches_by_connection(history, ["w"])]
    calls = [("watch", "invoke"), ("watch", "fail"), ("watch", "invoke"), ("watch", "ok")]
    assert told == [*calls, ("read", "invoke"), ("read", "info")]
    assert check_late_events(laid_out(history), ["w"]).anomalies == []
