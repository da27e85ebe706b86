"""Gaps against the definition: every assignment of unknown writes is tried."""

from itertools import permutations

from hypothesis import note

from rumpus.checker.deciders.registers.version_gaps import ANY, unfilled_gap
from rumpus.checker.deciders.values import MISSING
from tests.checker.crosscheck import crosscheck


def can_be_filled(gaps, values, deadlines, lost):
    def fits(gap, value, deadline, write):
        call, wrote, expected = write
        return call <= deadline and value in (ANY, wrote) and expected in (MISSING, gap - 1)

    return any(
        all(map(fits, gaps, values, deadlines, writes)) for writes in permutations(lost, len(gaps))
    )


def test_agrees_with_the_definition():
    def agrees(rng):
        gaps = sorted(rng.sample(range(1, 8), rng.randint(1, 4)))
        values = [rng.choice((ANY, ANY, 0, 1)) for _ in gaps]
        deadlines = sorted(rng.randint(3, 10) for _ in gaps)
        expecting = (MISSING, MISSING, *(gap - 1 for gap in gaps))
        lost = [
            (rng.randint(0, 9), rng.randint(0, 1), rng.choice(expecting))
            for _ in range(rng.randint(len(gaps), len(gaps) + 2))
        ]
        note((gaps, values, deadlines, lost))
        place = unfilled_gap(gaps, values, deadlines, lost)
        assert (place is None) == can_be_filled(gaps, values, deadlines, lost)
        assert place is None or 0 <= place < len(gaps)
        return place is not None

    crosscheck(agrees)
