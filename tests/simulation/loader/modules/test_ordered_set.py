import copy
import json
import operator
import pickle
import random
from abc import ABC
from collections import defaultdict
from collections.abc import Hashable, MutableSet
from collections.abc import Set as AbstractSet

import pytest

from rumpus.simulation.loader.modules.ordered_set import OrderedFrozenSet, OrderedSet

UPDATES = ("update", "intersection_update", "difference_update", "symmetric_difference_update")
RESULTS = ("union", "intersection", "difference", "symmetric_difference")
OPERATORS = (operator.or_, operator.and_, operator.sub, operator.xor)
IN_PLACE = (operator.ior, operator.iand, operator.isub, operator.ixor)
COMPARISONS = (operator.eq, operator.ne, operator.le, operator.lt, operator.ge, operator.gt)
QUESTIONS = ("isdisjoint", "issubset", "issuperset")


def some(draw):
    return [draw.randrange(8) for _ in range(draw.randrange(7))]


@pytest.mark.parametrize("seed", range(40))
def test_it_does_what_the_builtin_set_does(seed):
    draw = random.Random(seed)
    mine = some(draw)
    builtin = set(mine)
    mine = OrderedSet(mine)
    for _ in range(20):
        content = some(draw)
        other = draw.choice((list, set, frozenset, OrderedSet, OrderedFrozenSet))(content)
        others = [some(draw) for _ in range(draw.randrange(3))]
        name, result, function = draw.choice(UPDATES), draw.choice(RESULTS), draw.choice(OPERATORS)
        if name == "symmetric_difference_update":
            others = [content]
        getattr(mine, name)(*others)
        getattr(builtin, name)(*others)
        assert mine == builtin
        assert getattr(mine, result)(other) == getattr(builtin, result)(content)
        assert getattr(mine, draw.choice(QUESTIONS))(other) in (True, False)
        for question in QUESTIONS:
            assert getattr(mine, question)(other) == getattr(builtin, question)(content)
        if isinstance(other, list):
            with pytest.raises(TypeError):
                function(mine, other)
            assert mine != other
        else:
            assert function(mine, other) == function(builtin, set(content))
            assert function(other, mine) == function(set(content), builtin)
            for compare in COMPARISONS:
                assert compare(mine, other) == compare(builtin, set(content))
                assert compare(other, mine) == compare(set(content), builtin)
            in_place = draw.choice(IN_PLACE)
            before = mine
            mine = in_place(mine, other)
            builtin = in_place(builtin, set(content))
            assert mine is before
        mine.add(draw.randrange(8))
        builtin = set(mine)
        assert (set(mine), sorted(mine), len(mine), bool(mine)) == (
            builtin, sorted(builtin), len(builtin), bool(builtin),
        )  # fmt: skip


def test_its_order_is_that_of_insertion():
    made = OrderedSet("zebra")
    made.discard("b")
    made.add("b")
    made.add("z")
    assert list(made) == ["z", "e", "r", "a", "b"]
    assert list(made | {"c"}) == ["z", "e", "r", "a", "b", "c"]
    assert list(made & OrderedSet("abz")) == ["z", "a", "b"]
    assert list(made - {"r"}) == ["z", "e", "a", "b"]
    assert list(made ^ OrderedSet("rc")) == ["z", "e", "a", "b", "c"]
    assert made.pop() == "z"
    assert repr(made) == "OrderedSet(['e', 'r', 'a', 'b'])"


def test_shared_code_takes_it_for_a_set_and_private_code_takes_builtin_ones_for_it():
    made, frozen = OrderedSet([1, 2]), OrderedFrozenSet([1, 2])
    assert isinstance(made, set)
    assert isinstance(frozen, frozenset)
    assert isinstance({1}, OrderedSet)
    assert isinstance(frozenset(), OrderedFrozenSet)
    assert isinstance(made, OrderedSet)
    assert not isinstance(made, frozenset | OrderedFrozenSet | dict | list)
    assert not isinstance([1], OrderedSet)
    assert not isinstance(frozenset(), OrderedSet)
    assert isinstance(made, MutableSet)
    assert isinstance(frozen, AbstractSet)
    assert not isinstance(made, Hashable)
    assert issubclass(OrderedSet, MutableSet)
    assert issubclass(set, OrderedSet)
    assert set(made) == made == {1, 2}
    assert {3}.union(made) == {1, 2, 3}
    assert json.dumps(sorted(made)) == "[1, 2]"


def test_frozen_ones_are_keys():
    made = OrderedFrozenSet([2, 1])
    assert {made: "x"}[frozenset([1, 2])] == "x"
    assert OrderedFrozenSet(made) is made
    assert hash(made) == hash(frozenset([1, 2]))
    with pytest.raises(TypeError):
        hash(OrderedSet())
    assert not hasattr(made, "add")
    assert list(made | {3}) == [2, 1, 3]
    assert type(made | {3}) is OrderedFrozenSet


def test_copies_and_errors():
    made = OrderedSet([3, 1])
    for copied in (
        copy.copy(made),
        copy.deepcopy(made),
        pickle.loads(pickle.dumps(made)),
        made.copy(),
    ):
        assert type(copied) is OrderedSet
        assert list(copied) == [3, 1]
        copied.clear()
    assert len(made) == 2
    with pytest.raises(KeyError):
        made.remove(9)
    with pytest.raises(KeyError):
        OrderedSet().pop()
    with pytest.raises(TypeError):
        made.add([])
    with pytest.raises(TypeError):
        OrderedSet(1)
    elements = iter(made)
    made.add(10)
    with pytest.raises(RuntimeError):
        next(elements)
    listeners = defaultdict(OrderedSet)
    listeners["a"].add(1)
    assert listeners == {"a": {1}}
    assert OrderedSet[int] is not OrderedSet


def test_it_can_be_derived_from():
    class Named(OrderedSet, ABC):
        def __init__(self, name, content):
            super().__init__(content)
            self.name = name

    made = Named("x", [2, 1])
    assert (made.name, list(made), isinstance(made, set)) == ("x", [2, 1], True)
    assert not isinstance({1}, Named)

    class Careless(OrderedSet):
        def __init__(self):
            pass

    made = Careless()
    made.add(1)
    assert made == {1}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("ordered", "builtin"), [(OrderedSet, set), (OrderedFrozenSet, frozenset)])
def test_methods_of_the_class_take_builtin_sets(ordered, builtin, seed):
    draw = random.Random(seed)
    mine, content = builtin(some(draw)), some(draw)
    other = draw.choice((list, builtin, ordered))(content)
    for name in (*RESULTS, *QUESTIONS):
        expected = getattr(builtin, name)(mine, content)
        assert getattr(ordered, name)(mine, other) == expected
        assert getattr(ordered, name)(ordered(mine), other) == expected
    assert type(ordered.union(mine, content)) is ordered
    assert ordered.copy(mine) == mine


def test_methods_of_the_class_change_builtin_sets():
    builtin, mine = {1, 2}, OrderedSet([1, 2])
    for changed in (builtin, mine):
        OrderedSet.add(changed, 3)
        OrderedSet.discard(changed, 1)
        OrderedSet.update(changed, [4], [5])
        OrderedSet.intersection_update(changed, [2, 3, 4])
        assert changed == {2, 3, 4}
    assert OrderedSet.pop({7}) == 7
    with pytest.raises(AttributeError):
        OrderedFrozenSet.add  # noqa: B018 - to be looked up
    assert list(map(OrderedFrozenSet.union, [frozenset([1])], [[2]])) == [{1, 2}]
    for name in (*RESULTS, *QUESTIONS):
        with pytest.raises((TypeError, AttributeError)):
            getattr(OrderedSet, name)([1], [2])


def test_a_derived_class_has_its_own_methods():
    class Loud(OrderedSet):
        def union(self, *others):
            return "loud", others

    assert Loud.union(Loud(), [3]) == ("loud", ([3],))
    assert OrderedSet.union(Loud([1]), [2]) == {1, 2}
    assert Loud.copy(Loud([1])) == {1}
