"""Hunts with made-up runs."""

import pytest

from rumpus.campaigns.mutant_hunt import Mutant, Told, hunt, survey

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


def surveyed(*told, seeds=5, first_seed=0):
    runs = Runs(*told)
    found = survey(MUTANT, runs, seeds=seeds, first_seed=first_seed, clock=runs.clock)
    return found, runs.asked


def red(*kinds):
    return Told(1, frozenset(kinds))


def test_it_is_caught_once_all_its_anomalies_broke_a_promise():
    found, asked = hunted(HARMLESS, red("deadlock", "herd"), Told(3), red("orphan-node"))
    assert (found.outcome, found.runs, found.caught, found.seconds) == ("caught", 4, 2, 40.0)
    assert found.anomalies == {"deadlock": 1, "herd": 1, "orphan-node": 1}
    assert asked == [(0, "default"), (0, "all"), (1, "default"), (1, "all")]
    assert (
        found.command == "rumpus run lock --recipe forgetful --ensemble sim --seed 0 --nemesis all"
    )


def test_the_first_violation_can_be_shown_again():
    found, _ = hunted(red("herd"), HARMLESS, red("orphan-node", "deadlock"), first_seed=7)
    assert found.command.endswith("--seed 8")


def test_harmless_runs_until_the_budget_is_spent_miss_it():
    found, asked = hunted(budget=35.0)
    assert (found.outcome, found.runs, found.command) == ("missed", 4, "")
    assert len(asked) == 4


def test_an_anomaly_of_its_own_that_is_never_seen_misses_it():
    found, _ = hunted(*[red("deadlock")] * 9, budget=35.0)
    assert (found.outcome, found.caught, found.unseen) == ("missed", 4, {"orphan-node"})


def test_the_first_run_is_performed_whatever_the_budget():
    assert hunted(red("deadlock", "orphan-node"), budget=0.0)[0].outcome == "caught"


def test_another_violation_than_its_own_does_not_count():
    found, _ = hunted(*[red("split-brain")] * 9, budget=20.0)
    assert (found.outcome, found.caught, found.anomalies) == ("missed", 0, {"split-brain": 2})


def test_a_broken_promise_of_a_run_that_is_no_violation_does_not_catch():
    assert surveyed(*[Told(3, frozenset({"deadlock", "orphan-node"}))] * 5)[0].caught == 0


@pytest.mark.parametrize("code", [2, 4, 5, -9])
@pytest.mark.parametrize("way", [hunted, surveyed])
def test_a_run_that_cannot_be_performed_ends_the_hunt(way, code):
    found, asked = way(Told(code, words="no such thing"))
    assert (found.outcome, found.words, len(asked)) == ("failed", "no such thing", 1)


def test_a_survey_performs_every_seed_under_the_default_faults():
    found, asked = surveyed(*[red("deadlock", "orphan-node")] * 5, first_seed=3)
    assert asked == [(seed, "default") for seed in (3, 4, 5, 6, 7)]
    assert (found.outcome, found.caught, found.runs) == ("caught", 5, 5)


@pytest.mark.parametrize(("caught", "outcome"), [(4, "caught"), (3, "weak")])
def test_a_survey_wants_four_of_five(caught, outcome):
    told = [red("deadlock", "orphan-node")] * caught
    found, _ = surveyed(*told)
    assert (found.outcome, found.caught) == (outcome, caught)


def test_a_survey_wants_all_anomalies():
    found, _ = surveyed(*[red("deadlock")] * 5)
    assert (found.outcome, found.caught, found.unseen) == ("missed", 5, {"orphan-node"})


def test_a_violation_that_is_blamed_on_a_recipe_says_nothing_of_mutant_servers():
    servers = Mutant("watch", "lost-events", frozenset({"missed-event"}), recipe="looks-again")
    for blamed, outcome in (("recipe", "missed"), ("servers", "caught")):
        runs = Runs(*[Told(1, frozenset({"missed-event"}), blamed)] * 9)
        assert hunt(servers, runs, budget=30, clock=runs.clock).outcome == outcome
