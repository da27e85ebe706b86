import ast

import pytest

from rumpus.simulation.loader.modules.ordered_set import OrderedFrozenSet, OrderedSet
from rumpus.simulation.loader.set_literals import HIDDEN_NAME, may_make_sets, order_sets


def names_after(source):
    names = {}
    builtins = {
        **__builtins__,
        HIDDEN_NAME: OrderedSet,
        "set": OrderedSet,
        "frozenset": OrderedFrozenSet,
    }
    exec(compile(order_sets(ast.parse(source)), "x", "exec"), {"__builtins__": builtins}, names)
    return names


def test_literals_and_comprehensions_are_ordered():
    names = names_after(
        "a = {3, 1, *(2, 1)}\n"
        "b = {x % 5 for x in range(9, 0, -1) if x != 7}\n"
        "c = [{y for y in {z, 'b'}} for z in 'cd']\n"
        "d = frozenset({'q', 'a'})\n"
    )
    assert all(type(names[name]) is OrderedSet for name in "ab")
    assert list(names["a"]) == [3, 1, 2]
    assert list(names["b"]) == [4, 3, 1, 0, 2]
    assert [list(made) for made in names["c"]] == [["c", "b"], ["d", "b"]]
    assert list(names["d"]) == ["q", "a"]


def test_operators_of_views_are_ordered():
    names = names_after(
        "d, e = dict(z=1, b=2, a=3), dict(b=1)\n"
        "a = d.keys() - e.keys()\n"
        "b = d.keys() & ['a', 'z']\n"
        "c = e.items() | d.items()\n"
        "f = {'x'} | d.keys()\n"
    )
    assert list(names["a"]) == ["z", "a"]
    assert list(names["b"]) == ["z", "a"]
    assert list(names["c"]) == [("b", 1), ("z", 1), ("b", 2), ("a", 3)]
    assert list(names["f"]) == ["x", "z", "b", "a"]


def test_a_name_set_of_the_programs_own_does_not_matter():
    assert type(names_after("def set(): pass\na = {1}\n")["a"]) is OrderedSet


def test_literals_after_in_stay_constants():
    source = "def f(x): return x in {1, 2} or x not in {3}\n"
    function = names_after(source)["f"]
    assert frozenset({1, 2}) in function.__code__.co_consts
    assert (function(1), function(3), function(9)) == (True, False, True)
    assert names_after("a = {2, 1} < {1, 2, 3} in ({1}, {3, 2, 1})\n")["a"] is True
    names = names_after("a = [1 for x in 'ab' if x in {y for y in 'bc'}]\nb = 1 in {*[1]}\n")
    assert (names["a"], names["b"]) == ([1], True)


def test_lines_stay_as_they_are():
    tree = order_sets(ast.parse("\n\nx = {\n 1,\n 2}\n"))
    value = tree.body[0].value
    assert (value.lineno, value.args[0].elts[1].lineno) == (3, 5)


@pytest.mark.parametrize(
    "source",
    [
        "x = {a, b}",
        "x = {1, 2, 3}",
        "x = {*a}",
        "x = {y for y in a}",
        "for y in {1, 2, 3}: pass",
        "x = a.keys() - b",
        "def f():\n    return lambda: a.items() & b.items()",
        "class C:\n    async def f(self):\n        return [{y} for y in self.a]",
    ],
)
def test_compiled_code_tells_that_its_source_makes_sets(source):
    assert may_make_sets(compile(source, "x", "exec"))


@pytest.mark.parametrize(
    "source", ["x = {1: 2}", "x = a - b", "x = a.keys()", "x = {y: 1 for y in a}", "x = set(a)"]
)
def test_code_without_sets_is_left_alone(source):
    assert not may_make_sets(compile(source, "x", "exec"))
