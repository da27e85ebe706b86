from rumpus.checker.exclusion.revocation import LEAST_LEARNED, check_revocations
from rumpus.checker.timeline.holds import Words
from rumpus.checker.timeline.ownership import Ownership, ServerView
from tests.checker.laid_out import laid_out
from tests.checker.recorded import MS, Recorded

WORDS = Words()
PATIENCE = 1000 * MS
NODE = "/l/a-read-contender-0000000001"


def held(until, *, asked, outcome="ok"):
    """c0 holds from 100 ms and works until then; c1 asks it to let go, acknowledged at 200 ms."""
    recorded = Recorded().session(0, 0, "connected").acquire(90, 100, 0, node=NODE)
    recorded.add(100, 0, "invoke", "work", {"bound": 8, "heeds": True})
    recorded.add(150, 1, "invoke", "revoke").add(200, 1, "ok", "revoke", {"asked": [NODE]})
    value = {"acts": 3, "asked": asked} if outcome == "ok" else {"acts": 3}
    return recorded.add(until, 0, outcome, "work", value)


def check(recorded, **more):
    return check_revocations(laid_out(recorded.history(), words=WORDS), patience=PATIENCE, **more)


def kinds(recorded):
    return [anomaly.kind for anomaly in check(recorded).anomalies]


def test_a_connected_holder_that_never_heard_has_missed_it():
    (anomaly,) = check(held(1200, asked=False)).anomalies
    assert anomaly.kind == "missed-revocation"
    assert (anomaly.start, anomaly.end, anomaly.clients) == (200 * MS, 1200 * MS, [0, 1])
    assert "c0 was asked to release the lock" in anomaly.description


def test_who_heard_or_was_asked_too_late_or_lost_the_lock_has_missed_nothing():
    assert kinds(held(1200, asked=True)) == []
    assert kinds(held(1199, asked=False)) == []
    assert kinds(held(1500, asked=False, outcome="fail")) == []
    assert kinds(held(1500, asked=False, outcome="info")) == []


def test_what_nobody_has_acknowledged_was_not_asked():
    recorded = Recorded().session(0, 0, "connected").acquire(90, 100, 0, node=NODE)
    recorded.add(100, 0, "invoke", "work", {}).add(150, 1, "invoke", "revoke")
    recorded.add(200, 1, "info", "revoke")
    assert kinds(recorded.add(5000, 0, "ok", "work", {"acts": 9, "asked": False})) == []


def test_patience_begins_anew_with_the_connection():
    assert kinds(held(1500, asked=False).session(400, 0, "suspended")) == []
    back = held(1500, asked=False).session(400, 0, "suspended")
    assert kinds(back.session(600, 0, "connected")) == []
    early = held(1700, asked=False).session(400, 0, "suspended")
    assert kinds(early.session(600, 0, "connected")) == ["missed-revocation"]


def test_a_frozen_process_is_given_its_time_once_it_runs_again():
    frozen = held(1500, asked=False).session(300, 0, "paused").session(900, 0, "resumed")
    assert kinds(frozen) == []
    thawed = held(2000, asked=False).session(300, 0, "paused").session(900, 0, "resumed")
    assert kinds(thawed) == ["missed-revocation"]


def test_a_request_before_the_holder_looks_counts_from_when_it_works():
    recorded = Recorded().session(0, 0, "connected")
    recorded.add(10, 1, "invoke", "revoke").add(20, 0, "invoke", "acquire")
    recorded.add(90, 1, "ok", "revoke", {"asked": [NODE]})
    recorded.add(100, 0, "ok", "acquire", {"session": "0x1", "node": NODE})
    recorded.add(500, 0, "invoke", "work").add(1499, 0, "ok", "work", {"asked": False})
    assert kinds(recorded) == []
    recorded.ops.pop()
    recorded.add(1500, 0, "ok", "work", {"asked": False})
    assert kinds(recorded) == ["missed-revocation"]


def test_a_whole_run_in_which_nobody_heard_says_nothing():
    result = check_revocations(
        laid_out(held(300, asked=True).history(), words=WORDS), patience=PATIENCE
    )
    (need,) = result.requirements
    assert (need.needed, need.observed, need.met) == (LEAST_LEARNED, 1, False)


def test_who_is_cut_off_by_a_fault_is_excused_though_its_client_does_not_know_it():
    recorded = held(3000, asked=False)
    fault = {"id": 1, "kind": "client-partition", "targets": ["c0"], "verified": True}
    recorded.add(290, "nemesis", "invoke", "start", fault)
    recorded.add(300, "nemesis", "info", "start", fault)
    assert kinds(recorded) == []


def left_out(started, ended, *, asked=()):
    recorded = Recorded().session(0, 0, "connected", session="0x1")
    recorded.add(5000, 1, "invoke", "revoke").add(5010, 1, "ok", "revoke", {"asked": list(asked)})
    owner = Ownership(NODE, "0x1", 7, started * MS, 7, end=ended and ended * MS)
    history = recorded.end(20000).history()
    timeline = laid_out(history, words=WORDS, servers=ServerView(owners=[owner]))
    return [each.clients for each in check_revocations(timeline, patience=PATIENCE).anomalies]


def test_a_request_asks_all_holders():
    assert left_out(1000, None) == [[0, 1]]
    assert left_out(1000, None, asked=[NODE]) == []
    assert left_out(1000, 5500) == [], "it let go meanwhile"
    assert left_out(4500, None) == [], "a server that lags may not show it"
