"""Many generated histories against a definition: a hundred normally, 20,000 in a full run.

A decider's test gives a property of a `random.Random`: it generates a history, asserts that the
decider and the definition agree, and says whether the history was a violation::

    def agrees(rng):
        acts = generate(rng)
        note(acts)                       # hypothesis.note: shown with a failure
        ...
        assert decision.valid is expected
        return not expected

    def test_agrees_with_the_definition():
        crosscheck(agrees)

The seeds follow from the test's name, so that the shares are the generator's own, and the same in
each run.
If one fails, Hypothesis draws the generator's choices too, and shrinks them. ``make test-full``
sets ``RUMPUS_FULL_CHECKS`` to the number of histories for each property.
"""

import os
from collections.abc import Callable
from random import Random
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from rumpus.checker.deciders.decision import Decision

History = TypeVar("History")

NORMALLY = 100
TUNED = (0.3, 0.7)
"""Between which shares of violations a generator is tuned."""


def examples(normally: int = NORMALLY) -> int:
    """How many histories a property is tried on."""
    return int(os.environ.get("RUMPUS_FULL_CHECKS", "0")) or normally


def crosscheck(
    agrees: Callable[[Random], bool],
    *,
    share: tuple[float, float] = TUNED,
    normally: int = NORMALLY,
) -> float:
    """Try a property on many generated histories.

    Args:
        agrees: raises if something is wrong, and returns whether the history was a violation.
        share: between which bounds the share of violations must lie; ``(0, 0)`` where the
            histories are valid by construction.
        normally: how many histories in the normal suite.

    Returns:
        The share of violations.

    Raises:
        AssertionError: the property failed (Hypothesis notes the seed, and a shrunk history
            where it finds one), or the share of violations is out of bounds.
    """
    violations: list[bool] = []
    total = examples(normally)
    checks = settings(
        max_examples=total,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )

    # Of integers Hypothesis likes those that occur in modules which are loaded, so that other tests
    # would choose the seeds.
    source = Random(f"a {agrees.__module__}.{agrees.__qualname__}")
    seeds = [source.getrandbits(63) for _ in range(total)]

    @settings(checks, phases=[Phase.generate])
    @given(st.sampled_from(seeds))
    def by_seed(seed: int) -> None:
        violations.append(agrees(Random(seed)))

    @settings(checks, phases=[Phase.generate, Phase.shrink])
    @given(st.randoms(use_true_random=False))
    def by_choices(rng: Random) -> None:
        agrees(rng)

    try:
        by_seed()
    except Exception:
        by_choices()
        raise
    assert len(violations) >= total, f"only {len(violations)} of {total} histories were tried"
    measured = sum(violations) / len(violations)
    low, high = share
    print(f"{measured:.1%} of {len(violations)} histories are violations")
    assert low <= measured <= high, f"{measured:.1%} violations, and not {low:.0%} to {high:.0%}"
    return measured


def stay_valid(generate: Callable[[Random], History], judge: Callable[[History], Decision]) -> None:
    """Try that histories which are orderly by construction are accepted."""

    def accepted(rng: Random) -> bool:
        history = generate(rng)
        note(f"{history}")
        assert judge(history).valid is True
        return False

    crosscheck(accepted, share=(0, 0))


def corrupted(
    rng: Random, history: History, corrupt: Callable[[Random, History], None], times: int = 1
) -> History:
    """The history, in which so many things have been changed."""
    for _ in range(times):
        corrupt(rng, history)
    return history
