"""Puts the parts of a night together that several machines have performed (``--shard``)."""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

import msgspec

from rumpus.campaigns.case import Case, load_case, save_case
from rumpus.campaigns.replaying import ENDING
from rumpus.exit_codes import VALID
from rumpus.nights.documents.document import (
    VERSION,
    FailureResult,
    NightDocument,
    for_store,
    merged,
    to_json,
)
from rumpus.nights.documents.outputs import OUTPUT, write_outputs
from rumpus.nights.documents.summary import headline
from rumpus.nights.memory.store import Store
from rumpus.nights.night_notes import code_of
from rumpus.nights.records import NightRow, bounded_json
from rumpus.results.atomic_file import inside
from rumpus.results.untrusted_file import read_regular
from rumpus.runs.shard import shard_of
from rumpus.usage_error import UsageError

_CASE: Final = re.compile(rf"cases/[^\0]+{re.escape(ENDING)}")
"""Where a night keeps a case. Another file may mean something where it is written."""

_NAME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(\.[0-9]+)?")

_LARGEST: Final = 1 << 28  # bytes; 10,000 runs make about ten megabytes


class _Kind(msgspec.Struct):
    """What tells ``night.json`` from other documents."""

    night: dict[str, object] | None = None
    version: int = 0


def is_night(path: Path) -> bool:
    """Whether a file is ``night.json``, of whichever version.

    Raises:
        UnreadableRun: it is no regular file, or is too large.
    """
    try:
        kind = msgspec.json.decode(read_regular(path, "read the results", _LARGEST), type=_Kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return kind.night is not None


def load_night(path: Path) -> NightDocument:
    """Read ``night.json``.

    Raises:
        UsageError: it is malformed, or of another version.
        UnreadableRun: it is no regular file, or is too large.
    """
    text = read_regular(path, "read the night", _LARGEST)
    try:
        version = msgspec.json.decode(text, type=_Kind).version
        if version != VERSION:
            raise UsageError(f"{path}: has version {version}; this program reads {VERSION}")
        document: NightDocument = bounded_json(text, NightDocument)
        for each in document.failures:
            if each.failure.case is not None:
                each.failure.case.task()
        for place in [*(e.file for e in document.failures), *(e.moved for e in document.cases)]:
            if place and (not _CASE.fullmatch(place) or ".." in Path(place).parts):
                raise UsageError(f"{path}: {place!r}: a night keeps cases as cases/NAME{ENDING}")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not what `rumpus nightly` writes: {error}") from error
    if not _NAME.fullmatch(document.night.name):
        raise UsageError(f"{path}: {document.night.name!r}: a night is named by its day")
    told: dict[str, Any] = msgspec.json.decode(text)
    if why := next(chain(_inconsistent(document), _other_than_told(told, document)), None):
        raise UsageError(
            f"{path}: contradicts itself: {why}; it was damaged or changed, so make that part again"
        )
    return document


def _inconsistent(document: NightDocument) -> Iterator[str]:
    """What of a night does not add up, in words. No night is written so."""
    cases = {each.name: each.state for each in document.cases}
    for run in document.runs:
        if run.role == "case" and run.found == "regression" and run.name not in cases:
            yield f"the case {run.name} has come back in a run, and is not among the cases"
    if document.night.ended is not None and document.night.exit_code != document.exit_code:
        yield f"it ended with {document.night.exit_code}, and what it says is {document.exit_code}"


def _other_than_told(told: Mapping[str, Any], document: NightDocument) -> Iterator[str]:
    """What a night's document says otherwise than what follows from it, in words.

    Args:
        told: all that is in ``night.json``.
        document: what the rest follows from.
    """
    for number, run in enumerate(document.runs):
        which = f"run {number}, of {run.subject}, is {run.outcome or 'not performed'}"
        wrong = run.exit_code == VALID
        if run.outcome is not None:
            wrong = run.exit_code != code_of(run.outcome)
        if wrong:
            yield f"{which}, and has the exit code {run.exit_code}"
        if run.outcome == "valid" and (run.failures or run.why):
            yield f"{which}, and has {'failures' if run.failures else f'the reason {run.why!r}'}"
    if document.night.ended is not None:
        if document.night.counts != document.counts:
            yield f"its counts are {_of(document.night.counts)}, and follow {_of(document.counts)}"
        for headed in (document.night.headline, str(told.get("headline"))):
            if _state(headed) != (state := _state(headline(document))):
                yield f"its headline is {_state(headed)!r}, and what it says is {state!r}"
    again = msgspec.json.decode(to_json(document))
    for name in ("name", "exit_code", "headline", "counts", "troubles"):
        if told.get(name) != again[name]:
            yield f"its {name} is {told.get(name)!r}, and what it says is {again[name]!r}"
    for each, made in zip(told["failures"], again["failures"], strict=True):
        for name in ("id", "what", "fingerprint", "story"):
            if each.get(name) != made[name]:
                yield f"{name} of the failure {made['id']} is {each.get(name)!r}"


def _state(headline: str) -> str:
    """What a headline says of the night, without why: words may change, and states do not."""
    return headline.partition(": ")[0]


def _of(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items() if number) or "none"


def check_night_parts(parts: Mapping[Path, NightDocument]) -> None:
    """See whether the parts make a whole.

    Raises:
        UsageError: they do not; it names the file.
    """
    first_path, first = next(iter(parts.items()))
    places: dict[int, Path] = {}
    of = 0
    for path, part in parts.items():
        if not part.night.shard:
            raise UsageError(f"{path}: a whole night: it was performed without --shard")
        try:
            shard = shard_of(part.night.shard)
        except ValueError as error:
            raise UsageError(f"{path}: no part of a night: {error}") from error
        of = of or shard.of
        if (shard.of, part.night.seed) != (of, first.night.seed):
            raise UsageError(
                f"{path}: not of the same night as {first_path}: give all parts the same --seed, "
                "and --shard I/N with the same N"
            )
        if shard.index in places:
            raise UsageError(f"{path}: is part {shard} like {places[shard.index]}")
        places[shard.index] = path
    if missing := [f"{number}/{of}" for number in range(of) if number not in places]:
        raise UsageError(f"parts are missing: {', '.join(missing)}")


def join(parts: Mapping[Path, NightDocument], store: Store, directory: Path) -> NightDocument:
    """Make one night of its parts, remember it, and write its documents.

    Whether a failure is new is asked of the store: each part knows only what it was given.

    Args:
        parts: ``night.json`` -> what it says; the cases lie beside it.
        store: where the night is remembered.
        directory: where its documents go.

    Raises:
        UsageError, UnreadableRun: a case beside a part is none.
        StoreError: something cannot be written.
    """
    nights = [part.night for part in parts.values()]
    row = _whole(nights, store)
    before = {each.id for each in store.failures()}
    document = merged(list(parts.values()), row)
    failures = [_placed(each, row, before) for each in document.failures]
    document = msgspec.structs.replace(document, failures=tuple(failures))
    row = msgspec.structs.replace(
        document.night,
        headline=headline(document),
        exit_code=document.exit_code,
        counts=document.counts,
    )
    document = msgspec.structs.replace(document, night=row)
    moved = _moved(parts, document)
    store.begin_night(row)
    for each in failures:
        store.note_failure(each.failure)
    known = {each.failure.id for each in failures}
    for run in document.runs:
        shown = tuple(failure for failure in run.failures if failure in known)
        store.note_run(row.name, msgspec.structs.replace(run, failures=shown))
    store.note_document(row.name, for_store(document))
    store.thin()
    for place, case in moved.items():
        save_case(case, inside(directory, place, option=OUTPUT), OUTPUT)
    write_outputs(document, directory, {})
    return document


def _whole(nights: Sequence[NightRow], store: Store) -> NightRow:
    first = min(nights, key=lambda night: night.began)
    ended = [night.ended for night in nights]
    return msgspec.structs.replace(
        first,
        name=store.new_name(first.name.partition(".")[0]),
        ended=max((each for each in ended if each is not None), default=time.time()),
        seconds=max(night.seconds for night in nights),
        interrupted=any(night.interrupted for night in nights),
        shard="",
    )


def _placed(each: FailureResult, night: NightRow, before: set[str]) -> FailureResult:
    """A failure as the whole night knows it."""
    state = each.state
    if state in ("new", "known"):
        state = "known" if each.failure.id in before else "new"
    failure = msgspec.structs.replace(
        each.failure, first_night=night.name, last_night=night.name, runs=0
    )
    return msgspec.structs.replace(each, failure=failure, state=state)


def _moved(parts: Mapping[Path, NightDocument], document: NightDocument) -> dict[str, Case]:
    """The cases that take the place of stale ones, by their files in the night's directory."""
    places = [each.moved for each in document.cases if each.moved]
    files = ((path.parent / place, place) for path in parts for place in places)
    return {place: load_case(source) for source, place in files if source.is_file()}
