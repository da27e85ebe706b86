import pytest

from rumpus.checker.check import all_kinds
from rumpus.recipes.contests.contender import Contender
from rumpus.recipes.election.catalogue import ELECTIONS
from rumpus.recipes.lock.catalogue import LOCKS

ALL = {
    **{f"lock {n}": r for n, r in LOCKS.items()},
    **{f"election {n}": r for n, r in ELECTIONS.items()},
}
RECIPES = {name: entry.recipe for name, entry in ALL.items()}


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_promises_are_about_known_anomalies(recipe):
    assert "split-brain" in recipe.promises.prevents <= set(all_kinds())
    # Servers that work do not grant one znode twice: to promise it would say nothing.
    several = recipe.line("/a").kind != "single"
    assert ("double-grant" in recipe.promises.prevents) == several
    assert ("herd" in recipe.promises.prevents) == (recipe.promises.wakeups is not None)
    assert ("refused-reentry" in recipe.promises.prevents) == recipe.promises.reentrant
    assert "fenced" not in recipe.promises.prevents, "it is the fence at work"
    assert ("stale-action" in recipe.promises.prevents) == recipe.promises.fenced


def printed(recipe):
    return recipe.__module__.rpartition(".")[2].startswith("published_")


@pytest.mark.parametrize(
    "entry", [r for r in ALL.values() if r.faulty], ids=[n for n, r in ALL.items() if r.faulty]
)
def test_a_faulty_recipe_promises_what_its_sound_one_does(entry):
    recipe = entry.recipe
    sound = next(parent for parent in recipe.__mro__[1:] if parent in RECIPES.values())
    assert sound in [other.recipe for other in ALL.values() if not other.faulty]
    if not printed(recipe):  # what is printed in a document promises what the document says
        assert recipe.promises is sound.promises
        assert recipe.line("/a") == sound.line("/a")


def test_each_line_says_where_contenders_stand():
    assert LOCKS["fair"].recipe.line("/a").kind == "sequential"
    assert LOCKS["unfair"].recipe.line("/a").kind == "single"
    assert (
        LOCKS["kazoo"].recipe.line("/a").mark
        == ELECTIONS["kazoo"].recipe.line("/a").mark
        == "__lock__"
    )
    assert all(issubclass(recipe, Contender) for recipe in RECIPES.values())
    assert {recipe.line("/a").path for recipe in RECIPES.values() if not printed(recipe)} == {"/a"}
