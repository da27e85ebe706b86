"""What followers were told of their leader."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.exclusion.acknowledgements import check_acknowledgements, check_observations
from rumpus.checker.servers.server_truth import ZnodeLife
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.ownership import Ownership, ServerView
from rumpus.checker.timeline.timeline import Place
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded

CLOCK = WallClock([(0, 0)])
WORDS = {"campaign": "campaign", "lead": "lead", "observe": "observe"}


def reign(recorded, ms, process, epoch, *, said=True):
    recorded.add(ms, process, "invoke", "campaign").add(
        ms + 1, process, "ok", "campaign", {"token": epoch}
    )
    recorded.add(ms + 2, process, "invoke", "lead")
    value = {"acts": 1, "acknowledged": epoch if said else None}
    return recorded.add(ms + 5, process, "ok", "lead", value)


def observe(recorded, called, returned, epoch, *, name="c0", acknowledged=True):
    value = {"epoch": epoch, "name": name, "acknowledged": acknowledged}
    recorded.add(called, 2, "invoke", "observe")
    return recorded.add(returned, 2, "ok", "observe", value)


def kinds(recorded):
    found = check_observations(laid_out(recorded.history()), **WORDS).anomalies
    return [anomaly.kind for anomaly in found]


def test_a_leader_that_has_begun_to_act_may_be_seen():
    recorded = reign(Recorded(), 10, 0, 7)
    observe(recorded, 13, 14, 7)
    reign(recorded, 20, 1, 8)
    observe(recorded, 30, 31, 8, name="c1")
    recorded.add(40, 2, "invoke", "observe").add(41, 2, "ok", "observe")
    result = check_observations(laid_out(recorded.history()), **WORDS)
    assert result.anomalies == []
    assert result.stats["of one that had acknowledged"] == 2


@pytest.mark.parametrize(
    "sight",
    [
        {"called": 10, "returned": 11, "epoch": 7},  # before it has said so
        {"called": 30, "returned": 31, "epoch": 9},  # nobody's epoch
        {"called": 30, "returned": 31, "epoch": 7, "name": "c1"},
    ],
    ids=["early", "unknown", "another"],
)
def test_others_may_not(sight):
    assert kinds(observe(reign(Recorded(), 10, 0, 7), **sight)) == ["false-acknowledgement"]


def test_a_leader_that_has_not_acknowledged_may_be_seen_as_such_at_any_time():
    assert kinds(observe(Recorded(), 1, 2, 7, acknowledged=False)) == []


def test_who_looks_after_an_acknowledgement_sees_nothing_older():
    recorded = reign(reign(Recorded(), 10, 0, 7), 20, 1, 8)
    assert kinds(observe(recorded, 24, 30, 7)) == []
    assert kinds(observe(recorded, 31, 32, 7)) == ["epoch-regression"]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), max_size=8))
def test_looks_one_after_another_may_not_go_back(steps):
    """One observer: its answers are in order exactly if no answer is below an earlier one."""
    recorded = Recorded()
    epochs = []
    for number, (epoch, length) in enumerate(steps):
        observe(recorded, 20 * number, 20 * number + length, epoch, acknowledged=False)
        epochs.append(epoch)
    back = sum(epoch < max(epochs[:at], default=0) for at, epoch in enumerate(epochs))
    assert kinds(recorded) == ["epoch-regression"] * back


class Truth:
    reasons = uncertain = forked = ()

    def __init__(self, *lives, reasons=()):
        self._lives = lives
        self.reasons = reasons

    def contested(self):
        return frozenset()

    def znodes(self, _path):
        return list(self._lives)


REIGN = Ownership("/e/x-0000000001", "0x1", czxid=5, start=0, grant=10, end=90, loss=20)


def sessions():
    """c0 leads in session 0x1 and goes on in 0x2; c1 has 0x3."""
    recorded = Recorded().session(1, 0, "connected", session="0x1")
    recorded.session(2, 1, "connected", session="0x3")
    return recorded.session(3, 0, "connected", session="0x2").end(100).history()


def judged(history, truth):
    """What the logs say of the acknowledgements below /a, of the leader of ``REIGN``."""
    return check_acknowledgements(
        laid_out(
            history,
            servers=ServerView(owners=[REIGN]),
            line=Place("sequential", "/a"),
            truth=truth,
            clock=CLOCK,
        ),
        below=str,
        lead="lead",
    )


@pytest.mark.parametrize(
    ("life", "found"),
    [
        (ZnodeLife("/a/5", 11, 0, "0x1", "0x1", b"5 c0", 19, 0, "0x1", "deleted"), None),
        (ZnodeLife("/a/5", 11, 0, "0x1", "0x1", b"5 c0", 15, 0, "0x2", "deleted"), None),
        (ZnodeLife("/a/5", 11, 0, "0x1", "0x1", b"5 c0", 25, 0, "0x3", "deleted"), None),
        (ZnodeLife("/a/5", 9, 0, "0x1", "0x1", b"5 c0"), "false-acknowledgement"),
        (ZnodeLife("/a/6", 11, 0, "0x1", "0x1", b"6 c0"), "false-acknowledgement"),
        (
            ZnodeLife("/a/5", 11, 0, "0x1", "0x1", b"5 c0", 15, 0, "0x3", "deleted"),
            "lost-acknowledgement",
        ),
    ],
    ids=["own", "own client's in its next session", "after", "before", "unknown", "by another"],
)
def test_the_servers_know_whose_reign_it_was(life, found):
    result = judged(sessions(), Truth(life))
    assert [anomaly.kind for anomaly in result.anomalies] == ([found] if found else [])


def test_with_logs_missing_an_unknown_reign_is_a_question():
    life = ZnodeLife("/a/6", 11, 0, "0x1", "0x1", b"6 c0")
    truth = Truth(life, reasons=["n1's log is missing"])
    result = judged(Recorded().end(100).history(), truth)
    assert (result.anomalies, len(result.unknown)) == ([], 1)


def test_a_removal_in_a_session_of_nobody_known_is_a_question():
    life = ZnodeLife("/a/5", 11, 0, "0x1", "0x1", b"5 c0", 15, 0, "0x9", "deleted")
    result = judged(sessions(), Truth(life))
    assert (result.anomalies, len(result.unknown)) == ([], 1)


@pytest.mark.parametrize(("made", "found"), [(14, []), (30, ["lost-acknowledgement"])])
def test_who_was_told_that_it_is_acknowledged_has_a_node_that_says_so(made, found):
    history = reign(Recorded(), 10, 0, 5).end(100).history()
    life = ZnodeLife("/a/5", 11, made, "0x1", "0x1", b"5 c0")
    for lives, kinds in (([life], found), ([], ["lost-acknowledgement"])):
        result = check_acknowledgements(
            laid_out(
                history,
                servers=ServerView(owners=[REIGN]),
                line=Place("sequential", "/a"),
                truth=Truth(*lives),
                clock=CLOCK,
            ),
            below=str,
            lead="lead",
        )
        assert [anomaly.kind for anomaly in result.anomalies] == kinds
    missing = Truth(reasons=["n1's log is missing"])
    result = check_acknowledgements(
        laid_out(
            history,
            servers=ServerView(owners=[REIGN]),
            line=Place("sequential", "/a"),
            truth=missing,
            clock=CLOCK,
        ),
        below=str,
        lead="lead",
    )
    assert (result.anomalies, len(result.unknown)) == ([], 1)
