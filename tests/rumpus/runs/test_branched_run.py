"""Runs that branch. The law: a branch is the very run that its plan makes from the beginning."""

import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.plan import FaultPlan
from rumpus.nemesis.targets import Targets
from rumpus.runs.branched_run import branched_run
from rumpus.runs.forks import Branch
from rumpus.runs.judged_run import judged_run
from rumpus.runs.run_settings import RunSettings
from rumpus.usage_error import UsageError

EMPTY = FaultPlan(version=1)


def entry(identity, at, kind, duration, targets=None, **options):
    return Entry(
        id=identity,
        at=at,
        kind=kind,
        targets=targets or Targets(role="one"),
        duration=duration,
        options=options,
    )


def plan(*entries, punctual=False):
    return FaultPlan(version=1, entries=entries, punctual=punctual)


def settings(**changes):
    given = {"workload": "lock", "recipe": "fair", "clients": 2, "nodes": 3, "seed": 1}
    given |= {"time_limit": 1.5, "session_timeout": 1.0, "usage": "think=0.1"}
    return RunSettings(argv=("run", "lock"), ensemble="sim", **(given | changes))


def told(judged, _frames=()):
    record, timeline, verdict = judged.judgement
    history = timeline.history
    files = sorted(file.name for file in judged.directory.nodes.rglob("*"))
    plan = Path(judged.directory.plan).read_bytes()
    first = next(iter(history)).value
    return record.digest, verdict.outcome, verdict.reasons, len(history), files, plan, first


def failed(error):
    return ("failed", str(error))


FREEZE = entry(1, 0.3, "client-pause", 0.6)
CUT = entry(2, 0.7, "client-partition", 0.4, how="reset")
RESEED = [entry(1, 0.5, "reseed", 0.01, Targets(), number=future) for future in (1, 2)]
FRAME = entry(1, 0.0, "client-frame", 1.0, Targets(names=("c1",)), how="silence", number=9)
KILL = entry(3, 0.9, "kill", 0.2)


@pytest.mark.parametrize(
    ("base", "branches", "changes"),
    [
        (
            EMPTY,
            [(0.3, plan(FREEZE)), (0.5, plan(RESEED[0])), (0.5, plan(RESEED[1])), (0, plan(FRAME))],
            {},
        ),
        (
            plan(FREEZE, CUT),
            [(0.7, plan(FREEZE, CUT, KILL)), (0.5, plan(FREEZE, entry(2, 0.5, "kill", 0.2)))],
            {"preemption": "primitives"},
        ),
        (
            plan(FREEZE, CUT, punctual=True),
            [(0.6, plan(FREEZE, entry(4, 0.6, "pause", 0.3), CUT, punctual=True))],
            {"seed": 2},
        ),
    ],
)
def test_a_branch_is_the_run_that_its_plan_makes_from_the_beginning(base, branches, changes):
    asked = settings(**changes)
    wanted = [Branch(at, each) for at, each in branches]
    seen = branched_run(asked, base, wanted, told, failed)
    assert len({each[0] for each in seen}) == len(seen)
    for branch, found in zip(wanted, seen, strict=True):
        with judged_run(asked, lambda _: None, plan=branch.plan) as judged:
            assert found == told(judged)


def test_a_branch_whose_process_dies_is_told_and_the_others_are_performed(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    here = os.getpid()

    def examine(judged, _frames):
        if os.getpid() != here and judged.judgement.record.plan["entries"][0]["kind"] == "reseed":
            os.kill(os.getpid(), signal.SIGKILL)
        return judged.judgement.verdict.outcome

    branches = [Branch(0.5, plan(RESEED[0])), Branch(0.3, plan(FREEZE)), Branch(0.9, plan(KILL))]
    seen = branched_run(settings(), EMPTY, branches, examine, failed)
    assert seen[0] == ("failed", "the run's process ended by SIGKILL")
    assert {type(each) for each in seen[1:]} == {str}
    assert list(tmp_path.iterdir()) == []


def test_an_error_in_a_branch_is_told():
    def examine(judged, _frames):
        raise OSError(judged.judgement.record.nemesis[0])

    branches = [Branch(0.3, plan(FREEZE)), Branch(0.5, plan(RESEED[0]))]
    seen = branched_run(settings(time_limit=1.0), EMPTY, branches, examine, failed)
    assert seen == [("failed", "client-pause"), ("failed", "reseed")]


def test_a_branch_that_cannot_tell_its_result_takes_nothing_from_the_others():
    def examine(judged, _frames):
        kind = judged.judgement.record.nemesis[0]
        return (lambda: kind) if kind == "client-pause" else kind  # a lambda cannot be pickled

    here = os.getpid()
    branches = [Branch(0.3, plan(FREEZE)), Branch(0.4, plan(RESEED[0])), Branch(0.9, plan(KILL))]
    seen = branched_run(settings(time_limit=1.2), EMPTY, branches, examine, failed)
    if os.getpid() != here:
        os._exit(1)  # a branch has come out, and would go on with the tests
    assert seen == [("failed", "the run's process ended with code 5"), "reseed", "kill"]


def test_a_run_whose_directory_somebody_removes_says_so():
    def examine(judged, _frames):
        shutil.rmtree(judged.directory.path.parents[1])
        return judged.directory.history.read_bytes()

    branches = [Branch(0.3, plan(FREEZE))]
    ((_, why),) = branched_run(settings(time_limit=1.0), EMPTY, branches, examine, failed)
    assert "was removed while it was in use: see what cleans up" in why


def test_so_does_one_without_branches(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def remove(words):
        if words == "judging":
            (place,) = tmp_path.iterdir()
            shutil.rmtree(place)

    with (
        pytest.raises(EnvironmentRefusal, match="was removed while it was in use"),
        judged_run(settings(time_limit=1.0), remove, plan=EMPTY),
    ):
        pytest.fail("there is nothing to judge")


@pytest.mark.parametrize(
    ("base", "branch", "words"),
    [
        (plan(FREEZE), Branch(0.5, plan(CUT)), "differs before 0.5 s"),
        (plan(FREEZE), Branch(0.2, plan(CUT)), "its next action later"),
        (plan(FREEZE), Branch(0.5, plan(FREEZE, punctual=True)), "differs before"),
    ],
)
def test_a_branch_with_another_past_is_refused(base, branch, words):
    with pytest.raises(ValueError, match=words):
        branched_run(settings(), base, [branch], told, failed)


def test_real_servers_do_not_branch():
    docker = RunSettings(argv=(), workload="lock", ensemble="docker")
    with pytest.raises(UsageError, match="--ensemble docker: only simulated runs branch"):
        branched_run(docker, EMPTY, [], told, failed)


def test_a_run_that_no_command_asked_for_says_which_one_repeats_it():
    """Those of nights and explorations are such."""
    asked = replace(settings(time_limit=1.0, seed=7), argv=())
    with judged_run(asked, lambda _: None, plan=EMPTY) as judged:
        again = judged.judgement.record.command_line()
    assert again.startswith("rumpus run lock ")
    assert "--time-limit 1.0" in again
    assert "--seed 7" in again
