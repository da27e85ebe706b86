"""The fenced mutex against the definition.

Of the generated histories SHARE % are violations (measured over 20,000).
"""

from hypothesis import note

from checker.decide import decide
from checker.specialised.fenced_mutex import FENCED_MUTEX
from tests.checker.crosscheck import crosscheck
from tests.checker.forgetting import assert_witness
from tests.checker.specialised.fenced_definition import acceptable, generate
from tests.checker.specialised.lock_definition import in_words

UNKNOWN = [0, 0]


def is_refused_rightly(table):
    note(in_words(table))
    note(f"tokens: {list(table.field('token'))}")
    decision = decide(FENCED_MUTEX, table)
    note(f"{decision}")
    expected = acceptable(table)
    UNKNOWN[0] += decision.valid == "unknown"
    UNKNOWN[1] += 1
    if decision.valid == "unknown":
        return not expected
    assert decision.valid is expected
    if not expected:
        assert_witness(
            decision, len(table), lambda forgotten: acceptable(table, forgotten), minimal=False
        )
    return not expected


def test_agrees_with_the_definition():
    def agrees(rng):
        return is_refused_rightly(generate(rng, size=rng.randint(4, 8)))

    crosscheck(agrees)
    print(UNKNOWN)
