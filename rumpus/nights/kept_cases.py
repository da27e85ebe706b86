"""Cases in a night: failures that must not come back, and some that must still be shown."""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, Literal, NamedTuple

from rumpus.campaigns.case import Case, load_case
from rumpus.campaigns.lifting import LiftedRun
from rumpus.campaigns.replaying import ENDING, case_name, judge_replay, replay_task
from rumpus.campaigns.reproducing import runs_around
from rumpus.campaigns.tasks import Attempt
from rumpus.campaigns.trial_task import Seen, TrialTask
from rumpus.checker.untrusted_file import files_below
from rumpus.nights.pieces import Piece
from rumpus.results.escapes import in_shell
from rumpus.results.store_error import UnreadableRun
from rumpus.trust import refusal
from rumpus.usage_error import UsageError

AROUND: Final = 30
"""How many runs near a case's plan are tried, if it does not show its failure any more."""

State = Literal["shown", "mended", "regression", "stale", "undecided", "unperformed"]
"""What a case is found to be.

``shown``: it shows a failure that it is known to show. ``mended``: its failure is not there, as it
should be. ``regression``: its failure is there, or another one, and should not. ``stale``: it is to
show a failure and does not. ``undecided``: nobody can say. ``unperformed``: it could not be run.
"""


class Kept(NamedTuple):
    """A case of a file.

    Attributes:
        name: by which people know it: its path without the ending.
        path: its file.
        case: what it says.
    """

    name: str
    path: Path
    case: Case

    @property
    def to_show(self) -> bool:
        """Whether it is to show its failure; else that is mended, and must not come back."""
        return self.case.known or self.case.mutant or self.case.finding is not None

    def piece(self) -> Piece:
        """Its run."""
        return self._piece(replay_task(self.case), "case")

    def near(self) -> Iterator[Piece]:
        """Runs that are like it, the most promising ones first."""
        return (
            self._piece(task, "near") for task in islice(runs_around(self._lifted()), 1, AROUND)
        )

    def judged(self, attempt: Attempt) -> tuple[State, str]:
        """What its run says, and why in words; empty if all is as it should be."""
        if attempt.outcome is None:
            return "unperformed", attempt.error
        told = judge_replay(self.name, self.case, attempt.outcome)
        if told.reproduced is True:
            if self.to_show:
                return "shown", ""
            return "regression", f"{self.case.expects} is there"
        if told.reproduced == "unknown":
            return "undecided", "; ".join(told.reasons[:1])
        if self.to_show:
            return "stale", told.verdict + (", the same run" if told.same else "")
        return ("regression", told.verdict) if told.anomaly else ("mended", "")

    def found_in(self, attempt: Attempt) -> Seen | None:
        """Its failure in a run that is like it; None if it is not there."""
        if attempt.outcome is None:
            return None
        seen = attempt.outcome.find(self.case.expects, promised=self.case.promised)
        return seen if seen and seen.fingerprint.resembles(self.case.expects) else None

    def _piece(self, task: TrialTask, kind: str) -> Piece:
        settings = task.settings
        return Piece(
            role="case",
            subject=f"{settings.workload} / {settings.recipe}",
            world="sim" if settings.ensemble == "sim" else "docker",
            task=task,
            kind=kind,
            seed=settings.seed or 0,
            name=self.name,
        )

    def _lifted(self) -> LiftedRun:
        task = self.case.task()
        seen = Seen(
            fingerprint=self.case.expects, promised=self.case.promised, story=self.case.story
        )
        return LiftedRun(
            settings=task.settings,
            plan=self.case.plan,
            seen=seen,
            moment=task.settings.time_limit,
            ensemble="sim",
        )


def allowed_cases(
    cases: Sequence[Kept], named: Collection[str]
) -> tuple[list[Kept], list[tuple[Kept, str]]]:
    """The cases that may be performed; and those whose code nobody has trusted, with why.

    Args:
        cases: of files that may come from anybody.
        named: places of code that the night's file names (``trust.places_of``).

    Raises:
        UsageError: the file that keeps the trusted places is malformed.
    """
    told = [
        (
            kept,
            refusal(
                kept.path,
                kept.case.task().settings,
                named=named,
                remedy=f"say it once: {in_shell(['rumpus', 'replay', kept.path, '--trust'])}",
            ),
        )
        for kept in cases
    ]
    return [kept for kept, why in told if not why], [(kept, why) for kept, why in told if why]


def kept_cases(places: Sequence[Path]) -> tuple[list[Kept], list[str]]:
    """The cases of files and directories, in order of names; and what is wrong with others.

    A place that does not exist has none.
    """
    found: dict[str, Kept] = {}
    wrong: list[str] = []
    for place in places:
        files = [place] if place.is_file() else files_below(place, ENDING)
        for path in files:
            try:
                case = load_case(path)
            except (UsageError, UnreadableRun) as error:
                wrong.append(str(error))
                continue
            name = case_name(path, place) if place.is_dir() else case_name(path)
            found.setdefault(name, Kept(name, path, case))
    return list(found.values()), wrong
