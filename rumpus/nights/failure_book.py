"""The failures of a night, told apart, beside those of the nights before."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from rumpus.campaigns.case import Case, case_of
from rumpus.campaigns.findings import DEATH
from rumpus.campaigns.looks import (
    Failure,
    Look,
    beside,
    explains,
    look_of,
    looks_of_both,
    taken_for,
    with_look,
)
from rumpus.campaigns.rulings import Rulings
from rumpus.campaigns.trial_task import Seen, TrialOutcome
from rumpus.nights.records import FailureRow, Subject
from rumpus.results.fingerprint import Fingerprint


class Keeper(Protocol):
    """Who keeps failures beyond the night: the store."""

    def note_failure(self, failure: FailureRow) -> None:
        """Keep a failure, or what is known of it now."""

    def replace_failure(self, old: str, new: FailureRow) -> None:
        """What was seen as one failure has turned out to be another one."""


@dataclass(frozen=True)
class ToShrink:
    """A failure that is to be made small.

    Attributes:
        id: of the failure.
        outcome: of a run that shows it.
        seen: the failure in it.
    """

    id: str
    outcome: TrialOutcome
    seen: Seen


class FailureBook:
    """Tells failures apart.

    One that is alike in the signs of its cause is the known failure, however it shows, and so is
    one that a run shows by the same call or about the same znode (``campaigns.findings``). A
    person's rulings stand above that. Of other failures, one that was not shrunk yet stands for all
    of its kind and operations, whatever the faults: so a flaw that many runs show is shrunk once. A
    shrunk one stands for those whose runs had the faults that it needs.

    Args:
        night: the night's name.
        before: the failures of nights before, and of this one before it was resumed.
        rulings: what persons have decided.
        keep: calls a function with who keeps failures.
        now: seconds since the epoch.

    Attributes:
        failures: all of them, by id.
        tonight: those of this night -> how many of its runs showed them.
    """

    def __init__(
        self,
        night: str,
        before: Iterable[FailureRow],
        *,
        keep: Callable[[Callable[[Keeper], None]], None],
        now: Callable[[], float],
        rulings: Rulings | None = None,
    ) -> None:
        self.failures = {each.id: each for each in before}
        self.tonight: dict[str, int] = {}
        self._night = night
        self._keep, self._now = keep, now
        self._asked: set[str] = set()
        self._rulings = rulings or Rulings()

    def note(self, subject: Subject, outcome: TrialOutcome) -> tuple[list[str], list[ToShrink]]:
        """Note a run's broken promises; the failures' ids, and those that are to be shrunk."""
        ids: list[str] = []
        small: list[ToShrink] = []
        of_run: dict[str, str] = {}
        for seen in outcome.seen:
            if not seen.promised:
                continue
            failure = Failure(
                seed=outcome.seed,
                fingerprint=seen.fingerprint,
                kinds=outcome.plan.kinds,
                traits=seen.traits,
            )
            row, why = self._known(subject, failure, of_run)
            if row is None:
                looks = with_look((), failure, "")
                row = self._enter(subject, seen.fingerprint, outcome, case_of(outcome, seen), looks)
            row = self._look(row, failure, why)
            of_run[look_of(seen.fingerprint)] = row.id
            ids.append(self._seen(row))
            wanted = not row.shrunk and row.id not in self._asked
            if wanted and subject.world == "sim":
                self._asked.add(row.id)
                small.append(ToShrink(row.id, outcome, seen))
        return list(dict.fromkeys(ids)), small

    def note_death(self, subject: Subject, how: str) -> str:
        """Note a run that has ended its process; the failure's id."""
        fingerprint = Fingerprint(kind=DEATH, operations=(how,))
        rows = [row for row in self._of(subject) if row.fingerprint.resembles(fingerprint)]
        return self._seen(rows[0] if rows else self._enter(subject, fingerprint, None, None))

    def shrunk(self, id: str, case: Case, *, done: bool) -> str:  # noqa: A002 - its name
        """Note what shrinking has made of a failure; the id that it has now.

        Args:
            id: the one that it had.
            case: the smallest run.
            done: whether shrinking came to its end. If not, the failure goes on to stand for all
                of its kind and operations, with this case.
        """
        old = self.failures[id]
        if not done:
            row = msgspec.structs.replace(old, case=case)
            self.failures[id] = row
            self._keep(lambda keeper: keeper.note_failure(row))
            return id
        new = msgspec.structs.replace(old, fingerprint=case.expects, case=case, shrunk=True)
        there = self.failures.get(new.id)
        if there is not None and new.id != id:
            first, last = sorted((there, old), key=lambda each: each.first_seen)
            new = msgspec.structs.replace(
                there if there.shrunk else new,
                first_night=first.first_night,
                first_seen=first.first_seen,
                last_night=self._night,
                last_seen=max(first.last_seen, last.last_seen),
                runs=there.runs + old.runs,
                looks=looks_of_both(there.looks, old.looks),
            )
        if new.id == id:
            self._keep(lambda keeper: keeper.note_failure(new))
        else:
            del self.failures[id]
            self._asked.discard(id)  # another flaw may have it from now on
            self.tonight[new.id] = self.tonight.get(new.id, 0) + self.tonight.pop(id, 0)
            self._keep(lambda keeper: keeper.replace_failure(id, new))
        self.failures[new.id] = new
        return new.id

    def is_new(self, row: FailureRow) -> bool:
        """Whether no night before has seen it."""
        return row.first_night == self._night

    @property
    def unshrunk(self) -> Sequence[FailureRow]:
        """Failures of nights before, or of this one, that nobody has made small yet."""
        return [each for each in self.failures.values() if not each.shrunk and each.case]

    def _known(
        self, subject: Subject, failure: Failure, of_run: Mapping[str, str]
    ) -> tuple[FailureRow | None, str]:
        """The failure that one of a run is taken for, and why; None if it is a new one."""
        names = (str(failure.fingerprint),)
        rows = self._of(subject)
        for row in rows:
            if why := self._rulings.merges(_names(row), names):
                return row, f"by a ruling: {why}"
        rows = [row for row in rows if not self._rulings.splits(_names(row), names)]
        alike = [(taken_for(row.looks, failure), row) for row in rows]
        likely = [(taken.odds, taken.why, row) for taken, row in alike if taken is not None]
        if likely:
            _, why, row = max(likely, key=lambda each: each[0])
            return row, why
        there = {row.id: row for row in rows}
        for look, why in beside(failure):
            if of_run.get(look) in there:
                return there[of_run[look]], why
        fitting = [row for row in rows if explains(row.fingerprint, failure)]
        same = "same kind and operations, after the faults that it needs"
        return max(fitting, key=lambda row: row.shrunk, default=None), same if fitting else ""

    def _look(self, row: FailureRow, failure: Failure, why: str) -> FailureRow:
        """The row, with the failure's look if that is a new one."""
        looks = with_look(row.looks, failure, why)
        if looks != row.looks:
            row = self.failures[row.id] = msgspec.structs.replace(row, looks=looks)
            self._keep(lambda keeper: keeper.note_failure(row))
        return row

    def _of(self, subject: Subject) -> list[FailureRow]:
        return [
            row
            for row in self.failures.values()
            if (row.workload, row.recipe) == (subject.workload, subject.recipe)
        ]

    def _enter(
        self,
        subject: Subject,
        fingerprint: Fingerprint,
        outcome: TrialOutcome | None,
        case: Case | None,
        looks: tuple[Look, ...] = (),
    ) -> FailureRow:
        row = FailureRow(
            workload=subject.workload,
            recipe=subject.recipe,
            fingerprint=fingerprint,
            blamed=outcome.blamed if outcome is not None else "recipe",
            case=case,
            first_night=self._night,
            first_seen=self._now(),
            last_night=self._night,
            last_seen=self._now(),
            looks=looks,
        )
        self.failures[row.id] = row
        self._keep(lambda keeper: keeper.note_failure(row))
        return row

    def _seen(self, row: FailureRow) -> str:
        self.tonight[row.id] = self.tonight.get(row.id, 0) + 1
        self.failures[row.id] = msgspec.structs.replace(
            self.failures[row.id],
            last_night=self._night,
            last_seen=self._now(),
            runs=self.failures[row.id].runs + 1,
        )
        return row.id


def _names(row: FailureRow) -> tuple[str, ...]:
    """By which rulings may name a failure."""
    fingerprints = [row.fingerprint, *(look.fingerprint for look in row.looks)]
    return (row.id, *map(str, fingerprints))
