"""Parts of an exploration as data, and how they become one again.

A part says what was explored, all failures of its runs with the cases made of them, and the sums.
The parts' failures are told apart again in the order of their seeds, as one exploration of all
seeds would have done. So the findings are the same, with one exception: a failure that its part
took for one of an earlier finding, where all parts together know no such finding, gets the case
of that finding.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, Final, get_args

import msgspec

from rumpus.campaigns.explored_answer import explored_document, explored_exit_code
from rumpus.campaigns.exploring import Exploration
from rumpus.campaigns.findings import Death, Findings, Found, Unperformed
from rumpus.campaigns.looks import Failure
from rumpus.campaigns.rulings import NO_RULINGS, Rulings
from rumpus.campaigns.tasks import software
from rumpus.checker.verdict import Outcome
from rumpus.exit_codes import ENVIRONMENT
from rumpus.nemesis.plan import FaultPlan
from rumpus.results.fingerprint import Fingerprint
from rumpus.results.untrusted_file import read_regular
from rumpus.runs.option import checked
from rumpus.runs.run_settings import OPTIONS, RunSettings
from rumpus.runs.shard import MOST_PARTS, Shard
from rumpus.usage_error import UsageError

VERSION: Final = 3

_LARGEST: Final = 1 << 28  # bytes; 10,000 runs make about one megabyte

_APART: Final = frozenset({"argv", "runs", "plan", "fixed"})
"""Fields of ``RunSettings`` in which parts may differ, or that are told in another way."""

_LONGEST_TOLD: Final = 100
"""Characters of a value that an error names."""

MOST_TOLD: Final = 10
"""How many missing parts an error names."""

_Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 53)]
_Signature = Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=10**12)]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What a part of an exploration has seen.

    Attributes:
        version: of the format.
        index: which part, from 0.
        of: how many there are.
        campaign: what was asked for and which software was used: the same in all parts.
        interrupted: whether it did not come to its end.
        runs: as in ``Exploration``; likewise what follows.
        failures: as in ``Findings``; likewise ``taken``, ``made``, ``deaths`` and ``accepted``.
    """

    version: int = VERSION
    index: int
    of: int
    campaign: dict[str, Any]
    interrupted: bool
    runs: _Count
    short_runs: _Count
    virtual_seconds: _Seconds
    cpu_seconds: _Seconds
    outcomes: dict[str, _Count]
    short_outcomes: dict[str, _Count]
    signatures: tuple[_Signature, ...]
    accepted: _Count
    failures: tuple[Failure, ...]
    taken: tuple[_Count, ...]
    made: tuple[Found, ...]
    deaths: tuple[Death, ...]
    errors: tuple[Unperformed, ...]


class _Document(msgspec.Struct):
    """What ``rumpus explore --json`` prints, as far as it matters here."""

    runs: int
    part: Part | None = None


def campaign(
    settings: RunSettings,
    *,
    plan: FaultPlan | None,
    seeds: int | None,
    profile: str | None,
    shrink: int,
    known: Sequence[Fingerprint],
    rulings: Rulings = NO_RULINGS,
) -> dict[str, Any]:
    """What all parts of an exploration must have in common, as plain data.

    Args:
        settings: what is run.
        plan: the faults of all runs.
        seeds: how many seeds all parts have together; None if time ends them.
        profile: the swarm of runs with odd seeds.
        shrink: how many smaller runs are tried for each failure.
        known: failures that are accepted.
        rulings: what persons have decided.
    """
    told = {
        each.name: getattr(settings, each.name)
        for each in fields(settings)
        if each.name not in _APART
    }
    told |= {"plan": plan, "seeds": seeds, "profile": profile, "shrink": shrink}
    told |= {"known": known, "rulings": rulings, "software": dict(software())}
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(msgspec.to_builtins(told)))
    return plain


def part_of(
    explored: Exploration, shard: Shard, campaign: Mapping[str, Any], *, interrupted: bool
) -> Part:
    """The part that an exploration of a shard has seen."""
    findings = explored.findings
    return Part(
        index=shard.index,
        of=shard.of,
        campaign=dict(campaign),
        interrupted=interrupted,
        runs=explored.runs,
        short_runs=explored.short_runs,
        virtual_seconds=explored.virtual_seconds,
        cpu_seconds=explored.cpu_seconds,
        outcomes=explored.outcomes,
        short_outcomes=explored.short_outcomes,
        signatures=tuple(sorted(explored.signatures)),
        accepted=findings.accepted,
        failures=tuple(findings.failures),
        taken=tuple(findings.taken),
        made=tuple(findings.made),
        deaths=tuple(findings.deaths),
        errors=tuple(explored.errors),
    )


def load_part(path: Path) -> Part:
    """Read a part from what ``rumpus explore --shard I/N --json`` has printed.

    Raises:
        UsageError: it is malformed, or not of a part.
        UnreadableRun: it is no regular file, or is too large.
    """
    text = read_regular(path, "read the results", _LARGEST)
    try:
        document = msgspec.json.decode(text, type=_Document)
        if document.part is None:
            raise UsageError(f"{path}: is not of a part: it was made without --shard")
        for found in document.part.made:
            found.case.task()
        _rulings_of(document.part)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(
            f"{path}: not what `rumpus explore --shard I/N --json` prints: {error}"
        ) from error
    part = document.part
    asked = {
        name: value
        for name, value in part.campaign.items()
        if value is not None and name not in _APART
    }
    checked(asked, OPTIONS, spelled=f"{path}: {{0.spelled}}")
    if part.version != VERSION:
        raise UsageError(f"{path}: has version {part.version}; this program reads {VERSION}")
    if not 0 <= part.index < part.of <= MOST_PARTS:
        raise UsageError(f"{path}: there is no part {part.index}/{part.of}")
    if len(part.failures) != len(part.taken):
        raise UsageError(
            f"{path}: has {len(part.failures)} failures, of which {len(part.taken)} have a case"
        )
    for failure, number in zip(part.failures, part.taken, strict=True):
        if number >= len(part.made):
            raise UsageError(f"{path}: has no case of the failure of seed {failure.seed}")
    answer: dict[str, Any] = msgspec.json.decode(text)
    if why := next(chain(_inconsistent(part), _other_than_told(answer, part)), None):
        raise UsageError(
            f"{path}: contradicts itself: {why}; it was damaged or changed, so make that part again"
        )
    return part


def _inconsistent(part: Part) -> Iterator[str]:
    """What of a part does not add up, in words. No exploration writes such a part."""
    for number, outcomes, what in (
        (part.runs, part.outcomes, "runs"),
        (part.short_runs, part.short_outcomes, "short runs"),
    ):
        if unknown := sorted(outcomes.keys() - set(get_args(Outcome))):
            yield f"no run has the outcome {unknown[0]!r}"
        if (total := sum(outcomes.values())) != number:
            yield f"it has {number:,} {what}, and outcomes of {total:,}"
    for outcome, number in part.short_outcomes.items():
        if number > (all_of_them := part.outcomes.get(outcome, 0)):
            yield f"{number:,} short runs were {outcome}, and of all only {all_of_them:,}"
    if part.accepted and not part.campaign.get("known"):
        yield f"{part.accepted:,} failures were accepted, but the exploration accepts none"
    if part.failures and not part.outcomes.get("violation"):
        yield f"it has {len(part.failures):,} failures, but no run was a violation"
    if not part.campaign.get("strict") and (number := merge([part]).unexplained):
        yield (
            f"{part.outcomes['violation']:,} runs were violations, and of {number:,} of these it "
            "has no failure"
        )


def told_of(part: Part, *, lost: bool = False) -> dict[str, Any]:
    """What `rumpus explore --json` prints beside a part, as it follows from it.

    Args:
        part: the part.
        lost: whether it was interrupted because whoever performed its runs has gone.
    """
    explored = merge([part])
    code = explored_exit_code(explored, interrupted=part.interrupted)
    if part.interrupted and lost:
        code = ENVIRONMENT
    nowhere = [Path()] * len(explored.findings.found)
    made = explored_document(explored, nowhere, code, interrupted=part.interrupted)
    found: dict[str, Any] = msgspec.to_builtins(made)
    return found


def _other_than_told(answer: Mapping[str, Any], part: Part) -> Iterator[str]:
    """What the document of a part says otherwise than what is made of the part, in words.

    Args:
        answer: what `rumpus explore` has printed of the part, with it.
        part: what it has.
    """
    for name, value in told_of(part, lost=answer.get("exit_code") == ENVIRONMENT).items():
        told = answer.get(name)
        same = told == value
        if name == "findings":
            same = _without_places(told) == _without_places(value)
        if not same:
            yield f"its {name} is {_shortly(told)}, and by its part {_shortly(value)}"


def _without_places(findings: Any) -> Any:
    """Findings as a document tells them, without where their cases are."""
    if not isinstance(findings, list):
        return findings
    return [
        {name: value for name, value in each.items() if name not in ("case", "again")}
        if isinstance(each, dict)
        else each
        for each in findings
    ]


def _shortly(value: Any) -> str:
    """A value of a document as an error names it."""
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST_TOLD else f"{text[:_LONGEST_TOLD]}..."


def check_parts(parts: Mapping[Path, Part]) -> None:
    """See whether the parts make a whole.

    Args:
        parts: file -> part, at least one.

    Raises:
        UsageError: they do not; it names the file.
    """
    first_path, first = next(iter(parts.items()))
    places: dict[int, Path] = {}
    for path, part in parts.items():
        if part.of != first.of:
            raise UsageError(f"{path}: one of {part.of} parts; {first_path} is one of {first.of}")
        for name in sorted({*part.campaign, *first.campaign}):
            here, there = part.campaign.get(name), first.campaign.get(name)
            if here != there:
                raise UsageError(
                    f"{path}: not of the same exploration as {first_path}: {name} is {here!r} "
                    f"instead of {there!r}"
                )
        if part.index in places:
            shard = Shard(part.index, part.of)
            raise UsageError(f"{path}: is part {shard} like {places[part.index]}")
        places[part.index] = path
    missing = islice((i for i in range(first.of) if i not in places), MOST_TOLD)
    if told := [str(Shard(i, first.of)) for i in missing]:
        more = first.of - len(places) - len(told)
        rest = [f"and {more:,} more"] if more else []
        raise UsageError(f"parts are missing: {', '.join([*told, *rest])}; given: {_listed(parts)}")


def _listed(paths: Mapping[Path, Part]) -> str:
    return ", ".join(map(str, paths))


def _rulings_of(part: Part) -> Rulings:
    """What persons have decided; raises ``msgspec.MsgspecError`` if it is malformed."""
    return msgspec.convert(part.campaign.get("rulings") or {}, Rulings)


def merge(parts: Sequence[Part]) -> Exploration:
    """What an exploration of all seeds of the parts would have seen."""
    whole = Exploration(Findings(rulings=_rulings_of(parts[0])))
    for part in parts:
        whole.runs += part.runs
        whole.short_runs += part.short_runs
        whole.virtual_seconds += part.virtual_seconds
        whole.cpu_seconds += part.cpu_seconds
        whole.signatures.update(part.signatures)
        for counts, more in (
            (whole.outcomes, part.outcomes),
            (whole.short_outcomes, part.short_outcomes),
        ):
            for outcome, count in more.items():
                counts[outcome] = counts.get(outcome, 0) + count
        whole.findings.accepted += part.accepted
    failures = [
        (failure, part.made[number])
        for part in parts
        for failure, number in zip(part.failures, part.taken, strict=True)
    ]
    for failure, made in sorted(failures, key=lambda pair: pair[0].seed):
        whole.findings.note(failure, lambda made=made: made)  # type: ignore[misc]
    for death in sorted((d for part in parts for d in part.deaths), key=lambda each: each.seed):
        whole.findings.note_death(death)
    whole.errors = sorted((e for part in parts for e in part.errors), key=lambda each: each.seed)
    return whole
