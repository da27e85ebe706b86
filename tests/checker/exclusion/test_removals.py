"""Whose hand removed a node, and whether sessions on the blacklist ended."""

from copy import deepcopy

import pytest

from rumpus.checker.exclusion.blacklisting import check_blacklisting
from rumpus.checker.exclusion.removals import (
    check_told_removals,
    ends_of_processes,
    judge_removals,
    removals,
)
from rumpus.checker.servers.server_truth import SessionLife, ZnodeLife
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.timeline import Place
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded

CLOCK = WallClock([(0, 0)])
PATH = "/lock/x-contender-0000000001"
MS = 1_000_000


class Truth:
    def __init__(self, *lives, sessions=(), gap=False):
        self.reasons = ["n1's log is missing"] if gap else []
        self._lives = lives
        self._sessions = {life.session: life for life in sessions}

    def znodes(self, _path="/"):
        return list(self._lives)

    def sessions(self):
        return self._sessions

    def contested(self):
        return frozenset()


def life(by, how="deleted", path=PATH):
    return ZnodeLife(path, 7, 10, "0x1", "0x1", b"", 9, 500, by, how)


def judged(recorded, *lives, declared=None):
    found = removals(Truth(*lives), CLOCK, "/lock", "-contender-")
    return judge_removals(recorded.history(), found, declared or {})


def connected():
    recorded = Recorded(2).session(0, 0, "connected", session="0x1")
    return recorded.session(0, 1, "connected", session="0x2")


@pytest.mark.parametrize(
    "innocent",
    [life("0x1"), life("0x1", "closed"), life("0x1", "expired"), life("0x2", path="/lock/other")],
)
def test_own_hand_and_the_end_of_the_session_are_no_matter(innocent):
    assert judged(connected().end(900), innocent).anomalies == []


def test_another_hand_needs_a_dead_owner():
    (anomaly,) = judged(connected().end(900), life("0x2")).anomalies
    assert (anomaly.kind, anomaly.clients, anomaly.start) == ("freed-live-holder", [0, 1], 500 * MS)


def test_the_same_client_in_its_next_session_is_no_other():
    recorded = connected().session(400, 0, "connected", session="0x3").end(900)
    result = judged(recorded, life("0x3"))
    assert (result.anomalies, result.stats["removed by others"]) == ([], 0)


def test_a_removal_in_a_session_of_nobody_known_is_a_question():
    result = judged(connected().end(900), life("0x9"))
    assert (result.anomalies, len(result.unknown)) == ([], 1)


@pytest.mark.parametrize(("declared", "found"), [(400, 0), (600, 1)])
def test_who_declared_itself_dead_before_may_be_freed(declared, found):
    result = judged(connected().end(900), life("0x2"), declared={7: declared * MS})
    assert len(result.anomalies) == found


@pytest.mark.parametrize(("killed", "found"), [(400, 0), (600, 1)])
def test_whose_process_was_killed_before_may_be_freed(killed, found):
    recorded = connected().session(killed, 0, "exited")
    recorded.session(killed + 50, 0, "connected", session="0x3").end(900)
    assert ends_of_processes(recorded.history()) == {"0x1": killed * MS}
    assert len(judged(recorded, life("0x2")).anomalies) == found


def obeyed(recorded, closed_ms):
    session = SessionLife("0x1", 1, 0, 2000, closed_zxid=closed_ms and 9, closed_ms=closed_ms)
    recorded = deepcopy(recorded)
    recorded.add(1000, 1, "invoke", "break")
    recorded.add(1000, 1, "ok", "break", {"session": "0x1", "node": PATH})
    recorded.ops.sort(key=lambda op: op.time)
    truth = Truth(sessions=[session])
    timeline = laid_out(
        recorded.history(), truth=truth, clock=CLOCK, prevents={"missed-revocation"}
    )
    return check_blacklisting(timeline)


@pytest.mark.parametrize(("closed", "found"), [(1500, 0), (4900, 0), (5100, 1), (None, 1)])
def test_a_session_on_the_list_ends_within_four_calm_seconds(closed, found):
    result = obeyed(Recorded(1).add(0, 0, "invoke", "work").end(9000), closed)
    assert [a.kind for a in result.anomalies] == ["missed-revocation"] * found
    assert result.stats["ended by their clients"] == (closed is not None)


def test_time_under_a_fault_does_not_count():
    recorded = Recorded(1).add(0, 0, "invoke", "work")
    fault = {"id": 1, "kind": "client-partition", "targets": ["c0"]}
    recorded.add(1200, "nemesis", "invoke", "start", fault)
    recorded.add(1300, "nemesis", "info", "start", {**fault, "verified": True})
    recorded.add(7000, "nemesis", "invoke", "stop", fault)
    recorded.add(7100, "nemesis", "info", "stop", {**fault, "verified": True}).end(14000)
    assert obeyed(recorded, 11000).anomalies == []
    assert len(obeyed(recorded, 11200).anomalies) == 1


@pytest.mark.parametrize(
    ("lives", "removed", "found"),
    [
        ([life("0x2")], True, []),
        ([life("0x1")], True, ["false-removal"]),
        ([life("0x1", "expired")], True, ["false-removal"]),
        ([], True, ["false-removal"]),
        ([life("0x1")], False, []),
    ],
)
def test_who_was_told_that_it_removed_a_node_did(lives, removed, found):
    told = {"freed": "h/0", "node": PATH, "removed": removed}
    recorded = connected().add(400, 1, "invoke", "free").add(600, 1, "ok", "free", told)
    recorded.add(700, 1, "invoke", "free").add(800, 1, "ok", "free", {**told, "removed": False})
    history = recorded.end(900).history()
    result = check_told_removals(
        laid_out(history, line=Place("sequential", "/lock"), truth=Truth(*lives), clock=CLOCK),
        free="free",
    )
    assert [anomaly.kind for anomaly in result.anomalies] == found
    unsure = check_told_removals(
        laid_out(
            history, line=Place("sequential", "/lock"), truth=Truth(*lives, gap=True), clock=CLOCK
        ),
        free="free",
    )
    assert (unsure.anomalies, len(unsure.unknown)) == ([], len(found))
