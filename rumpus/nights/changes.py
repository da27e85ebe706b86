"""What a change touches, and whether what fails with it fails without it, too."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from rumpus.campaigns.case import Case
from rumpus.campaigns.commit_replays import Repository
from rumpus.nights.kept_cases import Kept
from rumpus.nights.planning import NightPlan
from rumpus.nights.subjects import OnTrial
from rumpus.usage_error import UsageError

BASES: Final = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
"""What a change is compared with if nobody says it: the first of these that exists."""

EVERYTHING: Final = frozenset({"pyproject.toml", "requirements.txt", "setup.py", "setup.cfg"})
"""Files whose change touches all that is on trial."""

SEEDS: Final = 5
"""How many runs of a failure's plan are tried without the change, each with another seed."""


class Change:
    """What has changed since a commit, committed or not.

    Args:
        directory: of the project, in a Git repository.
        base: the commit; None: one of ``BASES``. What came after the change has begun on that
            side does not count.

    Attributes:
        base: the commit on which the change is based, abbreviated.
        files: those that differ.

    Raises:
        UsageError: there is no repository, or no such commit.
    """

    def __init__(self, directory: Path, base: str | None) -> None:
        self._repository = Repository(directory)
        named = base or next((each for each in BASES if self._repository.has(each)), None)
        if named is None:
            raise UsageError(
                f"--changed: none of {', '.join(BASES)} is here: name the commit with --base"
            )
        self.base = self._repository.fork_of(named)
        self.files = self._repository.changed_since(self.base)

    def of(self, plan: NightPlan, file: Path) -> NightPlan:
        """The part of a plan that the change touches.

        Args:
            plan: all that there is.
            file: the night's; its change touches everything, too.
        """
        plan = replace(plan, commands=(), reserved=0.0, left_out=())
        if any(map(self._touches_all, self.files)) or file.resolve() in self.files:
            return plan
        subjects = [on for on in plan.subjects if self._touches(on)]
        names = {(on.settings.workload, on.settings.recipe) for on in subjects}
        cases = [kept for kept in plan.cases if _of(kept, names) or self._has(kept.path)]
        refused = [
            (kept, why) for kept, why in plan.refused if _of(kept, names) or self._has(kept.path)
        ]
        plan = replace(plan, subjects=subjects, cases=cases, refused=refused)
        if subjects or cases or refused:
            return plan
        idle = f"nothing that is on trial has changed since {self.base}"
        return replace(plan, canaries=[], idle=idle)

    def without(
        self, cases: Sequence[tuple[str, Case]], jobs: int, seconds: float | None = None
    ) -> frozenset[str]:
        """The names of those cases whose failure is there without the change, too.

        Args:
            cases: names and cases. Each is performed with its seed, and with others: the change
                may have made another run of it.
            jobs: how many runs at once.
            seconds: after so long a run is ended.

        Raises:
            UsageError: Git cannot check the commit out.
        """
        tried = [(name, each) for name, case in cases for each in _seeded(case)]
        if not tried:
            return frozenset()
        told = self._repository.replay(
            self.base, [case for _, case in tried], jobs=jobs, seconds=seconds
        )
        return frozenset(
            name
            for (name, case), ran in zip(tried, told, strict=False)
            if ran.reproduced is True or (ran.anomaly or "").startswith(case.expects.kind)
        )

    def _touches_all(self, path: Path) -> bool:
        """Whether a file's change touches everything; of a removed module nobody knows."""
        return path.name in EVERYTHING or (path.suffix == ".py" and not path.exists())

    def _touches(self, on: OnTrial) -> bool:
        return any(self._has(path) for path in on.files)

    def _has(self, path: Path) -> bool:
        return path.resolve() in self.files


def _of(kept: Kept, names: set[tuple[str, str | None]]) -> bool:
    settings = kept.case.task().settings
    return (settings.workload, settings.recipe) in names


def _seeded(case: Case) -> list[Case]:
    """The case, and the same plan with other seeds."""
    others = [seed for seed in range(SEEDS) if seed != case.seed][: SEEDS - 1]
    return [case, *(msgspec.structs.replace(case, seed=seed) for seed in others)]
