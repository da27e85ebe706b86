import argparse
import ast
import inspect
import typing
from pathlib import Path

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
    tree = order_sets(ast.parse(source), source.encode())
    exec(compile(tree, "x", "exec"), {"__builtins__": builtins}, names)
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
    source = "\n\nx = {\n 1,\n 2}\n"
    tree = order_sets(ast.parse(source), source.encode())
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


def test_statements_are_found_wherever_sets_are_made_in_them():
    names = names_after(
        "kept = []\n"
        "def keep(content, kept=kept):\n"
        "    kept.append(content)\n"
        "    return lambda it: it\n"
        "@keep(\n"
        "    {3, 1})\n"
        "def first(): pass\n"
        "@keep({2, 1}\n"
        ")\n"
        "class Second:\n"
        "    def third(self):\n"
        "        if True:\n"
        "            return (\n"
        "                {9, 1})\n"
        "kept.append(Second().third())\n"
        "kept.append(dict(b=1, a=2)\n"
        "    .keys() - [1])\n"
    )
    assert [type(content) for content in names["kept"]] == [OrderedSet] * 4
    assert list(map(list, names["kept"])) == [[3, 1], [2, 1], [9, 1], ["b", "a"]]


@pytest.mark.parametrize("module", [argparse, ast, inspect, typing])
def test_statements_that_are_passed_over_make_no_sets(module):
    source = Path(module.__file__).read_bytes()
    everywhere = b"{\n" * source.count(b"\n")  # as if each line might make one
    quick, slow = (order_sets(ast.parse(source), text) for text in (source, everywhere))
    assert ast.dump(quick, include_attributes=True) == ast.dump(slow, include_attributes=True)
