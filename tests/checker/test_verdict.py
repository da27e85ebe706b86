import pytest

from rumpus.checker.check import all_kinds
from rumpus.checker.exclusion.mutual_exclusion import SPLIT_BRAIN
from rumpus.checker.verdict import Anomaly, CheckResult, Requirement, judge


def found(*kinds):
    anomalies = [Anomaly(kind=k, description="") for k in kinds]
    return CheckResult(name="c", anomalies=anomalies, kinds={"split-brain": SPLIT_BRAIN})


def test_a_run_without_findings_is_valid():
    verdict = judge([CheckResult(name="c")], {"split-brain"})
    assert (verdict.valid, verdict.outcome, verdict.exit_code) == (True, "valid", 0)


def test_an_anomaly_against_a_promise_is_a_violation():
    verdict = judge([found("split-brain", "stale-belief")], {"split-brain"})
    assert (verdict.valid, verdict.exit_code) == (False, 1)
    assert [a.promised for a in verdict.anomalies] == [True, False]
    assert verdict.reasons == [f"split-brain: 1 ({SPLIT_BRAIN.meaning})"]


def test_a_hazard_is_none_unless_strict():
    assert judge([found("stale-belief")], {"split-brain"}).exit_code == 0
    assert judge([found("stale-belief")], {"split-brain"}, strict=True).exit_code == 1


def test_the_fence_at_work_never_fails_a_run():
    assert judge([found("fenced")], (), strict=True).exit_code == 0


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (CheckResult(name="c", unknown=["why"]), "unknown"),
        (
            CheckResult(name="c", requirements=[Requirement(name="r", needed=2, observed=1)]),
            "inconclusive",
        ),
    ],
)
def test_what_cannot_be_said_is_neither_green_nor_red(result, outcome):
    verdict = judge([result], ())
    assert (verdict.valid, verdict.outcome, verdict.exit_code) == ("unknown", outcome, 3)


def test_a_violation_wins_over_everything():
    unclear = CheckResult(
        name="c", unknown=["x"], requirements=[Requirement(name="r", needed=1, observed=0)]
    )
    assert judge([unclear, found("deadlock")], {"deadlock"}).exit_code == 1


def test_what_the_servers_did_comes_first_and_explains_what_a_recipe_shows():
    kinds = {
        each.name: each for each in (SPLIT_BRAIN, all_kinds()["herd"], all_kinds()["early-expiry"])
    }
    anomalies = [Anomaly(kind=kind, description="", start=at) for at, kind in enumerate(kinds)]
    verdict = judge([CheckResult(name="c", anomalies=anomalies, kinds=kinds)], kinds)
    assert [each.kind for each in verdict.anomalies] == ["early-expiry", "split-brain", "herd"]
    assert verdict.blamed == "servers"
    expiry, *others = verdict.reasons
    assert expiry.startswith("early-expiry: 1 (")
    assert [("explained by early-expiry of the servers" in each) for each in others] == [
        True,
        False,
    ]


def test_servers_that_lose_what_was_committed_explain_everything():
    assert all_kinds()["lost-transaction"].explains_kind("herd")
    assert not SPLIT_BRAIN.explains_kind("herd")
