"""A witness is held against its definition: the rows contradict each other, and all are needed."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet

from rumpus.checker.deciders.decision import Decision

Acceptable = Callable[[AbstractSet[int]], bool]
"""Whether a history is acceptable if some of its rows are forgotten."""


def assert_witness(
    decision: Decision, size: int, acceptable: Acceptable, *, minimal: bool = True
) -> None:
    """Check a refusal's witness by the brute force.

    Args:
        decision: a refusal.
        size: how many rows the history has.
        acceptable: whether a history is acceptable if some of its rows are forgotten.
        minimal: whether the witness must claim to be minimal.
    """
    assert decision.valid is False
    witness = decision.witness
    assert witness is not None
    assert witness.operations == sorted(set(witness.operations))
    assert witness.description
    others = frozenset(range(size)).difference(witness.operations)
    assert not acceptable(others), f"{witness} is no contradiction"
    assert witness.minimal or not minimal
    if witness.minimal:
        for row in witness.operations:
            assert acceptable(others | {row}), f"{witness} does not need row {row}"


def refuses_rightly(
    decision: Decision, size: int, acceptable: Acceptable, *, minimal: bool = True
) -> bool:
    """Whether a decision refuses its history, as it must where that is not acceptable.

    Arguments as for ``assert_witness``.
    """
    expected = acceptable(frozenset())
    assert decision.valid is expected
    if not expected:
        assert_witness(decision, size, acceptable, minimal=minimal)
    return not expected
