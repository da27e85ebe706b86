import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from rumpus.checker.verdict import CheckResult, Requirement, Verdict
from rumpus.trial import SeedResult, TrialFailed, combined, run
from rumpus.usage_error import UsageError
from tests.rumpus.trials import outsiders_locks as locks

SHORT = {
    "time_limit": 3.0,
    "clients": 3,
    "session_timeout": 1.0,
    "nemesis": ["client-partition"],
}
CALM = {"time_limit": 1.0, "nemesis": []}


@pytest.fixture
def put_on_trial(tmp_path):
    def trial(recipe, **options):
        return run("lock", recipe, **{**SHORT, "runs": tmp_path / "runs", **options})

    return trial


def test_a_wrong_lock_is_found_and_told_and_kept(put_on_trial, tmp_path):
    result = put_on_trial(locks.WrongLock, seeds=20)
    assert (result.valid, result.outcome) == (False, "violation")
    assert "split-brain" in {anomaly.kind for anomaly in result.anomalies}
    assert result.story[0].startswith("split-brain: ")
    assert any("fault: " in line for line in result.story)
    assert any("calls acquire" in line for line in result.story)
    assert "<html" in result.report.read_text()
    assert (
        result.runs[-1].directory
        == result.report.parent
        == max(path for path in (tmp_path / "runs" / "lock").iterdir() if not path.is_symlink())
    )
    assert (
        "rumpus run lock --recipe tests.rumpus.trials.outsiders_locks:WrongLock" in result.command
    )
    assert f"--seed {result.seed}" in result.command
    with pytest.raises(TrialFailed) as failed:
        result.assert_valid()
    for part in (*result.reasons, *result.story, result.command, str(result.report)):
        assert part in str(failed.value)


def test_the_same_seed_is_the_same_run(put_on_trial):
    first, second = (put_on_trial(locks.WrongLock, seed=3) for _ in range(2))
    assert first.runs[0].digest == second.runs[0].digest
    assert first.story == second.story


def test_a_mended_lock_is_valid_and_leaves_nothing_behind(put_on_trial, tmp_path):
    result = put_on_trial(locks.made_by_a_function, seeds=2, nemesis=["client-pause"])
    assert (result.valid, result.reasons) == (True, [])
    assert [each.seed for each in result.runs] == [0, 1]
    assert result.notes
    result.assert_valid()
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("recipe", "kind"),
    [
        (locks.RaisesAtTimes, "unexpected-error"),
        (locks.CannotBeMade, "unexpected-error"),
        (locks.HangsInRelease, "stuck-waiter"),
        (locks.LosesAThread, "unexpected-error"),
    ],
)
def test_a_recipe_that_fails_is_named_by_the_verdict(put_on_trial, recipe, kind):
    result = put_on_trial(recipe)
    assert kind in {anomaly.kind for anomaly in result.anomalies}


@pytest.mark.parametrize("recipe", [locks.AsksWhenMade, locks.TakesAnyOption])
def test_a_constructor_may_ask_the_servers_and_take_any_option(put_on_trial, recipe):
    put_on_trial(recipe, **CALM).assert_valid()


def test_a_recipe_that_ends_its_process_is_refused(put_on_trial):
    with pytest.raises(UsageError, match=r"operation 'release'.*EndsItsProcess must not end"):
        put_on_trial(locks.EndsItsProcess)


def test_a_recipe_that_refuses_at_once_does_not_stop_time(put_on_trial):
    result = put_on_trial(locks.RefusesAtOnce)
    assert "deadlock" in {anomaly.kind for anomaly in result.anomalies}


def test_a_recipe_that_never_waits_is_refused_with_its_line(put_on_trial, monkeypatch):
    monkeypatch.setattr("rumpus.harness.simulated.run.HANG_PATIENCE_S", 1.0)
    with pytest.raises(UsageError, match=r"acquire computes for ever .*outsiders_locks.py:\d+"):
        put_on_trial(locks.ComputesForEver)


class Inner:
    class Lock(locks.MendedLock):
        pass


def test_classes_in_classes_are_found(put_on_trial):
    assert put_on_trial(Inner.Lock, **CALM).outcome == "valid"


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        (locks.WithoutRelease, "lacks `release()`"),
        (locks.ReboundBefore, "outsiders_locks:Rebound is another object than the one that was"),
        (lambda *_: None, "inside a function"),
        (locks.MendedLock(None, "/"), "no class and no function"),
        ("nowhere:Lock", "there is no module 'nowhere'"),
        ("a_script:Lock", "a_script.py, line 3: SystemExit: 5"),
        ("tests.rumpus.trials.outsiders_locks:Nothing", "has no 'Nothing'"),
        ("tests.rumpus.trials.outsiders_locks:time", "no class and no function"),
        ("faire", "unknown recipe 'faire' of workload lock; did you mean fair?"),
    ],
)
def test_what_is_no_recipe_is_refused(put_on_trial, recipe, words, tmp_path, monkeypatch):
    (tmp_path / "a_script.py").write_text("import sys\n\nsys.exit(5)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError) as refused:
        put_on_trial(recipe)
    assert words in str(refused.value)


def test_other_wrong_arguments_are_refused(put_on_trial):
    with pytest.raises(UsageError, match="seeds: 0 is not from 1 to"):
        put_on_trial(locks.MendedLock, seeds=0)
    with pytest.raises(UsageError, match="unknown promise 'speed'"):
        put_on_trial(locks.MendedLock, promises=["speed"])
    with pytest.raises(UsageError, match="unknown workload 'locks'"):
        run("locks", locks.MendedLock)


def test_a_promise_makes_a_lock_without_order_wrong(put_on_trial):
    result = put_on_trial(
        "tests.rumpus.trials.outsiders_locks:MendedLock", promises=["fifo"], **CALM
    )
    assert result.valid is not True


def test_a_script_can_put_its_own_lock_on_trial(tmp_path):
    script = tmp_path / "trial_of_mine.py"
    script.write_text(
        textwrap.dedent(
            """
            import rumpus
            from tests.rumpus.trials.outsiders_locks import WrongLock

            class Mine(WrongLock):
                pass

            if __name__ == "__main__":
                options = {"time_limit": 4, "session_timeout": 1.0, "seeds": 20}
                result = rumpus.run("lock", Mine, nemesis=["client-partition"], **options)
                print(result.outcome, result.command)
            """
        )
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("violation rumpus run lock --recipe trial_of_mine:Mine")


def seed_result(outcome):
    return SeedResult(seed=0, outcome=outcome, reasons=["because"])


def verdict(outcome, **observed):
    needs = [Requirement(name, 1, count) for name, count in observed.items()]
    checks = [CheckResult(name="exercise", requirements=needs)]
    return Verdict(valid="unknown", outcome=outcome, reasons=["because"], checks=checks)


def test_what_one_seed_lacks_another_may_have():
    first, second = verdict("inconclusive", deaths=0, cuts=2), verdict("inconclusive", deaths=1)
    assert combined([first, second]) == ("valid", [])
    outcome, reasons = combined([first, first])
    assert outcome == "inconclusive"
    assert "deaths, 0 of at least 1" in reasons[0]


def test_most_runs_must_be_decided():
    good, open_ = verdict("valid", deaths=1), verdict("unknown")
    assert combined([good, open_]) == ("valid", [])
    assert combined([good, open_, open_]) == ("unknown", ["because"])
