"""A run on disk that is performed again: the strongest evidence that its files are true.

A checksum beside a file proves nothing against somebody who writes both. But a simulated run is
decided by its seed and its plan, so whoever has the program can repeat it. The same digest means
that it is the run that ``test.json`` names, and the same history and verdict that the other files
are that run's: the digest is only a word in ``test.json``, and stays when they are changed.
"""

from dataclasses import dataclass
from itertools import zip_longest
from operator import attrgetter
from pathlib import Path

import msgspec

from rumpus.campaigns.trial_task import TrialOutcome, TrialTask, outcome_of
from rumpus.checker.history import History, Op
from rumpus.harness.run_limits import RUN_S, for_seconds
from rumpus.results.run_directory import RunDirectory
from rumpus.runs.judged_run import judged_run
from rumpus.usage_error import UsageError

_INDEX = attrgetter("index")
_OF_THE_PROGRAM = ("at", "code")
"""Fields of sessions' records that a change of the recipe's text alone makes others."""


@dataclass(frozen=True, kw_only=True)
class PerformedAgain:
    """What came of performing a run again.

    Attributes:
        was: what its files show.
        now: what it showed when it was performed again.
        differing: the index of the first record of the history that is another in its files; None
            if all are the same.
    """

    was: TrialOutcome
    now: TrialOutcome
    differing: int | None

    @property
    def same_digest(self) -> bool:
        """Whether it was the run that ``test.json`` names."""
        return self.was.digest is not None and self.was.digest == self.now.digest

    @property
    def same(self) -> bool:
        """Whether it was that run, and what decides a verdict in its files is that run's."""
        decided = self.was.outcome != "unknown" or self.now.outcome == "violation"
        return (
            self.same_digest
            and self.differing is None
            and not (decided and self.was.outcome != self.now.outcome)
        )

    @property
    def words(self) -> str:
        """In a line, whether it was the same, and why it may not have been."""
        if self.same:
            return f"performed again: same digest {self.now.digest}"
        if self.same_digest and self.differing is not None:
            return (
                f"performed again it had the same digest, but another record {self.differing} of "
                "its history: somebody has changed its files"
            )
        if self.same_digest:
            return (
                f"performed again it had the same digest, but was {self.now.outcome}, and "
                f"{self.was.outcome} by its files: somebody has changed them"
            )
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


def perform_again(path: Path, was: TrialOutcome, seconds: float = RUN_S) -> PerformedAgain:
    """Perform a simulated run again, with the plan that it had.

    Args:
        path: the run's directory, for errors.
        was: what its files show (``run_cases.judged_again``).
        seconds: of processor time that it may take.

    Raises:
        UsageError: it is none of the simulation, or cannot be performed.
        UnreadableRun: its history is malformed.
        EnvironmentRefusal: this host does not allow it.
        WorkerCrash: a client's process failed by itself.
        RunTooLong: it takes longer.
    """
    task = TrialTask(settings=was.settings, plan=was.plan)
    if not task.repeatable:
        raise UsageError(
            f"{path}: a run on real servers is decided by more than its seed, so it cannot be "
            "performed again and compared"
        )
    directory = RunDirectory(path)
    directed = directory.read_record().options.get("directed") is True
    with (
        for_seconds(seconds),
        judged_run(task.settings, lambda _: None, plan=task.plan, directed=directed) as judged,
    ):
        return PerformedAgain(
            was=was,
            now=outcome_of(judged.judgement, task.settings),
            differing=_differing(directory.read_history(), judged.directory.read_history()),
        )


def _differing(was: History, now: History) -> int | None:
    """The index of the first record that is another; None if there is none."""
    for one, other in zip_longest(sorted(was, key=_INDEX), sorted(now, key=_INDEX)):
        if one is None or other is None or _event(one) != _event(other):
            found = other or one
            assert found is not None, "one of the two is there"
            return found.index
    return None


def _event(op: Op) -> Op | None:
    """What happened by a record; None if it is about the run: what was asked for, and counts."""
    if op.process == "control" and op.f in ("test", "end"):
        return None
    if op.process == "session" and isinstance(op.value, dict):
        value = {k: v for k, v in op.value.items() if k not in _OF_THE_PROGRAM}
        return msgspec.structs.replace(op, value=value)
    return op
