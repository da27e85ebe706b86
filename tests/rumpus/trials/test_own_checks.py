"""What a workload of another repository finds by its own checks."""

import json

import pytest

import rumpus
from rumpus.campaigns.case import Case, decode_case
from rumpus.campaigns.replaying import replay
from rumpus.checker.verdict import CheckResult
from rumpus.nemesis.plan import FaultPlan
from rumpus.results.fingerprint import Fingerprint
from rumpus.usage_error import UsageError
from rumpus.workloads.framework.checks import is_own, of_history, promised
from tests.rumpus.trials import limits
from tests.sampling import sampled

SHORT = {"clients": 4, "time_limit": 1.0, "session_timeout": 1.0, "nemesis": []}


def trial(workload, recipe, runs, **options):
    return rumpus.run(workload, recipe, runs=runs, **{**SHORT, **options})


def kinds(anomalies):
    return {anomaly.kind for anomaly in anomalies}


@sampled("workload", [limits.Limits, limits.DeclaredLimits, limits.StaleLimits], of=3)
def test_an_anomaly_of_its_own_check_is_a_violation(workload, tmp_path):
    """Whatever its kind is, and whether or not it is declared."""
    result = trial(workload, "limits-nothing", tmp_path)
    assert result.outcome == "violation", str(result)
    (reason,) = result.reasons
    assert reason.startswith(("over-limit: ", "stale-belief: "))


def test_a_declared_kind_is_told_with_its_meaning(tmp_path):
    result = trial(limits.DeclaredLimits, "limits-nothing", tmp_path)
    assert "(more were inside than may be)" in str(result)


@sampled("workload", [limits.HazardousLimits, limits.StaleHazards], of=2)
def test_a_declared_hazard_is_none(workload, tmp_path):
    result = trial(workload, "limits-nothing", tmp_path)
    assert result.outcome == "valid", str(result)
    (kind,) = kinds(result.hazards)
    assert f"hazard, not promised: {kind}: " in str(result)


@sampled("recipe", ["limits-nothing", limits.LimitsNothing], of=2)
def test_a_declared_hazard_that_is_promised_is_a_violation(recipe, tmp_path):
    result = trial(limits.HazardousLimits, recipe, tmp_path, promises=["over-limit"])
    assert result.outcome == "violation", str(result)
    assert kinds(result.anomalies) == {"over-limit"}


def test_a_kind_that_nobody_declares_cannot_be_promised(tmp_path):
    with pytest.raises(UsageError, match=r"unknown promise 'over-limit'.*declares"):
        trial(limits.Limits, "limiter", tmp_path, promises=["over-limit"])


def test_nothing_has_to_have_happened_that_it_did_not_ask_for(tmp_path):
    """Neither expired sessions nor another leader, whatever the faults are."""
    faults = {"nemesis": ["client-partition", "partition"], "session_timeout": 10.0}
    result = trial(limits.Limits, "limiter", tmp_path, keep=True, **{**faults, "time_limit": 8.0})
    assert result.outcome == "valid", str(result)
    needed = json.loads((result.runs[0].directory / "results.json").read_text())["requirements"]
    names = {each["name"] for each in needed}
    assert "entries" in names
    assert not names & {"expired sessions", "leader changes"}


def test_a_stored_run_is_judged_the_same(rumpus, tmp_path):
    """By ``rumpus run`` and ``rumpus check``; with and without a promise."""
    workload = "tests.rumpus.trials.limits:HazardousLimits"
    options = ["--ensemble", "sim", "--time-limit", "1", "--clients", "4", "--nemesis", "none"]
    for number, (more, code) in enumerate((([], 0), (["--promise", "over-limit"], 1))):
        runs = tmp_path / str(number)
        names = ["--recipe", "limits-nothing", "--runs", runs]
        assert rumpus("run", workload, *names, *options, *more).code == code
        (record,) = runs.rglob("test.json")
        checked = rumpus("check", record.parent, "--workload", workload)
        assert checked.code == code, checked.out
        assert "more were inside than may be" in checked.err


def test_a_case_may_expect_it():
    settings = {
        "workload": "tests.rumpus.trials.limits:HazardousLimits",
        "recipe": "limits-nothing",
        "promise": ["over-limit"],
        "clients": 4,
        "time_limit": 1.0,
    }
    case = Case(
        settings=settings,
        seed=0,
        plan=FaultPlan(version=1),
        expects=Fingerprint(kind="over-limit", operations=("enter",)),
    )
    assert replay(decode_case(case.to_json(), "the case")).reproduced is True


@pytest.mark.usefixtures("no_engine")
def test_the_list_tells_what_it_declares(rumpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    named = '[tool.rumpus.workloads]\nlimits = "tests.rumpus.trials.limits:HazardousLimits"\n'
    (tmp_path / "pyproject.toml").write_text(named)
    found = json.loads(rumpus("list", "--json").out)["own"]
    (summary,) = [each["summary"] for each in found if each["name"] == "limits"]
    assert summary.endswith(
        "; reports over-limit (more were inside than may be); hazards unless promised: over-limit"
    )


def ours(_):
    return CheckResult(name="ours")


def test_whose_a_check_is_does_not_depend_on_how_it_was_entered():
    from rumpus.checker.every_run.timeouts import check_timeouts  # noqa: PLC0415 - of rumpus

    for check in (ours, of_history(ours), promised("herd", of_history(ours))):
        assert is_own(check)
    for check in (of_history(check_timeouts), promised("herd", of_history(check_timeouts))):
        assert not is_own(check)
