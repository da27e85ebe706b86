"""A run on disk that is performed again: the strongest evidence that its files are true.

A checksum beside a file proves nothing against somebody who writes both. But a simulated run is
decided by its seed and its plan, so whoever has the program can repeat it: the same digest means
that everything happened as the files say.
"""

from dataclasses import dataclass
from pathlib import Path

from rumpus.campaigns.trial_task import TrialOutcome, TrialTask, perform
from rumpus.usage_error import UsageError


@dataclass(frozen=True, kw_only=True)
class PerformedAgain:
    """What came of performing a run again.

    Attributes:
        was: what its files show.
        now: what it showed when it was performed again.
    """

    was: TrialOutcome
    now: TrialOutcome

    @property
    def same(self) -> bool:
        """Whether it was the very same run, by its digest."""
        return self.was.digest is not None and self.was.digest == self.now.digest

    @property
    def words(self) -> str:
        """In a line, whether it was the same, and why it may not have been."""
        if self.same:
            return f"performed again: same digest {self.now.digest}"
        other = {
            name: (self.was.versions.get(name, "none"), version)
            for name, version in sorted(self.now.versions.items())
            if self.was.versions.get(name) != version
        }
        why = ", ".join(f"{name} {was} then, {now} now" for name, (was, now) in other.items())
        return (
            f"performed again it was another run: digest {self.now.digest}, and "
            f"{self.was.digest or 'none'} in its files; "
            + (f"its software was another ({why})" if why else "with the same software")
        )


def perform_again(path: Path, was: TrialOutcome) -> PerformedAgain:
    """Perform a simulated run again, with the plan that it had.

    Args:
        path: the run's directory, for errors.
        was: what its files show (``run_cases.judged_again``).

    Raises:
        UsageError: it is none of the simulation, or cannot be performed.
        EnvironmentRefusal: this host does not allow it.
        WorkerCrash: a client's process failed by itself.
    """
    task = TrialTask(settings=was.settings, plan=was.plan)
    if not task.repeatable:
        raise UsageError(
            f"{path}: a run on real servers is decided by more than its seed, so it cannot be "
            "performed again and compared"
        )
    return PerformedAgain(was=was, now=perform(task))
