"""An exploration goes on with corners where the last one ended, unless something has changed."""

from dataclasses import replace

import pytest

from rumpus.corner_memory import CornerMemory
from rumpus.project_names import names_here
from rumpus.runs.run_settings import RunSettings
from rumpus.usage_error import UsageError
from rumpus.user_state import state_file


def settings(**changes):
    usual = RunSettings(argv=(), workload="lock", recipe="shop:Lock", ensemble="sim", seed=None)
    return replace(usual, **changes)


@pytest.fixture(autouse=True)
def recipe(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "shop.py"
    path.write_text("class Lock: ...\n")
    return path


def first(**changes):
    return CornerMemory(settings(**changes), names_here()).first


def go_on(pieces, **changes):
    told = []
    CornerMemory(settings(**changes), names_here()).went_on(pieces, told.append)
    return told


def test_the_next_one_goes_on():
    assert first() == 0
    assert go_on(3) == []
    assert go_on(2) == []
    assert (first(), first(seed=7)) == (5, 5)
    assert first(clients=3) == 0


def test_a_recipe_that_has_changed_is_begun_anew(recipe):
    go_on(3)
    recipe.write_text("class Lock: pass\n")
    assert first() == 0


def test_a_malformed_file_is_refused_with_the_remedy():
    go_on(1)
    state_file("corners.json").write_text('["a"]')
    with pytest.raises(UsageError, match=r"no record of corners .* remove it"):
        first()


def test_what_cannot_be_kept_is_said():
    state_file("").parent.mkdir(parents=True, exist_ok=True)
    state_file("").parent.joinpath("rumpus").write_text("a file in the way")
    (words,) = go_on(1)
    assert "will not go on from here" in words
