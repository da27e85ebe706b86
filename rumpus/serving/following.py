"""How far a run is: what its directory says while its history grows."""

import os
import time
from collections import Counter, deque
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final, TypeVar

import msgspec

from rumpus.checker.untrusted_file import UnfitFile, open_regular, read_regular
from rumpus.results.run_directory import RunDirectory
from rumpus.results.seal import SEAL
from rumpus.results.store_error import UnreadableRun
from rumpus.runs.made_here import is_written_here

T = TypeVar("T")

SILENT_S: Final = 60.0
"""After how many seconds without a record a run has probably been killed."""

_AT_ONCE: Final = 1 << 24  # bytes of the history that are read for one page
_LARGEST: Final = 1 << 23  # bytes of test.json and results.json
_LAST: Final = 12


_Number = Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)]
"""A process, or nanoseconds. JSON has numbers of any length; no run has one beyond these."""


class _Record(msgspec.Struct):
    process: _Number | str
    type: str
    f: str
    time: _Number
    value: msgspec.Raw = msgspec.Raw(b"null")


class _Fault(msgspec.Struct):
    id: int = 0
    kind: str = ""


class _Test(msgspec.Struct):
    workload: str = ""
    recipe: str = ""
    ensemble: str = ""
    seed: int = 0


class _Results(msgspec.Struct):
    outcome: str = ""
    reasons: list[str] = []


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a run is.

    Attributes:
        what: workload, recipe, where, and the seed.
        state: ``goes on``, ``is judged``, ``silent``, or the outcome.
        tone: the same as a style.
        reasons: of an outcome.
        seconds: from the first record to the last that was read.
        records: how many were read.
        ended: how many operations of clients ended how.
        faults: kinds of fault in force.
        injected: how many faults there were.
        last: the last ends of operations, in words.
        live: whether the page is to be read again soon.
    """

    what: str
    state: str
    tone: str
    reasons: tuple[str, ...] = ()
    seconds: float = 0.0
    records: int = 0
    ended: dict[str, int] = {}
    faults: tuple[str, ...] = ()
    injected: int = 0
    last: tuple[str, ...] = ()
    live: bool = False


class Follower:
    """Reads a run's history as it grows, each record once.

    Args:
        directory: the run's.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._begin()

    def _begin(self) -> None:
        self._offset = self._records = self._injected = 0
        self._first: int | None = None
        self._time = 0
        self._ended: Counter[str] = Counter()
        self._faults: dict[int, str] = {}
        self._last: deque[str] = deque(maxlen=_LAST)

    def progress(self) -> Progress:
        """How far the run is now. What cannot be read is left out."""
        more = self._read()
        state, tone, reasons = state_of(self._directory)
        return Progress(
            what=what_of(self._directory),
            state=state,
            tone=tone,
            reasons=reasons,
            seconds=(self._time - (self._first or 0)) / 1e9,
            records=self._records,
            ended=dict(sorted(self._ended.items())),
            faults=tuple(sorted(set(self._faults.values()))),
            injected=self._injected,
            last=tuple(self._last),
            live=more or state in ("goes on", "is judged"),
        )

    def _read(self) -> bool:
        """Read what is new, up to the last whole line; whether there is more."""
        try:
            with open_regular(self._directory / "history.jsonl") as file:
                size = os.fstat(file.fileno()).st_size
                if size < self._offset:  # another file has its place
                    self._begin()
                file.seek(self._offset)
                data = file.read(_AT_ONCE)
        except (OSError, UnfitFile):
            return False
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines():
            try:
                self._note(msgspec.json.decode(line, type=_Record))
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                continue  # `rumpus check` says what is wrong with it
        return bool(whole) and self._offset < size

    def _note(self, record: _Record) -> None:
        self._records += 1
        self._time = max(self._time, record.time)
        self._first = record.time if self._first is None else self._first
        if isinstance(record.process, int) and record.type in ("ok", "fail", "info"):
            self._ended[record.type] += 1
            at = (record.time - self._first) / 1e9
            self._last.append(f"{at:9.3f} s  process {record.process} {record.f}: {record.type}")
        elif record.process == "nemesis" and record.type == "info":
            fault = msgspec.json.decode(record.value, type=_Fault)
            if record.f == "start":
                self._faults[fault.id] = fault.kind
                self._injected += 1
            elif record.f == "stop":
                self._faults.pop(fault.id, None)


def what_of(directory: Path) -> str:
    """What is run in a directory; empty if it does not say so."""
    test = _document(directory / "test.json", _Test)
    if test is None:
        return ""
    return f"{test.workload} / {test.recipe}, {test.ensemble}, seed {test.seed}"


def state_of(directory: Path) -> tuple[str, str, tuple[str, ...]]:
    """The state of a run in words, its tone, and the reasons of an outcome."""
    results = _document(directory / "results.json", _Results)
    if results is not None and not is_ours(directory, "results.json"):
        told = f"{results.outcome}, as it says"
        return told, "open", ("`rumpus check` did not write this here: it judges the run again",)
    if results is not None:
        tone = {"valid": "valid", "violation": "violation"}.get(results.outcome, "open")
        return results.outcome, tone, tuple(results.reasons[:20])
    if (directory / SEAL).exists():
        return "is judged", "plain", ()
    try:
        silent = time.time() - (directory / "history.jsonl").stat().st_mtime > SILENT_S
    except OSError:
        silent = True
    return ("silent", "open", ()) if silent else ("goes on", "plain", ())


def is_ours(directory: Path, name: str) -> bool:
    """Whether a run's results, or its report, were written here, for the files that are there."""
    if not is_written_here(directory, name):
        return False
    stats = (each.stat() for each in directory.rglob("*"))
    stamp = tuple((each.st_ino, each.st_size, each.st_mtime_ns) for each in stats)
    return _is_as_sealed(directory, stamp)


@lru_cache(maxsize=4096)
def _is_as_sealed(directory: Path, _stamp: tuple[tuple[int, int, int], ...]) -> bool:
    try:
        return not RunDirectory(directory).changes()
    except UnreadableRun:
        return False


def _document(path: Path, kind: type[T]) -> T | None:
    if path.is_symlink():  # no run makes one, and it may lead anywhere
        return None
    try:
        return msgspec.json.decode(read_regular(path, _LARGEST), type=kind)
    except (OSError, UnfitFile, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
