"""Rows of the store of nights: what they are in Python, and how they stand in its tables."""

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from rumpus.campaigns.case import Case, decode_case
from rumpus.campaigns.looks import Look
from rumpus.nights.memory.evidence import Moments
from rumpus.nights.records import FailureRow, NightRow, Role, RunRow, bounded_json
from rumpus.results.fingerprint import Fingerprint
from rumpus.usage_error import UsageError

NOT_PERFORMED: Final = "none"
"""The outcome under which runs are counted that could not be performed."""

NIGHT: Final = (
    "name, began, ended, budget, seconds, seed, interrupted, branch, revision, versions, asked, "
    "headline, exit_code, counts, troubles, shard"
)
"""The columns of a night, in the order of `night_values`."""

RUN: Final = (
    "seed, outcome, why, exit_code, at, seconds, cpu_seconds, virtual_seconds, operations, digest, "
    "figures, faults, found"
)
"""The columns of a run's own, in the order of `run_values`."""

FAILURE: Final = (
    "workload, recipe, fingerprint, blamed, kept_case, shrunk, first_night, last_night, "
    "first_seen, last_seen, runs, looks, identifier"
)
"""The columns of a failure, in the order of `failure_of`."""

_SOFTWARE: Final = re.compile(r", (kazoo|zookeeper) [^,]*(?=,|$)")


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """What came of runs that have all this in common. It stays exact when rows are thinned out.

    Attributes:
        night: its name; likewise ``branch``, of the night.
        subject: the ``key`` of what was on trial.
        role: why they were performed.
        name: of the case, the canary or the command.
        kind: what kind of run they were.
        versions: of the software that was used.
        outcomes: outcome -> runs; ``none``: they could not be performed.
        shown: identifier of a failure -> runs that showed it.
        figures: name -> the moments of the logarithms of its positive values.
        seconds: how long all of them took together, by the clock.
    """

    night: str
    branch: str = ""
    subject: str
    role: Role
    name: str = ""
    kind: str = ""
    versions: dict[str, str] = {}
    outcomes: dict[str, int] = {}
    shown: dict[str, int] = {}
    figures: dict[str, Moments] = {}
    seconds: float = 0.0

    @property
    def runs(self) -> int:
        """How many runs there were, with those that could not be performed."""
        return sum(self.outcomes.values())

    @property
    def performed(self) -> int:
        """How many runs were performed."""
        return self.runs - self.outcomes.get(NOT_PERFORMED, 0)


class SubjectPast(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a subject from runs of the role ``run``.

    Attributes:
        last: when it was last run, in seconds since the epoch.
        night: the newest night that ran it.
        failed: whether a run of that night was a violation.
        unperformed: whether a run of that night could not be performed.
        versions: of the software that its last runs used.
        source: the digest of its recipe's source that was last noted; empty: none was.
        seconds: how long a run takes that is performed, by the clock: mean of all nights; 0.0 if
            none was performed.
        runs: how many runs all nights had of it.
    """

    last: float
    night: str
    failed: bool = False
    unperformed: bool = False
    versions: dict[str, str] = {}
    source: str = ""
    seconds: float = 0.0
    runs: int = 0


def thing_of(subject: str) -> str:
    """Workload and recipe of a subject's key, as ``Subject.thing`` has them."""
    return subject.split(", ", 1)[0]


def without_software(subject: str) -> str:
    """A subject's key without the versions that it asks for."""
    return _SOFTWARE.sub("", subject)


class DamagedRow(ValueError):  # noqa: N818 - says what it is
    """A row that no program has written so."""


def from_json(text: Any, kind: Any) -> Any:
    """A value of a column with JSON.

    Raises:
        msgspec.MsgspecError, UnicodeError, RecursionError: it is no such value.
    """
    return bounded_json(str(text).encode(), kind)


def compact(value: Any) -> str:
    """A value as JSON on one line; the keys of objects are sorted."""
    return msgspec.json.encode(value, order="sorted").decode()


def night_values(night: NightRow) -> list[Any]:
    """The values of its columns."""
    return [
        night.name,
        night.began,
        night.ended,
        night.budget,
        night.seconds,
        night.seed,
        night.interrupted,
        night.branch,
        night.commit,
        compact(night.versions),
        compact(night.asked),
        night.headline,
        night.exit_code,
        compact(night.counts),
        compact(night.troubles),
        night.shard,
    ]


def night_of(row: tuple[Any, ...]) -> NightRow:
    """A night of the values of its columns."""
    columns = [each.strip() for each in NIGHT.split(",")]
    told = dict(zip(columns, row, strict=True))
    told["commit"] = told.pop("revision")
    told["interrupted"] = bool(told["interrupted"])
    for name in ("versions", "asked", "counts", "troubles"):
        told[name] = from_json(told[name], Any)
    return msgspec.convert(told, NightRow)


def run_values(run: RunRow) -> list[Any]:
    """The values of a run's own columns."""
    return [
        run.seed,
        run.outcome,
        run.why,
        run.exit_code,
        run.at,
        run.seconds,
        run.cpu_seconds,
        run.virtual_seconds,
        run.operations,
        run.digest,
        compact(run.figures),
        compact(run.faults),
        run.found,
    ]


def run_of(batch: dict[str, Any], row: Sequence[Any], failures: tuple[str, ...]) -> RunRow:
    """A run of the values of its columns, and of what it has in common with its batch."""
    columns = [each.strip() for each in RUN.split(",")]
    told = {**batch, **dict(zip(columns, row, strict=True)), "failures": failures}
    for name in ("figures", "faults"):
        told[name] = from_json(told[name], Any)
    return msgspec.convert(told, RunRow)


def failure_of(row: tuple[Any, ...]) -> FailureRow:
    """A failure of the values of its columns. A case that this program cannot read is left out.

    Raises:
        DamagedRow: it is another failure than its identifier says.
    """
    columns = [each.strip() for each in FAILURE.split(",")]
    told = dict(zip(columns, row, strict=True))
    identifier = told.pop("identifier")
    told["fingerprint"] = from_json(told["fingerprint"], Fingerprint)
    told["looks"] = from_json(told["looks"], tuple[Look, ...])
    case, shrunk = readable_case(told.pop("kept_case")), bool(told.pop("shrunk"))
    found = msgspec.convert({**told, "case": case, "shrunk": shrunk}, FailureRow)
    if found.id != identifier:
        raise DamagedRow(
            f"the failure {identifier} has the workload, recipe and kind of {found.id}"
        )
    return found


def readable_case(text: str | None) -> Case | None:
    """A case as it was kept; None if there is none, or if it asks for what no longer exists.

    The options of runs come and go, and a failure must stay in the lists all the same.
    """
    if text is None:
        return None
    try:
        return decode_case(text.encode(), "the store")
    except UsageError:
        return None
