from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.harness.generators.seed import Seed


def drawn(seed, count):
    numbers = []
    for _ in range(count):
        number, seed = seed.next()
        numbers.append(number)
    return numbers


def test_numbers_are_those_of_the_published_algorithm():
    assert drawn(Seed(0), 3) == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@given(st.integers(min_value=0, max_value=2**64 - 1))
def test_drawing_twice_gives_the_same(number):
    seed = Seed(number)
    assert drawn(seed, 5) == drawn(seed, 5)
    assert seed == Seed(number)


@given(st.integers(min_value=0, max_value=2**64 - 1), st.integers(min_value=1, max_value=1000))
def test_numbers_stay_in_their_range(number, bound):
    seed = Seed(number)
    for _ in range(20):
        drawn_below, seed = seed.below(bound)
        assert 0 <= drawn_below < bound
        fraction, seed = seed.uniform()
        assert 0 <= fraction < 1


def test_numbers_below_a_bound_are_equally_likely():
    seed = Seed(7)
    counts = Counter()
    for _ in range(6000):
        number, seed = seed.below(6)
        counts[number] += 1
    assert set(counts) == set(range(6))
    assert all(880 < count < 1120 for count in counts.values())


def test_nothing_is_below_zero_and_nothing_chosen_from_nothing():
    with pytest.raises(ValueError, match="below 0"):
        Seed(1).below(0)
    with pytest.raises(ValueError, match="below 0"):
        Seed(1).choose([])


def test_every_item_is_chosen_sometimes():
    seed = Seed(3)
    seen = set()
    for _ in range(100):
        item, seed = seed.choose("abc")
        seen.add(item)
    assert seen == set("abc")


def test_every_order_is_shuffled_sometimes_and_keeps_the_items():
    seed = Seed(5)
    seen = Counter()
    for _ in range(600):
        order, seed = seed.shuffle("abc")
        seen["".join(order)] += 1
    assert set(seen) == {"abc", "acb", "bac", "bca", "cab", "cba"}
    assert all(60 < count < 140 for count in seen.values())


def test_split_seeds_draw_different_numbers():
    one, other = Seed(1).split()
    assert not set(drawn(one, 100)) & set(drawn(other, 100))
    assert one.gamma % 2 == other.gamma % 2 == 1


def test_children_differ_by_name_and_by_seed():
    children = [Seed(1).child(name) for name in ("nemesis", "mix", "1", 1, 2)]
    assert len({child.state for child in children}) == 5
    assert Seed(1).child("mix") == Seed(1).child("mix") != Seed(2).child("mix")
    assert all(child.gamma % 2 == 1 for child in children)
