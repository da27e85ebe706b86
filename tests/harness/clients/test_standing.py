"""Which line of a stack is the recipe's."""

import sys

import pytest

from rumpus.harness.clients import client_body
from rumpus.harness.clients.standing import standing, standing_line

OWN = "mylock", "/home/ada/kazoo/my_lock.py"
LIBRARY = "/venv/lib/python3.11/site-packages"


def stack(*modules):
    """The innermost of frames in functions of these modules, each called by the one before."""
    call = sys._getframe
    for module, file in reversed(modules):
        names = {"then": call, "__name__": module}
        exec(compile("\ndef acquire():\n    return then()", file, "exec"), names)
        call = names["acquire"]
    return call()


@pytest.mark.parametrize(
    "inner",
    [
        ("kazoo.client", f"{LIBRARY}/kazoo/client.py"),
        ("kazoo.client", "/home/ada/checkout/kazoo/client.py"),
        ("redis.connection", f"{LIBRARY}/redis/connection.py"),
        ("gevent.hub", f"{LIBRARY}/gevent/hub.py"),
        ("threading", sys.modules["threading"].__file__),
        ("rumpus.recipes.requests.retries", "/home/ada/rumpus/recipes/requests/retries.py"),
        ("rumpus.harness.clients.home", "/home/ada/rumpus/harness/clients/home.py"),
        ("__main__", client_body.__file__),
        ("made", "<string>"),
    ],
)
def test_what_a_recipe_calls_is_not_its_own(inner):
    assert standing(stack(OWN, inner)).line == "my_lock.py:3 in acquire"


@pytest.mark.parametrize(
    "module",
    [
        ("kazoo.recipe.lock", f"{LIBRARY}/kazoo/recipe/lock.py"),
        ("rumpus.recipes.contests.contest", f"{LIBRARY}/rumpus/recipes/contests/contest.py"),
    ],
)
def test_recipes_of_kazoo_and_of_rumpus_are_told_by_their_own_lines(module):
    assert standing(stack(OWN, module)).line == f"{module[1].rpartition('/')[2]}:3 in acquire"


def test_the_code_of_the_line_is_told_with_it(tmp_path):
    file = tmp_path / "my_lock.py"
    file.write_text("# a lock\ndef acquire():\n    return then()  # waits\n")
    assert standing(stack(("mylock", str(file)))).code == "return then()  # waits"
    assert standing(stack(OWN)).code == ""


@pytest.mark.parametrize(
    "line",
    [
        'return then("digest", "clerk:correct-horse")',
        "return then()  # add_auth" + " " * 200,
        'return [PASSWORD := "correct-horse", then()][1]',
    ],
)
def test_the_code_of_a_line_that_may_have_a_password_is_not_told(tmp_path, line):
    file = tmp_path / "my_lock.py"
    file.write_text(f"# a lock\ndef acquire():\n    {line}\n")
    assert standing(stack(("mylock", str(file)))) == ("my_lock.py:3 in acquire", "")


def test_the_line_of_a_request_is_the_same_without_its_code():
    assert standing_line(stack(OWN, ("kazoo.client", f"{LIBRARY}/kazoo/client.py"))) == (
        "my_lock.py:3 in acquire"
    )


def test_a_stack_without_a_recipe_stands_nowhere():
    assert standing(None) is None
    assert standing_line(None) == ""
