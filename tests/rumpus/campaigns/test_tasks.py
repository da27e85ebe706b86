from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool

import pytest

from rumpus.campaigns.tasks import Attempt, attempts, origin, perform_apart, processes
from rumpus.campaigns.trial_task import TrialTask
from rumpus.harness.clients.workers import WorkerCrash
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.nemesis.plan import FaultPlan
from rumpus.runs.run_settings import RunSettings
from tests.sampling import one_in

DEADLY = "tests.rumpus.campaigns.deadly_recipe:Deadly"


def short(recipe="fair", seed=0):
    settings = RunSettings(
        argv=(),
        workload="lock",
        recipe=recipe,
        ensemble="sim",
        clients=2,
        time_limit=1.0,
        seed=seed,
        nodes=1,
    )
    return TrialTask(settings=settings, plan=FaultPlan(version=1))


@one_in(2)
def test_a_run_that_ends_its_process_takes_no_other_with_it(tmp_path, monkeypatch):
    """And it is innocent if it does not end a second one."""
    monkeypatch.setenv("DEADLY_ONCE", str(tmp_path / "mark"))
    tasks = [short(seed=1), short(DEADLY), short(f"{DEADLY}Once", seed=2), short(seed=3)]
    with processes(2) as executor:
        told = list(attempts(executor, tasks))
    assert (tmp_path / "mark").exists()
    assert [each.death for each in told] == ["", "SIGSEGV", "", ""]
    assert [each.outcome.seed for each in told if each.outcome is not None] == [1, 2, 3]
    assert "deadly_recipe.py" in told[1].trace
    with pytest.raises(WorkerCrash, match="SIGSEGV"):
        told[1].raise_error()


class Failing(Executor):
    """Gives up every task."""

    def __init__(self, error):
        self._error = error

    def submit(self, *_, **__):
        future = Future()
        future.set_exception(self._error)
        return future


def test_what_an_executor_loses_is_performed_here():
    (told,) = attempts(Failing(BrokenProcessPool("gone")), [short(seed=5)])
    assert told.outcome.seed == 5
    with pytest.raises(EnvironmentRefusal, match="could not be passed on: no way"):
        list(attempts(Failing(ValueError("no way")), [short()]))


def test_other_software_is_refused():
    asked = origin()
    other = type(asked)(
        surroundings=asked.surroundings, software={**asked.software, "kazoo": "1.0"}
    )
    told = perform_apart(short(), other)
    assert (told.outcome, told.exit_code) == (None, 4)
    assert f"kazoo {asked.software['kazoo']} instead of 1.0" in told.error


def test_an_attempt_without_an_error_raises_none():
    Attempt().raise_error()
