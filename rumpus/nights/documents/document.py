"""What came of a night: ``night.json``, from which its other documents are made.

The parts of a night that several machines share become one by joining their documents.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

import msgspec

from rumpus.exit_codes import DEFECT, ENVIRONMENT, UNDECIDED, USAGE, VALID, VIOLATION
from rumpus.nights.kept_cases import State
from rumpus.nights.records import FailureRow, Length, NightRow, RunRow

VERSION: Final = 1

_CODES: Final[Mapping[str, int]] = {
    "unstable": DEFECT,
    "defect": DEFECT,
    "usage": USAGE,
    "unfinished": UNDECIDED,
}
"""The exit codes of troubles; of all others that of the environment."""

Standing = Literal["new", "known", "expected", "base"]
"""``new``: no night before has seen it. ``known``: one has. ``expected``: a file of the repository
says so, or a kept case that is to show it. ``base``: it is there without the change, too."""


class CaseResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a case.

    Attributes:
        name: of the case.
        state: see ``kept_cases``.
        why: in words; empty if all is as it should be.
        again: the command that repeats it.
        near: how many runs near its plan were tried since it does not show its failure.
        moved: the file of a case that shows the failure anew, found near its plan; it is to take
            the place of this one.
    """

    name: str
    state: State
    why: str = ""
    again: str = ""
    near: int = 0
    moved: str = ""


class CanaryResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a canary.

    Attributes:
        name: whose mistake it is.
        state: ``found``; ``blind``: it was missed more often than chance allows; ``open``: it was
            missed, and the night ended before enough runs were done; ``unperformed``.
        runs: how many runs it had.
        rate: the share of runs that find it, as measured before.
        expected: the anomalies of which one should have been found.
        why: of one that could not be performed.
    """

    name: str
    state: Literal["found", "blind", "open", "unperformed"]
    runs: int
    rate: float
    expected: tuple[str, ...] = ()
    why: str = ""


class FailureResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A failure of this night.

    Attributes:
        failure: what it is; its ``runs`` are those of all nights.
        state: whether it is new.
        runs: how many runs of this night showed it.
        owner: who is told, by the night's file.
        why: why it is expected.
        file: of its case, in the night's directory.
    """

    failure: FailureRow
    state: Standing
    runs: int
    owner: str = ""
    why: str = ""
    file: str = ""


class CommandResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A command of the night's file: its exit code, and the end of what it said."""

    name: str
    exit_code: int
    seconds: Length
    said: str = ""


class NightDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A night.

    Attributes:
        version: of the format.
        night: the night as a whole.
        failures: promises that were broken.
        cases: what came of each case that had a turn.
        canaries: likewise.
        commands: likewise.
        runs: each run.
        waiting: subjects that had no turn; they come first the next time.
        cases_left: how many cases had no turn.
        expired: expected failures whose date is over, in words.
        gone: expected failures that were not seen though their recipes ran, in words.
        notes: what else has to be known to read this right.
        idle: why there was nothing to do; empty if there was something.
    """

    version: int = VERSION
    night: NightRow
    failures: tuple[FailureResult, ...] = ()
    cases: tuple[CaseResult, ...] = ()
    canaries: tuple[CanaryResult, ...] = ()
    commands: tuple[CommandResult, ...] = ()
    runs: tuple[RunRow, ...] = ()
    waiting: tuple[str, ...] = ()
    cases_left: int = 0
    expired: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    idle: str = ""

    @property
    def broken(self) -> Sequence[FailureResult]:
        """Promises broken that nobody expects, new ones first."""
        found = [each for each in self.failures if each.state in ("new", "known")]
        return sorted(found, key=lambda each: each.state != "new")

    @property
    def new(self) -> Sequence[FailureResult]:
        """Those of them that no night before has seen."""
        return [each for each in self.broken if each.state == "new"]

    def of_state(self, *states: State) -> Sequence[CaseResult]:
        """The cases that are found to be in one of these states."""
        return [each for each in self.cases if each.state in states]

    @property
    def trials(self) -> Sequence[RunRow]:
        """The runs that put recipes on trial."""
        return [run for run in self.runs if run.role == "run"]

    @property
    def unexplained(self) -> Mapping[str, int]:
        """Subject -> runs that were violations by none of the failures: by hazards (``strict``)."""
        known = {each.failure.id for each in self.failures}
        return Counter(
            run.subject
            for run in self.trials
            if run.outcome == "violation" and known.isdisjoint(run.failures)
        )

    @property
    def outcomes(self) -> Mapping[str, Counter[str]]:
        """Subject -> outcome -> number of runs; ``none`` of those that were not performed.

        Short and systematic runs count only if they are valid or violations: in most of them too
        little happens to decide more.
        """
        return outcomes_of((run.subject, run.kind, run.outcome or "none", 1) for run in self.trials)

    @property
    def unexercised(self) -> Sequence[str]:
        """Subjects of which no run was valid or a violation: too little happened in them."""
        return [key for key, counts in self.outcomes.items() if is_unexercised(counts)]

    @property
    def undecided(self) -> Sequence[str]:
        """Subjects most of whose runs could not be decided, and cases."""
        of_runs = [key for key, counts in self.outcomes.items() if is_undecided(counts)]
        return [*of_runs, *(each.name for each in self.of_state("undecided"))]

    @property
    def nothing_run(self) -> str:
        """What had no run at all although it was to have some, in words; empty if all is well."""
        if self.waiting and not self.trials:
            return "no recipe had a turn"
        looked = any(run.outcome for run in self.runs if run.role in ("run", "case"))
        return "" if looked or self.commands or self.idle else "nothing was run"

    @property
    def blind(self) -> Sequence[CanaryResult]:
        """The canaries that stayed green."""
        return [each for each in self.canaries if each.state == "blind"]

    @property
    def failed_commands(self) -> Sequence[CommandResult]:
        """Commands that did not end with 0."""
        return [each for each in self.commands if each.exit_code]

    @property
    def exit_code(self) -> int:
        """The exit code: of the gravest of what came of it, in this order.

        1: a promise is broken, or a hazard counts as that; a case has come back, an expectation is
        over, or a command failed.
        5: a canary stayed green, a run was not the same when performed again, or rumpus failed.
        4: what was to be looked at could not be: the host did not allow it. 2: or it does not
        exist, or nobody has trusted its code. 3: a case is stale, or was not performed or not to
        its end, nothing was exercised or decided somewhere, nothing was run at all, or the night
        was ended early. 0: none of these.
        """
        regressions = self.of_state("regression")
        if self.broken or self.unexplained or regressions or self.expired or self.failed_commands:
            return VIOLATION
        codes = {_CODES.get(each.kind, ENVIRONMENT) for each in self.night.troubles}
        codes |= {DEFECT} if self.blind else set()
        for code in (DEFECT, ENVIRONMENT, USAGE):
            if code in codes:
                return code
        open_ones = self.of_state("stale", "unperformed") or self.unexercised or self.undecided
        if UNDECIDED in codes or open_ones or self.nothing_run or self.night.interrupted:
            return UNDECIDED
        return VALID

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of what came of it."""
        return {
            "runs": len(self.trials),
            "broken": len(self.broken),
            "new": len(self.new),
            "expected": sum(each.state == "expected" for each in self.failures),
            "cases": len(self.cases),
            "regressions": len(self.of_state("regression")),
            "stale": len(self.of_state("stale")),
            "unexercised": len(self.unexercised),
            "undecided": len(self.undecided),
            "canaries": len(self.canaries),
            "blind": len(self.blind),
            "troubles": len(self.night.troubles),
        }


def outcomes_of(runs: Iterable[tuple[str, str, str, int]]) -> dict[str, Counter[str]]:
    """Subject -> outcome -> number of runs, as ``NightDocument.outcomes`` says.

    Args:
        runs: subject, kind of run, outcome, and how many there were of these.
    """
    found: dict[str, Counter[str]] = {}
    for subject, kind, outcome, number in runs:
        short = kind in ("short", "systematic") and outcome in ("inconclusive", "unknown")
        found.setdefault(subject, Counter())["short" if short else outcome] += number
    return found


def is_unexercised(counts: Mapping[str, int]) -> bool:
    """Whether no run of a subject was valid or a violation, but some were inconclusive."""
    judged = counts.get("valid", 0) + counts.get("violation", 0)
    return bool(counts.get("inconclusive")) and not judged


def is_undecided(counts: Mapping[str, int]) -> bool:
    """Whether most runs of a subject could not be decided."""
    return counts.get("unknown", 0) > counts.get("valid", 0) + counts.get("violation", 0)


def for_store(document: NightDocument) -> str:
    """The document in JSON, without runs and the failures' cases, which the store has already."""
    failures = [
        msgspec.structs.replace(each, failure=msgspec.structs.replace(each.failure, case=None))
        for each in document.failures
    ]
    kept = msgspec.structs.replace(document, runs=(), failures=tuple(failures))
    return msgspec.json.encode(kept, order="sorted").decode()


def to_json(document: NightDocument) -> bytes:
    """``night.json``: the document, with what follows from it at its head and of each failure."""
    plain = msgspec.to_builtins(document)
    for each, told in zip(document.failures, plain.get("failures", ()), strict=True):
        case = each.failure.case
        told |= {
            "id": each.failure.id,
            "what": str(each.failure),
            "fingerprint": str(each.failure.fingerprint),
            "case": each.file,
            "story": list(case.story) if case is not None else [],
        }
    head = {
        "version": document.version,
        "name": document.night.name,
        "exit_code": document.exit_code,
        "headline": document.night.headline,
        "counts": document.counts,
        "failures": [],
        "troubles": msgspec.to_builtins(document.night.troubles),
    }
    return msgspec.json.format(msgspec.json.encode(head | plain), indent=1) + b"\n"


def troubled_runs(runs: Sequence[RunRow]) -> Mapping[str, int]:
    """Why runs were not performed -> how many."""
    return Counter(run.why for run in runs if run.outcome is None and run.role != "command")


def merged(parts: Sequence[NightDocument], night: NightRow) -> NightDocument:
    """The document of a whole night, of its parts.

    Args:
        parts: at least one.
        night: what is said of the whole; its troubles are those of all parts.
    """
    failures: dict[str, FailureResult] = {}
    for each in (each for part in parts for each in part.failures):
        there = failures.get(each.failure.id)
        if there is None:
            failures[each.failure.id] = each
        else:
            better = there if there.failure.shrunk or not each.failure.shrunk else each
            failures[each.failure.id] = msgspec.structs.replace(better, runs=there.runs + each.runs)
    waiting = [set(part.waiting) for part in parts]
    troubles = tuple(trouble for part in parts for trouble in part.night.troubles)
    return NightDocument(
        night=msgspec.structs.replace(night, troubles=troubles),
        failures=tuple(failures.values()),
        cases=tuple(each for part in parts for each in part.cases),
        canaries=tuple(each for part in parts for each in part.canaries),
        commands=tuple(each for part in parts for each in part.commands),
        runs=tuple(each for part in parts for each in part.runs),
        waiting=tuple(sorted(set.intersection(*waiting))),
        cases_left=sum(part.cases_left for part in parts),
        expired=tuple(dict.fromkeys(each for part in parts for each in part.expired)),
        gone=tuple(sorted(set.intersection(*(set(part.gone) for part in parts)))),
        notes=tuple(dict.fromkeys(each for part in parts for each in part.notes)),
        idle=parts[0].idle if all(part.idle for part in parts) else "",
    )
