"""Whether observers were told who led, by the servers' logs."""

import pytest

from rumpus.checker.exclusion.leader_sights import check_leader_sights
from rumpus.checker.servers.server_truth import ZnodeLife
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.ownership import Ownership, ServerView
from rumpus.checker.timeline.timeline import Place
from tests.checker.laid_out import laid_out
from tests.checker.recorded import MS, Recorded

CLOCK = WallClock([(0, 0)])
PATHS = {5: "/e/x-0000000001", 8: "/e/x-0000000002"}
REIGNS = [
    Ownership(PATHS[5], "0x1", czxid=5, start=100 * MS, grant=10, end=500 * MS, loss=20),
    Ownership(PATHS[8], "0x2", czxid=8, start=500 * MS, grant=20),
]
SAID = [(5, ZnodeLife("/a/5", 11, 200, "0x1", "0x1", b"5 c0", 19, 400, "0x1", "deleted"))]


class Truth:
    def __init__(self, *contested, reasons=()):
        self._contested = frozenset(contested)
        self.reasons = reasons

    def contested(self):
        return self._contested

    def znodes(self, _path):
        return [life for _, life in SAID]


def judged(called, returned, told, truth=None):
    recorded = Recorded()
    for client in range(2):
        recorded.session(1, client, "connected", session=f"0x{client + 1}")
    recorded.add(called, 2, "invoke", "observe").add(returned, 2, "ok", "observe", told)
    history = recorded.end(1000).history()
    return check_leader_sights(
        laid_out(
            history,
            truth=truth or Truth(),
            clock=CLOCK,
            servers=ServerView(owners=REIGNS),
            line=Place("sequential", "/l"),
        ),
        below=str,
        observe="observe",
    )


def leader(epoch, name="c0", *, acknowledged=False):
    return {"epoch": epoch, "name": name, "acknowledged": acknowledged}


@pytest.mark.parametrize(
    ("called", "returned", "right", "wrong"),
    [
        (10, 50, None, leader(5)),  # before the first
        (150, 160, leader(5), None),
        (150, 160, leader(5), leader(5, "c1")),
        (150, 160, leader(5), leader(5, acknowledged=True)),
        (150, 160, leader(5), leader(8, "c1")),
        (300, 310, leader(5, acknowledged=True), leader(5)),
        (300, 310, leader(5, acknowledged=True), None),
        (600, 610, leader(8, "c1"), leader(5)),
        (600, 610, leader(8, "c1"), None),
        (600, 610, leader(8, "c1"), leader(9)),
    ],
)
def test_what_was_so_all_the_time_is_what_is_told(called, returned, right, wrong):
    assert judged(called, returned, right).anomalies == []
    found = judged(called, returned, wrong).anomalies
    assert [anomaly.kind for anomaly in found] == ["false-observation"]


@pytest.mark.parametrize(
    ("called", "returned", "told"),
    [
        (90, 110, [None, leader(5)]),
        (450, 550, [None, leader(5), leader(8, "c1")]),
        (190, 210, [leader(5), leader(5, acknowledged=True)]),
        (390, 410, [leader(5), leader(5, acknowledged=True)]),
        (102, 150, [None, leader(5)]),  # nearer than the servers' stamps tell
    ],
)
def test_what_changed_during_the_look_may_be_told_either_way(called, returned, told):
    for each in told:
        assert judged(called, returned, each).anomalies == []


@pytest.mark.parametrize(
    "truth", [Truth(reasons=["n1's log is missing"]), Truth(PATHS[5]), Truth("/a/5")]
)
def test_what_the_logs_do_not_tell_for_certain_is_a_question(truth):
    told = leader(5) if truth.contested() == {"/a/5"} else None
    result = judged(300, 310, told, truth)
    assert (result.anomalies, len(result.unknown)) == ([], 1)
