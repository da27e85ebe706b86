"""How often each subject broke a promise, over all the nights that the store remembers.

What real servers show once in a hundred runs, a night of ten runs neither shows nor rules out. The
nights together do.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from rumpus.nights.memory.evidence import wilson
from rumpus.nights.memory.store_rows import NOT_PERFORMED, Tally
from rumpus.nights.records import RunRow


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """How often a subject broke a promise.

    Attributes:
        subject: its ``key``.
        runs: how many runs were performed.
        decided: how many of them were judged valid or a violation. In the others no promise was
            seen broken, but too little happened for that to mean much.
        violations: how many were a violation.
        low: the lower end of Wilson's interval of 95 % of violations among all runs, a share.
        high: its upper end.
        kinds: anomaly -> runs that broke a promise by it, of those whose rows are kept; with who
            is to blame, if it is not the recipe.
    """

    subject: str
    runs: int
    decided: int
    violations: int
    low: float
    high: float
    kinds: dict[str, int]


def rates_of(
    tallies: Iterable[Tally], runs: Iterable[RunRow], kinds: Mapping[str, str]
) -> list[Rate]:
    """The rate of each subject, in the order of their keys.

    Args:
        tallies: what came of all runs. Only those of the role ``run`` count: cases are kept because
            they fail, and canaries have a mistake.
        runs: the rows that are kept.
        kinds: identifier of a failure -> its anomaly, and who is to blame.
    """
    outcomes: dict[str, Counter[str]] = {}
    for tally in tallies:
        if tally.role == "run":
            outcomes.setdefault(tally.subject, Counter()).update(tally.outcomes)
    shown: dict[str, Counter[str]] = {}
    for run in runs:
        if run.role == "run":
            broken = {kinds[each] for each in run.failures if each in kinds}
            shown.setdefault(run.subject, Counter()).update(broken)
    found = []
    for subject, counts in sorted(outcomes.items()):
        violations = counts["violation"]
        performed = counts.total() - counts[NOT_PERFORMED]
        share = wilson(violations, performed)
        found.append(
            Rate(
                subject=subject,
                runs=performed,
                decided=counts["valid"] + violations,
                violations=violations,
                low=share.low,
                high=share.high,
                kinds=dict(sorted(shown.get(subject, Counter()).items())),
            )
        )
    return found
