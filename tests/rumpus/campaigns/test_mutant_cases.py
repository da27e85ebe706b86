from itertools import islice
from pathlib import Path

import msgspec
import pytest

from rumpus.campaigns import mutant_cases
from rumpus.campaigns.case import load_case, save_case
from rumpus.campaigns.mutant_cases import SMALL_CROWD, case_path, make_case, tries
from rumpus.campaigns.mutant_hunt import Mutant
from rumpus.runs.recorded_settings import settings_of_words
from tests.sampling import one_in

HERD = Mutant("lock", "watch-first", frozenset({"herd", "split-brain"}))


@pytest.fixture(autouse=True)
def brief(monkeypatch):
    monkeypatch.setattr(mutant_cases, "SMALL_LOAD_S", 1.5)
    monkeypatch.setattr(mutant_cases, "OTHER_SEEDS", 1)


@pytest.fixture
def made(inline, tmp_path):
    """Makes a mutant's case with little effort."""

    def make(mutant):
        path = case_path(tmp_path, mutant)
        return make_case(mutant, path, inline, budget=0.001, shrink_budget=0.001)

    return make


@one_in(2)
def test_a_case_is_made_kept_and_made_again_when_it_shows_nothing_any_more(made, tmp_path):
    first = made(HERD)
    assert first.outcome == "made"
    assert first.path == tmp_path / "lock" / "watch-first.case.json"
    case = load_case(first.path)
    assert case == first.case
    assert case.mutant
    assert case.expects.kind in HERD.expected
    before = first.path.read_bytes()
    again = made(HERD)
    assert (again.outcome, again.runs, again.case) == ("kept", 1, case)
    assert first.path.read_bytes() == before

    settings = {**case.settings, "recipe": "fair"}
    save_case(msgspec.structs.replace(case, settings=settings, story=("old",)), first.path)
    third = made(HERD)
    assert third.outcome == "made"
    assert third.case is not None
    assert third.case.settings["recipe"] == "watch-first"
    assert load_case(first.path).story != ("old",)


@pytest.mark.parametrize(
    ("mutant", "outcome"),
    [
        (Mutant("lock", "fair", frozenset({"split-brain"})), "missed"),
        (Mutant("lock", "watch-first", frozenset({"token-regression"})), "missed"),
        (Mutant("lock", "none", frozenset({"split-brain"})), "failed"),
    ],
)
def test_without_the_expected_anomaly_there_is_no_case(made, mutant, outcome):
    told = made(mutant)
    assert (told.outcome, told.case, told.path.exists()) == (outcome, None, False)
    assert ("unknown recipe 'none'" in told.words) == (outcome == "failed")


def test_small_runs_are_tried_first():
    settings = settings_of_words(HERD.words(0, "default"))
    few = list(islice(tries(settings, 5), 40))
    assert few[0].settings.nemesis == ()
    assert {task.settings.seed for task in few[:10]} == {5}
    assert all(task.settings.clients <= SMALL_CROWD for task in few[:10])
    assert few[-1].settings.seed > 5
    assert any(task.settings.swarm for task in few)


def test_the_name_of_a_family_of_another_repository_makes_one_folder():
    mutant = Mutant("mine.trials:Flag", "mine.locks:My", frozenset())
    assert case_path(Path("d"), mutant) == Path("d/mine.trials-Flag/mine.locks-My.case.json")
