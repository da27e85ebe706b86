"""The file in which people write down what was found, what was missed, and what was a false alarm.

It is TOML::

    [[flaw]]
    case = "findings/01-barrier-wait.case.json"    # what it is stands in the case's finding
    program = "kazoo"
    discovered = "blind"
    date = 2026-11-22
    upstream = "not reported"
    report = "docs/upstream/kazoo-barrier-wait.md" # what its authors can be sent

    [[flaw]]                                       # of real servers: no seed repeats it
    program = "Curator"
    versions = "5.4.0"
    what = "`SharedCount`: adds twice"
    where = "`SharedValue.trySetValue`: the set is retried after a lost reply"
    fault = "a lost reply"
    anomalies = ["miscount"]
    command = "rumpus run counter --recipe curator-shared-count"
    discovered = "blind"
    date = 2026-11-24
    reproduced = 2026-11-24
    upstream = "not reported"

    [[miss]]
    program = "kazoo"
    what = "`Lock.acquire` hangs on a client that has been closed"
    source = "https://github.com/python-zk/kazoo/issues/482"
    why = "no load closes a client below its recipe"

    [[false-alarm]]
    subject = "partitioner / kazoo"
    what = "`shared-partition`: ..."
    date = 2026-11-24
    runs = 812

What is measured (`rumpus.track_record.first_sight`) stands in a JSON file beside it, which programs
write.
"""

import datetime as dt
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec

from rumpus.campaigns.case import Case, load_case
from rumpus.results.atomic_file import write_atomically
from rumpus.results.untrusted_file import read_regular
from rumpus.untrusted_toml import read_toml
from rumpus.usage_error import UsageError

FILE: Final = Path("cases/track-record.toml")
"""Where it is looked for."""

_LARGEST: Final = 1 << 20

Discovered = Literal["blind", "aimed", "known"]
DISCOVERED: Final[Mapping[str, str]] = {
    "blind": "were found by runs that nobody had aimed at them",
    "aimed": "by plans that somebody aimed at them",
    "known": "by users before us",
}


class _Record(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    pass


class FlawRecord(_Record, frozen=True, kw_only=True):
    """A flaw, as the file has it. With a ``case``, what the case says is left out.

    Args:
        program: whose flaw it is.
        discovered: how; see ``DISCOVERED``.
        date: when it was first seen here.
        upstream: what its authors know: ``not reported``, or an address and the issue's state.
        report: a page that its authors can be sent, from the repository's root on.
        case: the path of its case, from the file's folder on.
        versions: with which it was seen.
        what: what goes wrong, from the view of users, in Markdown.
        where: the function, and why.
        fault: what it takes.
        anomalies: by which it shows.
        command: what shows it.
        reproduced: when that was last seen.
    """

    program: str
    discovered: Discovered
    date: dt.date
    upstream: str
    report: str = ""
    case: str = ""
    versions: str = ""
    what: str = ""
    where: str = ""
    fault: str = ""
    anomalies: tuple[str, ...] = ()
    command: str = ""
    reproduced: dt.date | None = None


class Miss(_Record, frozen=True, kw_only=True):
    """A flaw that was known, and that no run here has shown.

    Args:
        program: whose flaw it is.
        what: what goes wrong, in Markdown.
        source: who knows it: an address, or ``read in the code``.
        why: why runs do not show it.
    """

    program: str
    what: str
    source: str
    why: str


class FalseAlarm(_Record, frozen=True, kw_only=True):
    """A violation that was reported and was none.

    Args:
        subject: workload and recipe.
        what: the anomaly, and why it was none, in Markdown.
        date: when it was found out and mended.
        runs: among how many runs it came up.
    """

    subject: str
    what: str
    date: dt.date
    runs: int


class RecordFile(_Record, frozen=True, kw_only=True, rename="kebab"):
    """The whole file."""

    flaw: tuple[FlawRecord, ...] = ()
    miss: tuple[Miss, ...] = ()
    false_alarm: tuple[FalseAlarm, ...] = ()


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """How one exploration came to see a flaw.

    Attributes:
        runs: how many it performed.
        cpu_seconds: processor time that they took.
        seen: whether the flaw was seen; if not, they are all that the budget allowed.
    """

    runs: int
    cpu_seconds: float
    seen: bool


class Measured(msgspec.Struct, kw_only=True):
    """What programs have measured of a flaw with a case.

    Attributes:
        sights: explorations with different seeds, up to its first sight.
        reproduced: when its case was last replayed and showed it.
    """

    sights: tuple[Sight, ...] = ()
    reproduced: dt.date | None = None


class Flaw(NamedTuple):
    """A flaw with all that is known of it."""

    record: FlawRecord
    case: Case | None
    measured: Measured


class TrackRecord(NamedTuple):
    """The file and what was measured."""

    flaws: list[Flaw]
    misses: tuple[Miss, ...]
    false_alarms: tuple[FalseAlarm, ...]


def read_record(path: Path) -> TrackRecord:
    """Read the file, its cases, and what was measured of them.

    Raises:
        UsageError: a file is malformed.
        UnreadableRun: a file cannot be read.
    """
    raw = read_toml(path, "read the track record")
    try:
        read = msgspec.convert(raw, RecordFile, strict=True)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {error}") from error
    measured = read_measured(path)
    return TrackRecord(list(_flaws(path, read, measured)), read.miss, read.false_alarm)


def _flaws(path: Path, read: RecordFile, measured: Mapping[str, Measured]) -> Iterator[Flaw]:
    own = ("what", "where", "fault", "anomalies")
    for number, flaw in enumerate(read.flaw, 1):
        if not flaw.case:
            if lacking := [name for name in (*own, "command") if not getattr(flaw, name)]:
                raise UsageError(f"{path}: flaw {number} lacks {', '.join(lacking)}, or a case")
            yield Flaw(flaw, None, Measured(reproduced=flaw.reproduced))
            continue
        case = load_case(path.parent / flaw.case)
        if case.finding is None:
            raise UsageError(f"{path}: {flaw.case} says nothing about its finding")
        if said := [name for name in (*own, "reproduced") if getattr(flaw, name)]:
            raise UsageError(f"{path}: {flaw.case} itself says {', '.join(said)}: take it out")
        yield Flaw(flaw, case, measured.get(flaw.case, Measured()))


def measured_file(path: Path) -> Path:
    """Where the file's measurements stand."""
    return path.with_suffix(".measured.json")


def read_measured(path: Path) -> dict[str, Measured]:
    """What was measured of the file's cases, by their paths; empty if nothing was.

    Raises:
        UsageError: it is malformed.
        UnreadableRun: it cannot be read.
    """
    place = measured_file(path)
    if not place.exists():
        return {}
    try:
        document = read_regular(place, "read what was measured", _LARGEST)
        return msgspec.json.decode(document, type=dict[str, Measured])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{place}: {error}") from error


def write_measured(path: Path, measured: Mapping[str, Measured]) -> None:
    """Write what was measured.

    Raises:
        StoreError: the disk does not take it.
    """
    plain = msgspec.json.encode(dict(sorted(measured.items())))
    write_atomically(measured_file(path), msgspec.json.format(plain, indent=2) + b"\n")
