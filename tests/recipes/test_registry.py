import pytest

from rumpus.checker.verdict import ANOMALIES
from rumpus.recipes.contests.contender import Contender
from rumpus.recipes.election.catalogue import ELECTIONS
from rumpus.recipes.lock.catalogue import LOCKS

ALL = {
    **{f"lock {n}": r for n, r in LOCKS.items()},
    **{f"election {n}": r for n, r in ELECTIONS.items()},
}


@pytest.mark.parametrize("recipe", ALL.values(), ids=ALL)
def test_promises_are_about_known_anomalies(recipe):
    assert "split-brain" in recipe.promises.prevents <= set(ANOMALIES)
    # Servers that work do not grant one znode twice: to promise it would say nothing.
    several = recipe.line("/a").kind != "single"
    assert ("double-grant" in recipe.promises.prevents) == several
    assert ("herd" in recipe.promises.prevents) == (recipe.promises.wakeups is not None)
    assert ("refused-reentry" in recipe.promises.prevents) == recipe.promises.reentrant
    assert "fenced" not in recipe.promises.prevents, "it is the fence at work"
    assert ("stale-action" in recipe.promises.prevents) == recipe.promises.fenced


@pytest.mark.parametrize("recipe", ALL.values(), ids=ALL)
def test_what_gives_a_mistake_away_is_a_broken_promise(recipe):
    assert recipe.faulty == bool(recipe.mistake) == bool(recipe.expected)
    assert recipe.expected <= recipe.promises.prevents


def printed(recipe):
    return recipe.__module__.rpartition(".")[2].startswith("published_")


@pytest.mark.parametrize(
    "recipe", [r for r in ALL.values() if r.faulty], ids=[n for n, r in ALL.items() if r.faulty]
)
def test_a_faulty_recipe_promises_what_its_sound_one_does(recipe):
    sound = next(parent for parent in recipe.__mro__[1:] if parent in ALL.values())
    assert not sound.faulty
    if not printed(recipe):  # what is printed in a document promises what the document says
        assert recipe.promises is sound.promises
        assert recipe.line("/a") == sound.line("/a")


def test_each_line_says_where_contenders_stand():
    assert LOCKS["fair"].line("/a").kind == "sequential"
    assert LOCKS["unfair"].line("/a").kind == "single"
    assert LOCKS["kazoo"].line("/a").mark == ELECTIONS["kazoo"].line("/a").mark == "__lock__"
    assert all(issubclass(recipe, Contender) for recipe in ALL.values())
    assert {recipe.line("/a").path for recipe in ALL.values() if not printed(recipe)} == {"/a"}
