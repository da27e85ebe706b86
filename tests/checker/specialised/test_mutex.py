from hypothesis import note

from checker.decide import decide
from checker.registry import MODELS
from checker.specialised.holds_table import Nesting
from tests.checker.crosscheck import crosscheck
from tests.checker.forgetting import assert_witness
from tests.checker.specialised.lock_definition import acceptable, generate, in_words

MUTEX = MODELS["mutex"]


def agrees(rng):
    table = generate(rng, size=rng.randint(4, 8), shares=(0.12, 0.06), nests=0.05)
    note(in_words(table))
    decision = decide(MUTEX, table)
    note(f"{decision}")
    expected = acceptable(table, Nesting.NONE, 1)
    if decision.valid == "unknown":
        return not expected
    assert decision.valid is expected
    if not expected:
        assert_witness(
            decision,
            len(table),
            lambda forgotten: acceptable(table, Nesting.NONE, 1, forgotten=forgotten),
            minimal=False,
        )
    return not expected


def test_agrees_with_the_definition():
    crosscheck(agrees)
