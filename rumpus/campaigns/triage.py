"""Which flaw a failure comes of: found by changes of a library, each of which mends one flaw.

A failure's kind, operations and faults are signs of its cause, and not more: one flaw shows in
several ways, and two flaws may look alike. Changes tell them apart. But a single one is not enough:
where two flaws look alike, the failure stays whichever of the two is mended. So a failure has a
cause if it is gone with all changes, and there again **with all changes but one**: then the flaw
that is left suffices for it. If several suffice, those without which it is gone come first.

Any change of a program makes other runs of the same seed. So one run that does not show the failure
proves nothing, and runs of further seeds follow; one that shows it does. That a failure is gone is
said once chance alone would give such counts once in a hundred times (Fisher's exact test,
one-sided; R. A. Fisher, The Design of Experiments, 1935). A change whose run has the digest of the
unchanged one was not reached, and cannot be the one whose flaw was seen in that run.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import Final, Literal, NamedTuple

import msgspec

from rumpus.results.traits import Traits

CHANCE: Final = 0.01
"""What chance alone may explain with this probability is no evidence."""

SEEDS: Final = 5
MOST_SEEDS: Final = 40
"""How many seeds of one selection of changes are tried, and at most until one shows the failure."""


class Ran(NamedTuple):
    """A run of a case.

    Attributes:
        shown: whether it showed the case's failure; None if that cannot be told.
        digest: of the run; None if it was not simulated.
        error: why it could not be performed; empty if it was.
        exit_code: what ``rumpus run`` would have exited with because of that; 0 without an error.
        traits: the signs of the failure's cause; None if it was not shown.
    """

    shown: bool | None
    digest: str | None = None
    error: str = ""
    exit_code: int = 0
    traits: Traits | None = None


State = Literal["known", "stays", "rare", "not reproduced", "unknown", "unperformed", "untried"]


Changes = tuple[str, ...]
"""Names of changes that are made together."""


class Wanted(NamedTuple):
    """A run that is wanted: with these changes, and how many seeds after that of the case."""

    changes: Changes
    further: int


Perform = Callable[[Sequence[Wanted]], Sequence[Ran]]
"""Performs runs of one case, in any order, and returns them in the order of what was wanted."""


class Counted(msgspec.Struct, frozen=True):
    """Runs that could be judged, and how many of them showed the failure."""

    shown: int
    runs: int

    def __str__(self) -> str:
        """Such as ``7 of 8 runs``."""
        return f"{self.shown} of {self.runs} runs"


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """A flaw that suffices for a failure, by the change that mends it.

    Attributes:
        change: its name.
        alone: runs with all other changes.
        mended: runs with this change only.
        unchanged: runs without any.
    """

    change: str
    alone: Counted
    mended: Counted
    unchanged: Counted

    @property
    def needed(self) -> bool:
        """Whether the failure is gone without it."""
        return chance(self.mended, self.unchanged) <= CHANCE

    def __str__(self) -> str:
        """The counts in words."""
        return (
            f"with all changes but {self.change} {self.alone} show it; with that change alone "
            f"{self.mended}, without any {self.unchanged}"
        )


@dataclass(frozen=True, kw_only=True)
class Traced:
    """What is known of a failure's cause.

    Attributes:
        state: ``known``; ``stays``, if it is there with all changes; ``rare``, if runs with all
            changes but one do not show it, whichever that is; ``untried``, if no change could be
            tried. Of the case's own run: ``not reproduced``, if it does not show it; ``unknown``,
            if it cannot be judged; ``unperformed``, if it cannot be performed.
        causes: the flaws that suffice, the likeliest first.
        errors: changes with which the case could not be performed -> why.
        own: why the case's own run could not be performed; empty if it was.
        exit_code: because of that; else 0.
        runs: how many runs that took.
        traits: the signs of its cause, in the case's own run.
    """

    state: State
    causes: Sequence[Cause] = ()
    errors: Mapping[str, str] = field(default_factory=dict)
    own: str = ""
    exit_code: int = 0
    runs: int = 0
    traits: Traits | None = None


def chance(changed: Counted, unchanged: Counted) -> float:
    """How likely so few runs with a change show a failure if the change does nothing to it."""
    runs, shown = changed.runs + unchanged.runs, changed.shown + unchanged.shown
    ways = sum(
        comb(changed.runs, few) * comb(unchanged.runs, shown - few)
        for few in range(min(changed.shown, shown) + 1)
    )
    return ways / comb(runs, shown)


def trace(changes: Sequence[str], perform: Perform) -> Traced:
    """Find the flaws that suffice for a failure.

    Args:
        changes: by their names; each should mend one flaw.
        perform: performs runs of the failure's case.
    """
    return _Tracing(tuple(changes), perform).trace()


class _Tracing:
    """The runs of one case."""

    def __init__(self, changes: Changes, perform: Perform) -> None:
        self._changes = changes
        self._perform = perform
        self._runs: dict[Changes, list[Ran]] = {}

    def trace(self) -> Traced:
        """Look at the case's own run, then at the changes that are reached, then at all but one."""
        singles = [(change,) for change in self._changes]
        self._extend([(), *singles], 1)
        (own,) = self._runs[()]
        if own.error:
            return self._traced("unperformed")
        if not own.shown:
            return self._traced("unknown" if own.shown is None else "not reproduced")
        tried = [each for each in self._changes if not self._runs[each,][0].error]
        if not tried:
            return self._traced("untried")
        reached = [
            each
            for each in tried
            if own.digest is None or self._runs[each,][0].digest != own.digest
        ]
        if not reached or self._shown([tuple(tried)], SEEDS):
            return self._traced("stays")
        but = {tuple(each for each in tried if each != left): left for left in reached}
        alone = self._until_shown(list(but))
        if not alone:
            return self._traced("rare")
        lefts = [but[each] for each in alone]
        self._extend([(), *((left,) for left in lefts)], SEEDS)
        causes = [
            Cause(
                change=left,
                alone=self._counted(others),
                mended=self._counted((left,)),
                unchanged=self._counted(()),
            )
            for others, left in but.items()
            if others in alone
        ]
        causes.sort(key=lambda each: (not each.needed, -each.alone.shown / each.alone.runs))
        return self._traced("known", causes)

    def _traced(self, state: State, causes: Sequence[Cause] = ()) -> Traced:
        own = self._runs[()][0]
        firsts = {each: self._runs[each,][0] for each in self._changes}
        return Traced(
            state=state,
            causes=causes,
            errors={each: ran.error for each, ran in firsts.items() if ran.error},
            own=own.error,
            exit_code=own.exit_code,
            runs=sum(map(len, self._runs.values())),
            traits=own.traits,
        )

    def _until_shown(self, selections: Sequence[Changes]) -> list[Changes]:
        """The selections of which a run shows the failure; all get as many seeds as that needs."""
        seeds = SEEDS
        while not (shown := self._shown(selections, seeds)) and seeds < MOST_SEEDS:
            seeds *= 2
        return shown

    def _shown(self, selections: Sequence[Changes], seeds: int) -> list[Changes]:
        """The selections of which one of so many runs shows the failure."""
        self._extend(selections, seeds)
        return [each for each in selections if self._counted(each).shown]

    def _extend(self, selections: Sequence[Changes], seeds: int) -> None:
        wanted = [
            Wanted(changes, further)
            for changes in selections
            for further in range(len(self._runs.get(changes, ())), seeds)
        ]
        for each, ran in zip(wanted, self._perform(wanted), strict=True):
            self._runs.setdefault(each.changes, []).append(ran)

    def _counted(self, changes: Changes) -> Counted:
        told = [ran.shown for ran in self._runs[changes] if ran.shown is not None]
        return Counted(sum(told), len(told))
