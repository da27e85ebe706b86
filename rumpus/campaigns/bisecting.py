"""Finds the version with which a failure came or went, by performing its case with each version.

A version shows the failure, does not show it, or cannot tell: another failure hides it, or its runs
cannot be performed or judged. What a version that cannot tell would have shown is never guessed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from rumpus.campaigns.replaying import Reproduced

FEW: Final = 8
"""So many versions are all tried; of more, only as many as a binary search needs."""

Verdict = Literal["reproduced", "not reproduced", "another anomaly", "unknown", "cannot run"]


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A run of the case with a version.

    Attributes:
        reproduced: whether it showed the case's anomaly.
        anomaly: the anomaly that it showed: the case's, or else another broken promise.
        error: why it could not be performed; empty if it was.
        exit_code: what ``rumpus run`` would have exited with because of that error; 0 without one.
    """

    reproduced: Reproduced
    anomaly: str | None = None
    error: str = ""
    exit_code: int = 0


@dataclass(frozen=True, kw_only=True)
class Showed:
    """What a version showed.

    Attributes:
        version: its name.
        runs: the runs of the case with it.
    """

    version: str
    runs: Sequence[Ran]

    @property
    def verdict(self) -> Verdict:
        """One run that shows the failure is enough, else one that shows nothing.

        Another anomaly hides the failure only if no run was without one.
        """
        if any(run.reproduced is True for run in self.runs):
            return "reproduced"
        if any(run.reproduced is False and run.anomaly is None for run in self.runs):
            return "not reproduced"
        if any(run.anomaly is not None for run in self.runs):
            return "another anomaly"
        return "unknown" if any(not run.error for run in self.runs) else "cannot run"

    @property
    def is_there(self) -> bool | None:
        """Whether the failure is in this version; None if nobody can tell."""
        return {"reproduced": True, "not reproduced": False}.get(self.verdict)

    def __str__(self) -> str:
        """The verdict, with the number of runs, the other anomaly or the error."""
        if self.verdict == "not reproduced":
            return f"not reproduced in {len(self.runs)} run{'s' * (len(self.runs) != 1)}"
        if self.verdict == "another anomaly":
            return f"another anomaly: {next(run.anomaly for run in self.runs if run.anomaly)}"
        if self.verdict == "cannot run":
            return f"cannot run: {next((run.error for run in self.runs), 'no run')}"
        return self.verdict


@dataclass(frozen=True, kw_only=True)
class Change:
    """Two versions that differ: one shows the failure, the other does not.

    Attributes:
        came: whether the failure came; else it went.
        before: the last version before the change.
        after: the first version after it.
        between: versions between them that cannot tell.
    """

    came: bool
    before: str
    after: str
    between: Sequence[Showed] = ()

    def __str__(self) -> str:
        """Such as ``it came with 2.7.0``."""
        what = "came" if self.came else "went"
        if not self.between:
            return f"it {what} with {self.after}"
        hidden = [each.version for each in self.between if each.verdict == "another anomaly"]
        broken = [each.version for each in self.between if each.version not in hidden]
        reasons = []
        if hidden:
            reasons.append(f"another failure hides it in {', '.join(hidden)}")
        if broken:
            reasons.append(f"nothing can be told of {', '.join(broken)}")
        return (
            f"it {what} after {self.before} and with {self.after} at the latest; "
            f"cannot tell between them: {'; '.join(reasons)}"
        )


@dataclass(frozen=True, kw_only=True)
class Bisection:
    """What became of a bisection.

    Attributes:
        showed: the versions that were tried, in order of versions.
        untried: how many versions were not.
    """

    showed: Sequence[Showed]
    untried: int = 0

    @property
    def changes(self) -> Sequence[Change]:
        """Where the failure came or went, in order of versions."""
        found: list[Change] = []
        last: Showed | None = None
        between: list[Showed] = []
        for each in self.showed:
            if each.is_there is None:
                between.append(each)
                continue
            if last is not None and last.is_there != each.is_there:
                found.append(
                    Change(
                        came=each.is_there,
                        before=last.version,
                        after=each.version,
                        between=tuple(between),
                    )
                )
            last, between = each, []
        return found

    @property
    def answer(self) -> Sequence[str]:
        """What has been found out, line by line."""
        if changes := self.changes:
            return [str(change) for change in changes]
        telling = [each for each in self.showed if each.is_there is not None]
        if not telling:
            return ["cannot tell: no version showed whether the failure is there"]
        where = "in" if telling[0].is_there else "not in"
        names = ", ".join(each.version for each in telling)
        hidden = len(self.showed) - len(telling)
        rest = f"; {hidden} of the others cannot tell" if hidden else ""
        untried = f"; {self.untried} between them were not tried" if self.untried else ""
        return [f"it is {where} {names}{rest}{untried}"]


def bisect(
    versions: Sequence[str],
    show: Callable[[str], Iterable[Ran]],
    *,
    few: int = FEW,
    notify: Callable[[Showed], None] = lambda _: None,
) -> Bisection:
    """Try versions until it is known with which the failure came or went.

    Up to ``few`` versions are all tried. Of more, the first and the last are tried; if these
    differ, there is a binary search between them. A version that cannot tell is passed over, and
    its neighbours are tried.

    Args:
        versions: in their order.
        show: performs the case with a version, as often as is needed.
        few: how many versions are all tried.
        notify: called with what each version showed.
    """
    search = _Bisecting(versions, show, notify)
    if len(versions) <= few:
        for number in range(len(versions)):
            search.try_version(number)
    else:
        search.halve()
    return Bisection(
        showed=[search.showed[number] for number in sorted(search.showed)],
        untried=len(versions) - len(search.showed),
    )


@dataclass
class _Bisecting:
    """The state of a bisection: what the versions tried so far showed, by their number."""

    versions: Sequence[str]
    show: Callable[[str], Iterable[Ran]]
    notify: Callable[[Showed], None]
    showed: dict[int, Showed] = field(default_factory=dict)

    def try_version(self, number: int) -> bool | None:
        """Whether the failure is in a version; None if nobody can tell."""
        if number not in self.showed:
            version = self.versions[number]
            self.showed[number] = Showed(version=version, runs=tuple(self.show(version)))
            self.notify(self.showed[number])
        return self.showed[number].is_there

    def halve(self) -> None:
        """Find two versions that differ, with none between them that can tell."""
        low = self._first_telling(range(len(self.versions)))
        high = self._first_telling(range(len(self.versions) - 1, -1, -1))
        if low is None or high is None or self._there(low) == self._there(high):
            return
        while (middle := self._telling_between(low, high)) is not None:
            if self._there(middle) == self._there(low):
                low = middle
            else:
                high = middle

    def _there(self, number: int) -> bool | None:
        return self.showed[number].is_there

    def _first_telling(self, numbers: Iterable[int]) -> int | None:
        return next((each for each in numbers if self.try_version(each) is not None), None)

    def _telling_between(self, low: int, high: int) -> int | None:
        """The version nearest to the middle of two that can tell; None if there is none."""
        middle = (low + high) / 2
        nearest = sorted(range(low + 1, high), key=lambda number: (abs(number - middle), number))
        return self._first_telling(nearest)
