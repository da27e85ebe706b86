"""A grant is worth something: its holder believes in it, and may enter again."""

import dataclasses

import pytest

from rumpus.checker.exclusion.entitlement import check_entitlement
from rumpus.checker.timeline.holds import Words, extract_holds
from rumpus.checker.timeline.ownership import Ownership, ServerView, SessionEnd
from tests.checker.laid_out import laid_out
from tests.checker.recorded import MS, Recorded

WORDS = Words()
NODE = "/l/x-0000000001"


def granted():
    recorded = Recorded().session(0, 0, "connected", session="0x1")
    return recorded.acquire(100, 200, 0, node=NODE, token=5)


def found(recorded, server=None, words=WORDS, dismissed=()):
    history = recorded.end(20000).history()
    result = check_entitlement(
        laid_out(history, holds=extract_holds(history, words), servers=server, words=words),
        lambda _: dismissed,
    )
    return [(anomaly.kind, anomaly.end // MS) for anomaly in result.anomalies]


def doubting():
    return granted().session(300, 0, "doubts").release(5000, 5010, 0)


def test_a_holder_that_is_connected_believes():
    assert found(doubting()) == [("unbelieving-holder", 300)]
    assert found(granted().release(5000, 5010, 0)) == []


@pytest.mark.parametrize("event", ["suspended", "lost", "exited", "closed", "paused"])
def test_what_happened_to_its_connection_or_process_is_a_reason(event):
    assert found(granted().session(150, 0, event).session(300, 0, "doubts")) == []
    assert found(doubting().session(1200, 0, event)) == []
    assert len(found(doubting().session(1400, 0, event))) == 1
    assert len(found(doubting().session(250, 1, event))) == 1, "another client's is none"


def test_what_happened_while_it_waited_is_none():
    def late(lost):
        recorded = Recorded().session(lost, 0, "suspended").session(lost, 0, "connected")
        return recorded.acquire(100, 5000, 0).session(5100, 0, "doubts")

    assert (len(found(late(3900))), len(found(late(4100)))) == (1, 0)


def test_a_belief_may_end_when_it_was_said_to():
    recorded = Recorded().acquire(100, 200, 0, until=400 * MS).session(390, 0, "doubts")
    assert found(recorded) == [("unbelieving-holder", 390)]
    assert found(Recorded().acquire(100, 200, 0, until=400 * MS).session(410, 0, "doubts")) == []
    renewed = Recorded().acquire(100, 200, 0, until=400 * MS)
    renewed.session(350, 0, "believes", until=600 * MS).session(410, 0, "doubts")
    assert found(renewed) == [("unbelieving-holder", 410)]


def test_a_client_that_declares_itself_dead_lets_go():
    recorded = granted().add(250, 0, "invoke", "die").add(251, 0, "ok", "die")
    assert found(recorded.session(252, 0, "doubts")) == []


def test_a_client_that_was_asked_to_let_go_lets_go():
    assert found(doubting(), dismissed={"0x1"}) == []
    assert len(found(doubting(), dismissed={"0x2"})) == 1


def node(gone):
    end = None if gone is None else gone * MS
    return Ownership(NODE, "0x1", 5, 200 * MS, 5, end, gone, created=150 * MS)


@pytest.mark.parametrize(
    ("view", "anomalies"),
    [
        (ServerView(known=frozenset({"0x1"}), owners=[node(5005)]), 1),
        (ServerView(known=frozenset({"0x1"}), owners=[node(250)]), 0),
        (ServerView(known=frozenset({"0x1"}), ends={"0x1": SessionEnd(290 * MS, True)}), 0),
        (ServerView(known=frozenset({"0x1"}), ends={"0x1": SessionEnd(9000 * MS, True)}), 1),
        (ServerView(known=frozenset({"0x1"}), ends={"0x1": SessionEnd(4000 * MS, False)}), 0),
        (ServerView(), 0),
    ],
    ids=["stands", "removed", "expired", "expired later", "closed by its client", "not known"],
)
def test_the_servers_logs_may_show_a_reason(view, anomalies):
    assert len(found(doubting(), view)) == anomalies


def entering(outcome="ok", at=400, **value):
    recorded = granted().add(300, 0, "invoke", "acquire", {"timeout": 0.1})
    value = {"session": "0x1", "node": NODE, "token": 5, **value}
    recorded.add(at, 0, outcome, "acquire", value if outcome == "ok" else None)
    return recorded.release(5000, 5010, 0)


def test_a_holder_that_asks_again_gets_it_again():
    assert found(entering()) == []
    assert found(entering("fail")) == [("refused-reentry", 400)]
    assert found(entering("info")) == [("refused-reentry", 400)]
    assert found(entering(node="/l/y-0000000002", token=6)) == [("refused-reentry", 400)]


@pytest.mark.parametrize(
    ("gone", "by_itself", "anomalies"),
    [(401, True, 1), (401, False, 0), (399, True, 1), (390, True, 0), (390, False, 0)],
)
def test_its_own_release_is_no_reason_to_refuse_a_holder(gone, by_itself, anomalies):
    """The servers stamp whole milliseconds, so a node may seem to go before its release."""
    recorded = granted().add(300, 0, "invoke", "acquire", {"timeout": 0.1})
    recorded.add(401, 0, "fail", "acquire").release(402, 410, 0)
    removed = dataclasses.replace(node(gone), deleted=by_itself)
    view = ServerView(known=frozenset({"0x1"}), owners=[removed])
    assert len(found(recorded, view)) == anomalies


def test_one_that_had_lost_it_may_be_refused():
    recorded = granted().session(250, 0, "suspended").session(251, 0, "doubts")
    recorded.add(300, 0, "invoke", "acquire").add(400, 0, "fail", "acquire")
    assert found(recorded) == []
    assert found(entering("fail").session(350, 0, "lost")) == []


def test_one_that_had_let_go_asks_anew():
    recorded = granted().release(210, 220, 0).add(300, 0, "invoke", "acquire")
    assert found(recorded.add(400, 0, "fail", "acquire")) == []


def test_where_once_is_enough_one_release_ends_what_was_entered_twice():
    counted, uncounted = WORDS, Words(counted=False)
    recorded = granted().acquire(300, 310, 0, node=NODE, token=5).release(400, 410, 0)
    history = recorded.end(999).history()
    ends = [extract_holds(history, words)[0].believed_until for words in (counted, uncounted)]
    assert ends == [999 * MS, 400 * MS]


def cut(target, start, end):
    """A holder that doubts at 300 ms, and a client whose links are cut meanwhile."""
    recorded, fault = granted(), {"id": 4, "kind": "client-partition", "targets": [target]}
    told = {**fault, "verified": True}
    for time, f in ((start, "start"), (end, "stop")):
        if f == "stop":
            recorded.session(300, 0, "doubts")
        recorded.add(time, "nemesis", "invoke", f, fault)
        recorded.add(time + 1, "nemesis", "info", f, told)
    return found(recorded.release(5000, 5010, 0))


def test_a_holder_that_is_cut_off_may_notice_before_kazoo_does():
    assert cut("c0", 210, 400) == []
    assert len(cut("c1", 210, 400)) == 1, "another client's is none"
    assert len(cut("c0", 150, 400)) == 1, "it was granted all the same"
