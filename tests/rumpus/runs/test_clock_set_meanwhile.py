"""The host's clock is set in the middle of a run, and that of the servers' host is not."""

import pytest

from rumpus.results.record import ClockAnchor
from rumpus.results.run_directory import RunDirectory
from rumpus.runs.judging import judge_files
from rumpus.runs.run_files import read_run
from rumpus.workloads.registry import WORKLOADS
from tests.sampling import sampled

SECOND = 1_000_000_000
LOAD_S = 12


def readings(first, step):
    """A reading each half second; by the middle the wall clock is so many seconds ahead."""
    for number in range(2 * LOAD_S):
        passed = number * SECOND // 2
        ahead = int(step * SECOND) if number > LOAD_S // 2 else 0
        yield ClockAnchor(first.monotonic + passed, first.wall + passed + ahead)


@sampled("family", WORKLOADS, of=6)
def test_nobody_is_accused_by_times_that_nobody_knows(family, rumpus, tmp_path):
    sound = next(name for name, entry in WORKLOADS[family].catalogue.items() if not entry.faulty)
    line = f"run {family} --recipe {sound} --ensemble sim --seed 3 --time-limit {LOAD_S} --runs"
    assert rumpus(*line.split(), tmp_path).code in (0, 3)
    run = RunDirectory((tmp_path / "latest").resolve())
    for step in (0.5, -5, 60):
        files = read_run(run)
        first = min(files.record.clock_anchors, key=lambda reading: reading.monotonic)
        files.record.clock_anchors = [*readings(first, step)]
        files.record.ensemble = "docker"  # of the simulation nobody can set the clock
        verdict = judge_files(files).verdict
        assert verdict.outcome == "unknown", (step, verdict.reasons)
        assert "the host's wall clock was set during the run" in verdict.reasons[0]


@pytest.mark.parametrize("step", [0, 0.002])
def test_a_clock_that_runs_steadily_changes_nothing(step, rumpus, tmp_path):
    line = f"run lock --ensemble sim --seed 3 --time-limit {LOAD_S} --runs"
    assert rumpus(*line.split(), tmp_path).code == 0
    files = read_run(RunDirectory((tmp_path / "latest").resolve()))
    first = min(files.record.clock_anchors, key=lambda reading: reading.monotonic)
    files.record.clock_anchors = [*readings(first, step)]
    files.record.ensemble = "docker"
    assert judge_files(files).verdict.outcome == "valid"
