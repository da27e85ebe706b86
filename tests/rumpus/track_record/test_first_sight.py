"""How long explorations take to see a flaw."""

import json

import pytest

from rumpus.campaigns.tasks import Performers
from rumpus.runs.run_settings import RunSettings
from rumpus.track_record.first_sight import first_sights, kinds_of
from rumpus.usage_error import UsageError
from tests.rumpus.campaigns.conftest import Inline
from tests.rumpus.campaigns.running import double_barrier
from tests.rumpus.track_record.ours import OURS

HERE = Performers(Inline(), 1)
KILLED = {"at": 1, "kind": "kill", "targets": {"role": "all"}, "duration": 0.2}


def case_of(number):
    return next(
        flaw.case
        for flaw in OURS.flaws
        if flaw.case is not None and flaw.case.finding.number == number
    )


@pytest.fixture
def settings(tmp_path):
    """A member of the double barrier is stuck, as in finding 2: the first run breaks its link."""
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "entries": [KILLED]}))
    return double_barrier(clients=2, time_limit=1.5, plan=plan)


def test_an_exploration_ends_when_it_has_seen_the_flaw(settings):
    (sight,) = first_sights(case_of(2), settings, HERE, tries=1)
    assert (sight.runs, sight.seen) == (1, True)
    assert sight.cpu_seconds > 0


def test_it_gives_up_when_the_budget_is_spent(settings):
    told = []
    (sight,) = first_sights(
        case_of(4), settings, HERE, tries=1, budget=0.01, notify=lambda seen: told.append(seen.runs)
    )
    assert (sight.runs, sight.seen, told) == (1, False, [1])


def test_what_cannot_be_run_is_an_error():
    nothing = RunSettings(argv=(), workload="lock", recipe="nothing", ensemble="sim")
    with pytest.raises(UsageError, match="nothing"):
        first_sights(case_of(2), nothing, HERE)


def test_a_flaw_shows_by_all_anomalies_of_its_case():
    assert kinds_of(case_of(3)) == {"early-exit", "early-entry"}
