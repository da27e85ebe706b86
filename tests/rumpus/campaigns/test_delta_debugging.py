from hypothesis import given
from hypothesis import strategies as st

from rumpus.campaigns.delta_debugging import minimise, numbers_below, parts_removed

ITEMS = st.lists(st.integers(0, 30), unique=True, max_size=14)


def contains(wanted):
    return lambda inputs: [wanted <= set(items) for items in inputs]


@given(ITEMS, st.data(), st.integers(1, 5))
def test_what_is_left_is_what_is_needed(items, data, at_once):
    wanted = set(data.draw(st.lists(st.sampled_from(items)))) if items else set()
    found = minimise(tuple(items), [parts_removed], contains(wanted), at_once=at_once)
    assert found == tuple(item for item in items if item in wanted)


@given(ITEMS, st.integers(1, 5), st.integers(2, 7))
def test_the_result_does_not_depend_on_how_many_are_tried_at_once(items, at_once, modulus):
    def fails(inputs):
        return [sum(each) % modulus == sum(items) % modulus for each in inputs]

    together = minimise(tuple(items), [parts_removed], fails, at_once=at_once)
    assert together == minimise(tuple(items), [parts_removed], fails)
    assert fails([together]) == [True]


@given(st.integers(0, 400), st.integers(0, 400))
def test_a_number_becomes_the_least_that_fails(number, enough):
    def smaller(tenths):
        return [round(each * 10) for each in numbers_below(tenths / 10, 0.0, step=0.1)]

    least = min(number, enough)
    found = minimise(number, [smaller], lambda inputs: [each >= least for each in inputs])
    assert found == least


@given(st.floats(0, 100), st.floats(0, 100), st.sampled_from([0.1, 0.5, 1.0]))
def test_all_numbers_tried_are_smaller(number, least, step):
    tried = list(numbers_below(number, least, step=step))
    assert all(least <= each < number for each in tried)
    assert len(tried) <= 14


def test_nothing_is_tried_once_the_time_is_over():
    tried = []

    def fails(inputs):
        tried.extend(inputs)
        return [True] * len(inputs)

    assert minimise((1, 2, 3), [parts_removed], fails, over=lambda: bool(tried)) == ()
    assert tried == [()]


def test_the_first_of_those_tried_at_once_is_taken():
    assert minimise(9, [lambda n: [n - 3, n - 1]], lambda i: [n >= 5 for n in i], at_once=2) == 5


def test_what_was_tried_in_vain_is_not_tried_again_and_uses_up_no_tries():
    tried = []

    def fails(inputs):
        tried.extend(inputs)
        return [each in (8, 7) for each in inputs]

    def below(number):
        return [3, 5, number - 1]

    assert minimise(9, [below], fails, tries=5) == 7
    assert tried == [3, 5, 8, 7, 6]


def test_equal_inputs_are_those_with_one_key():
    tried = []

    def fails(inputs):
        tried.extend(inputs)
        return [False for _ in inputs]

    minimise([9], [lambda _: [[3], [3], [4]]], fails, key=tuple)
    assert tried == [[3], [4]]
