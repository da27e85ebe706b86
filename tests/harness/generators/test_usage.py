from itertools import pairwise

import pytest

from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.usage import (
    USUAL,
    Usage,
    draw_usage,
    parse_usage,
    usage_words,
)

DRAWN = [draw_usage(Seed(number), 2.0) for number in range(300)]


def test_what_is_drawn_can_be_written_and_read_again():
    assert all(parse_usage(usage_words(usage)) == usage for usage in DRAWN)
    assert usage_words(USUAL) == ""
    assert usage_words(Usage(objects=2, fresh=True, think=0.5)) == "think=0.5,objects=2,fresh=true"


def test_each_part_is_drawn_in_some_runs_and_left_out_in_most():
    for field in set(Usage.__struct_fields__) - {"auths"}:
        unusual = sum(getattr(usage, field) != getattr(USUAL, field) for usage in DRAWN)
        assert 0.1 * len(DRAWN) < unusual < 0.5 * len(DRAWN), field


def test_a_seed_decides_the_usage():
    assert draw_usage(Seed(5), 2.0) == draw_usage(Seed(5), 2.0)
    assert len({usage_words(usage) for usage in DRAWN}) > 200


def test_patience_is_measured_in_sessions():
    assert max(draw_usage(Seed(number), 1.0).patience for number in range(300)) == 4.0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("hurry=1", "unknown usage 'hurry'; there are think, burst, "),
        ("fresh", "fresh has no value; write fresh=VALUE"),
        ("objects=0", "objects: Expected `int` >= 1"),
        ("objects=many", "objects: 'many' is not a whole number"),
        ("tries=2", "tries: Expected `float` <= 1"),
    ],
)
def test_what_is_wrong_is_named(text, why):
    with pytest.raises(ValueError, match=why):
        parse_usage(text)


def test_names_are_prefixes_of_each_other():
    names = [Usage(prefixes=True).name(client) for client in range(4)]
    assert len(set(names)) == 4
    assert all(later.startswith(name) for name, later in pairwise(names))
    assert USUAL.name(3) == "c3"
