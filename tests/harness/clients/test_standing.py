"""Which line of a stack is the recipe's."""

import sys

import kazoo.client
import kazoo.recipe.counter
import pytest

from rumpus.harness.clients.standing import standing
from rumpus.recipes.contests import interfaces
from rumpus.recipes.requests import retries

OWN = "/home/ada/project/my_lock.py"


def stack(*files):
    """The innermost of frames in functions of these files, each called by the one before."""
    call = sys._getframe
    for file in reversed(files):
        names = {"then": call}
        exec(compile("\ndef acquire():\n    return then()", file, "exec"), names)
        call = names["acquire"]
    return call()


@pytest.mark.parametrize(
    "inner",
    [kazoo.client.__file__, sys.modules["threading"].__file__, retries.__file__, "<string>"],
)
def test_what_a_recipe_calls_is_not_its_own(inner):
    assert standing(stack(OWN, inner)) == "my_lock.py:3 in acquire"


@pytest.mark.parametrize("file", [kazoo.recipe.counter.__file__, interfaces.__file__])
def test_recipes_of_kazoo_and_of_rumpus_are_told_by_their_own_lines(file):
    assert standing(stack(OWN, file)) == f"{file.rpartition('/')[2]}:3 in acquire"


def test_a_stack_without_a_recipe_stands_nowhere():
    assert standing(None) is None
