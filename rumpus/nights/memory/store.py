"""The memory of ``rumpus nightly``: nights, their runs and failures, in one file of SQLite.

Each run is noted in a transaction of its own, so a killed process loses at most the run that it was
performing. docs/reference/nights-store.md describes the tables.
"""

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, Self, TypeVar

import msgspec

from rumpus.nights.memory.store_changes import (
    failure_number,
    join_failures,
    note_failure,
    note_run,
    subject_number,
)
from rumpus.nights.memory.store_file import NO_NIGHTS, StoreFile, damaged
from rumpus.nights.memory.store_history import (
    canary_past,
    faults,
    sightings,
    subjects_last,
    tallies,
    version_sets,
)
from rumpus.nights.memory.store_rows import (
    FAILURE,
    NIGHT,
    DamagedRow,
    SubjectPast,
    Tally,
    failure_of,
    from_json,
    night_of,
    night_values,
)
from rumpus.nights.memory.store_runs import runs_where
from rumpus.nights.memory.store_thinning import thin
from rumpus.nights.memory.store_values import check_values
from rumpus.nights.records import FailureRow, NightRow, Role, RunRow, Subject
from rumpus.usage_error import UsageError

P = ParamSpec("P")
R = TypeVar("R")

DEFAULT: Final = Path("runs/nights.sqlite")
"""Where the store is kept."""

EVERY_ROLE: Final[Sequence[Role]] = ("case", "canary", "run", "again")
"""The roles of runs."""

_FEWEST_DIGITS: Final = 4
_LISTED: Final = 5


def _reading(method: Callable[Concatenate["Store", P], R]) -> Callable[Concatenate["Store", P], R]:
    """A method that reads: values that no program has written are told as damage of the file."""

    @wraps(method)
    def read(self: "Store", /, *arguments: P.args, **given: P.kwargs) -> R:
        try:
            return method(self, *arguments, **given)
        except (DamagedRow, msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise damaged(self._file.path, error) from error

    return read


class Store:
    """What all nights have seen. For one thread; see `opened`.

    Args:
        file: where it is kept.
    """

    def __init__(self, file: StoreFile) -> None:
        self._file = file

    @property
    def path(self) -> Path:
        """Of the store's file."""
        return self._file.path

    @classmethod
    @contextlib.contextmanager
    def opened(cls, path: Path, *, write: bool = False) -> Iterator[Self]:
        """The store in a file, as long as the context lasts.

        All methods raise ``StoreError`` if the host does not let them do their work, and
        ``UnreadableRun`` if the file turns out to be damaged.

        Args:
            path: the file.
            write: whether to write: the file is made, or migrated, and locked against other
                writers. Readers need not wait, and nobody waits for them.

        Raises:
            UsageError: there is nothing to read, or a newer program has written it.
            StoreError: another process writes, or the host does not allow it.
            UnreadableRun: it is no store, or is damaged.
        """
        with StoreFile.opened(path, write=write) as file:
            check_values(file)
            yield cls(file)

    def begin_night(self, night: NightRow) -> None:
        """Note that a night has begun.

        Raises:
            UsageError: there is one of that name.
        """
        if self._file.rows("SELECT 1 FROM nights WHERE name = ?", [night.name]):
            raise UsageError(f"there is a night {night.name} already: choose another name")
        values = night_values(night)
        marks = ", ".join("?" * len(values))
        with self._file.change() as connection:
            connection.execute(f"INSERT INTO nights ({NIGHT}) VALUES ({marks})", values)  # noqa: S608

    def update_night(self, night: NightRow) -> None:
        """Note what else is known of a night that has begun.

        Raises:
            UsageError: there is none of that name.
        """
        number = self._night_id(night.name)
        values = night_values(night)
        marks = ", ".join("?" * len(values))
        with self._file.change() as connection:
            connection.execute(
                f"UPDATE nights SET ({NIGHT}) = ({marks}) WHERE id = ?",  # noqa: S608
                [*values, number],
            )

    def note_document(self, night: str, document: str) -> None:
        """Note what came of a night, beside its runs.

        Args:
            night: its name.
            document: in JSON, as `documents` gives it back.

        Raises:
            UsageError: there is no such night.
        """
        number = self._night_id(night)
        with self._file.change() as connection:
            connection.execute("UPDATE nights SET document = ? WHERE id = ?", [document, number])

    def new_name(self, day: str) -> str:
        """A name that no night has: the day, or the day with a number, from 2 on."""
        taken = {name for (name,) in self._file.rows("SELECT name FROM nights")}
        numbered = (f"{day}.{number}" for number in range(2, len(taken) + 3))
        return next(name for name in [day, *numbered] if name not in taken)

    def note_failure(self, failure: FailureRow) -> None:
        """Note a failure before the runs that show it.

        If it is there, its case, whether that is shrunk, and whose promise it breaks are replaced;
        a failure without a case leaves the one that is there. When it was seen, and by how many
        runs, is counted by `note_run`, whatever ``failure`` says.
        """
        with self._file.change() as connection:
            note_failure(connection, failure)

    def note_run(self, night: str, run: RunRow) -> None:
        """Note a run, and that its failures were seen.

        Args:
            night: the name of the night that performed it.
            run: the run; its failures have been noted.

        Raises:
            UsageError: there is no such night.
            ValueError: a failure has not been noted.
        """
        number = self._night_id(night)
        with self._file.change() as connection:
            note_run(connection, number, night, run)

    def replace_failure(self, old: str, new: FailureRow) -> None:
        """Give a failure another fingerprint: what was seen of the old one is the new one's.

        If the new one is there already both become one. A run that showed both counts once, as far
        as its row has not been thinned out.

        Args:
            old: an identifier.
            new: the failure in its place.

        Raises:
            ValueError: there is no such failure.
        """
        with self._file.change() as connection:
            source = failure_number(connection, old)
            note_failure(connection, new)
            target = failure_number(connection, new.id)
            if source != target:
                join_failures(connection, source, target)

    def note_source(self, night: str, subject: Subject, source: str) -> None:
        """Note the digest of the source of a subject's recipe, as the night found it.

        Raises:
            UsageError: there is no such night.
        """
        number = self._night_id(night)
        with self._file.change() as connection:
            which = subject_number(connection, subject.key)
            connection.execute(
                "INSERT OR REPLACE INTO sources VALUES (?, ?, ?)", [number, which, source]
            )

    def thin(self, *, keep: int = 30) -> None:
        """Remove rows of runs of old nights, as `store_thinning.thin` describes.

        Args:
            keep: how many nights keep all of their rows.
        """
        with self._file.change() as connection:
            thin(connection, keep=keep)
        self._file.shrink()

    @_reading
    def nights(self) -> list[NightRow]:
        """All nights, newest first."""
        rows = self._file.rows(f"SELECT {NIGHT} FROM nights ORDER BY began DESC, id DESC")  # noqa: S608
        return [night_of(row) for row in rows]

    def night(self, name: str) -> NightRow:
        """A night by its name; ``last`` is the newest, ``last~1`` the one before.

        Raises:
            UsageError: there is no such night.
        """
        every = self.nights()
        word, _, back = name.partition("~")
        if word == "last" and (back.isdecimal() or "~" not in name):
            found = every[int(back or 0) :][:1]
        else:
            found = [each for each in every if each.name == name]
        if not found:
            raise UsageError(f"{name}: there is no such night; {_listed(every)}")
        return found[0]

    @_reading
    def documents(self, kind: type[R]) -> dict[str, R]:
        """By the name of a night, what came of it; of those nights that have noted it.

        Args:
            kind: what their documents are.
        """
        rows = self._file.rows("SELECT name, document FROM nights WHERE document != ''")
        return {name: from_json(document, kind) for name, document in rows}

    @_reading
    def faults(self) -> dict[str, dict[str, int]]:
        """By the name of a night: kind of fault -> valid runs that had it, of those that are kept.

        A run is valid only if a fault of each kind that it was to have was verified in force.
        """
        return faults(self._file)

    def unfinished(self) -> NightRow | None:
        """The newest night that has not ended."""
        return next((each for each in self.nights() if each.ended is None), None)

    @_reading
    def runs(self, night: str) -> list[RunRow]:
        """The runs of a night whose rows are kept, in the order in which they were noted.

        Raises:
            UsageError: there is no such night.
        """
        return runs_where(self._file, "nights.id = ?", [self._night_id(night)])

    @_reading
    def runs_with(self, software: str, version: str) -> list[RunRow]:
        """The runs of all nights that used a version of a software, of those whose rows are kept.

        Args:
            software: its name, such as ``kazoo``.
            version: all of it.
        """
        sets = version_sets(self._file, software, version)
        marks = ", ".join("?" * len(sets))
        return runs_where(self._file, f"version_sets.id IN ({marks})", sets)

    @_reading
    def failures(self) -> list[FailureRow]:
        """All failures, the one that was seen last first.

        One whose case asks for what this program does not know is told without a case.
        """
        query = f"SELECT {FAILURE} FROM failures ORDER BY last_seen DESC, identifier"  # noqa: S608
        return [failure_of(row) for row in self._file.rows(query)]

    @_reading
    def failure(self, prefix: str) -> FailureRow:
        """A failure by the beginning of its identifier, at least 4 digits.

        Raises:
            UsageError: there is none, or several.
        """
        digits = prefix.lower()
        if len(digits) < _FEWEST_DIGITS:
            raise UsageError(f"{prefix}: give at least {_FEWEST_DIGITS} digits of a failure's name")
        query = f"SELECT {FAILURE} FROM failures WHERE substr(identifier, 1, ?) = ?"  # noqa: S608
        found = [failure_of(row) for row in self._file.rows(query, [len(digits), digits])]
        if len(found) > 1:
            which = "; ".join(f"{each.id} ({each})" for each in found[:_LISTED])
            raise UsageError(f"{prefix}: several failures have a name like that: {which}")
        if not found:
            every = self.failures()[:_LISTED]
            known = "; ".join(f"{each.id} ({each})" for each in every) or "none so far"
            raise UsageError(f"{prefix}: there is no such failure; the last ones are: {known}")
        return found[0]

    def case_text(self, failure: str) -> str | None:
        """The case of a failure as it was kept, even if this program cannot read it.

        Args:
            failure: its identifier.

        Raises:
            ValueError: there is no such failure.
        """
        rows = self._file.rows("SELECT kept_case FROM failures WHERE identifier = ?", [failure])
        if not rows:
            raise ValueError(failure)
        ((text,),) = rows
        return None if text is None else str(text)

    @_reading
    def sightings(
        self, failure_id: str, *, roles: Sequence[Role] = EVERY_ROLE
    ) -> list[tuple[str, int, int]]:
        """How often each night saw a failure, newest night first; exact after thinning.

        Args:
            failure_id: its identifier.
            roles: the roles of the runs to count.

        Returns:
            Name of a night, runs that showed the failure, and runs that were performed of its
            workload and recipe; of all nights that performed one.
        """
        return sightings(self._file, failure_id, roles)

    @_reading
    def rates(
        self,
        nights: Sequence[str] | None = None,
        *,
        version: tuple[str, str] | None = None,
        figures: bool = True,
    ) -> list[Tally]:
        """What came of all runs, also of those whose rows were thinned out; oldest night first.

        Args:
            nights: the names of the nights to tell of; None: of all.
            version: a software, and the version of it that the runs used; None: whichever.
            figures: whether to tell of figures, which takes most of the time.
        """
        return tallies(self._file, nights, version, figures=figures)

    @_reading
    def versions(self) -> dict[str, list[str]]:
        """The versions that runs of any night used, by software."""
        found: dict[str, set[str]] = defaultdict(set)
        for (versions,) in self._file.rows("SELECT versions FROM version_sets"):
            for software, version in from_json(versions, dict[str, str]).items():
                found[software].add(version)
        return {software: sorted(each) for software, each in sorted(found.items())}

    @_reading
    def subjects_last(self) -> dict[str, SubjectPast]:
        """By the ``key`` of a subject, what is known from its runs so far."""
        return subjects_last(self._file)

    @_reading
    def canary_past(self) -> dict[str, tuple[int, int]]:
        """By the name of a canary, how many of its runs caught it, and how many were performed."""
        return canary_past(self._file)

    def _night_id(self, name: str) -> int:
        rows = self._file.rows("SELECT id FROM nights WHERE name = ?", [name])
        if not rows:
            raise UsageError(f"{name}: there is no such night; {_listed(self.nights())}")
        ((number,),) = rows
        return int(number)


def _listed(nights: Sequence[NightRow]) -> str:
    """The newest nights, for those who have asked for one that does not exist."""
    names = ", ".join(each.name for each in nights[:_LISTED])
    return f"the newest are {names}" if names else NO_NIGHTS
