"""Hunts with made-up runs."""

import pytest

from rumpus.mutant_hunt import Mutant, Told, hunt

MUTANT = Mutant("lock", "forgetful", frozenset({"deadlock", "orphan-node"}))
HARMLESS = Told(0)


class Runs:
    """Tells what it was given, run by run; each takes ten seconds."""

    def __init__(self, *told):
        self.told = list(told)
        self.asked = []

    def __call__(self, _mutant, seed, kinds):
        self.asked.append((seed, kinds))
        return self.told.pop(0) if self.told else HARMLESS

    def clock(self):
        return 10.0 * len(self.asked)


def hunted(*told, budget=60.0, first_seed=0):
    runs = Runs(*told)
    return hunt(MUTANT, runs, budget=budget, first_seed=first_seed, clock=runs.clock), runs.asked


def test_a_broken_promise_that_was_expected_catches_it():
    found, asked = hunted(HARMLESS, Told(3), Told(1, frozenset({"deadlock", "herd"})))
    assert (found.outcome, found.runs, found.seconds) == ("caught", 3, 30.0)
    assert found.anomalies == {"deadlock", "herd"}
    assert asked == [(0, "default"), (0, "all"), (1, "default")]
    assert found.command == "rumpus run lock --recipe forgetful --ensemble sim --seed 1"


def test_a_run_under_all_faults_can_be_shown_again():
    found, _ = hunted(HARMLESS, Told(1, frozenset({"orphan-node"})), first_seed=7)
    assert found.command.endswith("--seed 7 --nemesis all")


def test_harmless_runs_until_the_budget_is_spent_miss_it():
    found, asked = hunted(budget=35.0)
    assert (found.outcome, found.runs, found.command) == ("missed", 4, "")
    assert len(asked) == 4


def test_the_first_run_is_performed_whatever_the_budget():
    assert hunted(Told(1, frozenset({"deadlock"})), budget=0.0)[0].outcome == "caught"


def test_another_violation_than_those_expected_does_not_count():
    found, _ = hunted(*[Told(1, frozenset({"split-brain"}))] * 9, budget=20.0)
    assert (found.outcome, found.anomalies) == ("missed", {"split-brain"})


@pytest.mark.parametrize("code", [2, 4, 5, -9])
def test_a_run_that_cannot_be_performed_ends_the_hunt(code):
    found, asked = hunted(Told(code, words="no such thing"))
    assert (found.outcome, found.words, len(asked)) == ("failed", "no such thing", 1)
