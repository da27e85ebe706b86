"""A release, or an acquire of a holder, answers what is true by the servers' logs."""

import pytest

from rumpus.checker.exclusion.answers import check_answers
from rumpus.checker.timeline.holds import Words, extract_holds
from rumpus.checker.timeline.ownership import Ownership, ServerView, SessionEnd
from tests.checker.laid_out import laid_out
from tests.checker.recorded import MS, Recorded

WORDS = Words()
NODE = "/l/x-0000000001"
STANDS = None


def granted():
    recorded = Recorded().session(0, 0, "connected", session="0x1")
    return recorded.acquire(100, 200, 0, node=NODE, token=5)


def released(outcome, recorded=None, start=1000, end=1010):
    recorded = granted() if recorded is None else recorded
    return recorded.add(start, 0, "invoke", "release").add(end, 0, outcome, "release")


def logs(gone=STANDS, *, deleted=False, expired=None):
    """The node goes at a time (ms), deleted by its session or not; the session may expire."""
    end = None if gone is None else gone * MS
    node = Ownership(NODE, "0x1", 5, 200 * MS, 5, end, gone, deleted=deleted, created=150 * MS)
    ends = {} if expired is None else {"0x1": SessionEnd(expired * MS, expired=True)}
    return ServerView(known=frozenset({"0x1"}), owners=[node], ends=ends)


def found(recorded, server=None, words=WORDS):
    history = recorded.end(20000).history()
    result = check_answers(
        laid_out(
            history,
            holds=extract_holds(history, words),
            servers=server,
            words=words,
            faults=[],
        )
    )
    return [anomaly.kind for anomaly in result.anomalies]


@pytest.mark.parametrize(
    ("outcome", "server", "kinds"),
    [
        ("ok", logs(1005, deleted=True), []),
        ("ok", logs(STANDS), ["false-release"]),
        ("ok", logs(1500, deleted=True), ["false-release"]),
        ("ok", logs(500, expired=500), ["unheld-release"]),
        ("ok", logs(500), ["unheld-release"]),
        ("ok", logs(1005, expired=1005), []),
        ("fail", logs(1005, deleted=True), ["false-release"]),
        ("fail", logs(STANDS), ["false-release"]),
        ("fail", logs(500), []),
        ("fail", logs(1005, expired=1005), []),
        ("fail", logs(1005), []),
        ("info", logs(STANDS), []),
        ("ok", None, []),
    ],
)
def test_a_release_is_compared_with_the_logs(outcome, server, kinds):
    assert found(released(outcome), server) == kinds


def test_the_logs_may_not_tell():
    assert found(released("ok"), ServerView(owners=logs().owners)) == []


def test_a_client_that_was_told_of_its_sessions_end_may_say_so_before_all_servers_know():
    told = granted().session(1002, 0, "lost", session="0x1")
    assert found(released("fail", told), logs(1005, deleted=True)) == []
    other = granted().session(1002, 0, "lost", session="0x2")
    assert found(released("fail", other), logs(1005, deleted=True)) == ["false-release"]


def test_a_delete_whose_reply_was_lost_may_be_asked_twice():
    recorded = granted().session(1001, 0, "suspended").session(1004, 0, "connected")
    assert found(released("ok", recorded), logs(500)) == []


def test_to_release_nothing_fails():
    assert found(released("fail", released("ok"), 1020, 1030)) == []
    assert found(released("ok", released("ok"), 1020, 1030)) == ["unheld-release"]
    assert found(released("ok", Recorded())) == ["unheld-release"]


@pytest.mark.parametrize("name", ["acquire", "release"])
def test_what_may_be_left_of_an_unknown_outcome_can_be_released_once(name):
    recorded = Recorded().add(100, 0, "invoke", name).add(200, 0, "info", name)
    assert found(released("ok", recorded)) == []
    recorded = Recorded().add(100, 0, "invoke", name).add(200, 0, "info", name)
    assert found(released("ok", released("ok", recorded), 1020, 1030)) == ["unheld-release"]


@pytest.mark.parametrize(("counted", "kinds"), [(True, []), (False, ["unheld-release"])])
def test_what_was_entered_twice_is_released_as_often(counted, kinds):
    twice = granted().acquire(300, 310, 0, node=NODE, token=5)
    twice = released("ok", released("ok", twice), 1020, 1030)
    assert found(twice, words=Words(counted=counted)) == kinds


@pytest.mark.parametrize(("expired", "kinds"), [(250, ["false-reentry"]), (405, []), (None, [])])
def test_a_grant_whose_session_has_ended_is_not_entered_again(expired, kinds):
    again = granted().acquire(400, 410, 0, node=NODE, token=5)
    assert found(again, logs(expired, expired=expired)) == kinds


@pytest.mark.parametrize(("knows", "kinds"), [(True, ["false-reentry"]), (False, [])])
def test_who_could_not_know_may_enter_again_unless_it_knew_that_it_was_cut_off(knows, kinds):
    again = granted().session(210, 0, "paused").session(390, 0, "resumed")
    if knows:
        again.session(391, 0, "suspended", session="0x1")
    again.acquire(400, 410, 0, node=NODE, token=5)
    assert found(again, logs(250, expired=250)) == kinds


def test_a_grant_of_a_new_session_is_a_new_one():
    again = granted().acquire(300, 310, 0, node=NODE, token=5, session="0x2")
    assert found(again, logs(250, expired=250)) == []
