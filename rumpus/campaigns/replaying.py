"""``rumpus.replay``: performs a case's run again and says whether the failure is still there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import msgspec

from rumpus.campaigns.case import Case, decode_case, load_case
from rumpus.campaigns.trial_task import TrialOutcome, TrialTask, perform
from rumpus.checker.untrusted_file import in_utf8
from rumpus.exit_codes import campaign_exit_code
from rumpus.results.escapes import escaped, in_python, in_python_name
from rumpus.results.reports.measure_text import version_line
from rumpus.trial_failed import TrialFailed
from rumpus.usage_error import UsageError

Reproduced = bool | Literal["unknown"]


@dataclass(frozen=True, kw_only=True)
class Replay:
    """What came of performing a case's run again.

    Attributes:
        name: of the case.
        case: the case.
        reproduced: whether its anomaly was seen; ``"unknown"`` if the run cannot be judged.
        anomaly: the anomaly that was seen: the expected one, else the first broken promise, else
            None.
        same: whether it was the very same run, by its digest.
        story: what led to the anomaly, line by line.
        reasons: the verdict's.
        versions: of the software that was used.
    """

    name: str
    case: Case
    reproduced: Reproduced
    anomaly: str | None = None
    same: bool = False
    story: Sequence[str] = ()
    reasons: Sequence[str] = ()
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """``reproduced``, ``not reproduced``, ``another anomaly: ...`` or ``unknown``."""
        if self.reproduced == "unknown":
            return "unknown"
        if self.reproduced:
            return "reproduced"
        return f"another anomaly: {self.anomaly}" if self.anomaly else "not reproduced"

    @property
    def exit_code(self) -> int:
        """1 if a failure was seen, the expected or another one; 3 if that is unknown; else 0."""
        return campaign_exit_code(
            failed=self.reproduced is True or self.anomaly is not None,
            undecided=self.reproduced == "unknown",
        )

    def assert_not_reproduced(self) -> None:
        """Do nothing if no promise was broken.

        Raises:
            TrialFailed: the anomaly, or another one, was seen, or the run cannot be judged.
        """
        __tracebackhide__ = True
        if self.reproduced is not False or self.anomaly is not None:
            raise TrialFailed(str(self))

    @property
    def lines(self) -> Sequence[str]:
        """The verdict, the story and the versions; the same text for the same run."""
        lines = [f"{self.verdict}: {self.case.expects}"]
        lines += [f"  {reason}" for reason in self.reasons]
        if self.story:
            lines += ["", "what happened:", *(f"  {line}" for line in self.story)]
        return [*lines, "", f"versions: {version_line(self.versions)}"]

    def __str__(self) -> str:
        """The lines, each in one line whatever texts of files are in it."""
        return "\n".join(map(escaped, self.lines))


def replay(case: Case | str | Path | Mapping[str, Any], **changes: Any) -> Replay:
    """Perform a case's run again.

    Args:
        case: a case, the path of its file, or what the file says: its text, or the same as a
            mapping.
        changes: options of ``rumpus.run`` that are to differ: ``kazoo="2.10.0"``,
            ``ensemble="docker"``.

    Raises:
        UsageError: it is no case, or asks for what does not exist.
        EnvironmentRefusal: this host does not allow it.
        WorkerCrash: a client's process failed by itself.
        KeyboardInterrupt: Ctrl-C.
    """
    name, found = _found(case)
    return judge_replay(name, found, perform(replay_task(found, **changes)))


def replay_task(case: Case, **changes: Any) -> TrialTask:
    """The run of a case, with some options changed.

    On real servers the system decides when threads are preempted, whatever the case says.

    Raises:
        UsageError: there is no such option.
    """
    if changes.get("ensemble") == "docker":
        changes.setdefault("preemption", "auto")
    try:
        return case.task(**changes)
    except msgspec.ValidationError as error:
        raise UsageError(str(error)) from error


def judge_replay(name: str, case: Case, outcome: TrialOutcome) -> Replay:
    """Whether a run showed a case's anomaly.

    Args:
        name: of the case.
        case: the case.
        outcome: what the run showed.
    """
    seen = outcome.find(case.expects, promised=case.promised)
    told = Replay(
        name=name,
        case=case,
        reproduced=seen is not None,
        same=outcome.digest is not None and outcome.digest == case.digest,
        reasons=outcome.reasons if outcome.outcome == "violation" else (),
        versions=outcome.versions,
    )
    if seen is None:
        seen = next((each for each in outcome.seen if each.promised), None)
        if seen is None and outcome.outcome == "unknown":
            return replace(told, reproduced="unknown", reasons=outcome.reasons)
        if seen is None and (lacking := sorted({*case.expects.faults} - {*case.plan.kinds})):
            why = f"the failure needs {', '.join(lacking)}, and the plan of the case has none"
            return replace(told, reproduced="unknown", reasons=(why,))
    return told if seen is None else replace(told, anomaly=str(seen.fingerprint), story=seen.story)


def _found(case: Case | str | Path | Mapping[str, Any]) -> tuple[str, Case]:
    """A case and its name."""
    if isinstance(case, Case):
        return case.name(), case
    if isinstance(case, Mapping):
        case = msgspec.json.encode(case).decode()
    if isinstance(case, str) and case.lstrip().startswith("{"):
        decoded = decode_case(case.encode(), "the given case")
        return decoded.name(), decoded
    path = Path(case)
    return case_name(path), load_case(path)


ENDING = ".case.json"
"""How the names of cases' files end."""


def case_name(path: Path, directory: Path | None = None) -> str:
    """The name of a case by its file; by its path in a directory if one is given.

    Bytes that are not UTF-8 are escaped: the name goes into documents and reports.
    """
    within = Path(path.name) if directory is None else path.relative_to(directory)
    return in_utf8(within).removesuffix(ENDING)


def as_test(cases: Mapping[str, Case]) -> str:
    """A test module that has cases in it: the test of each fails as long as its failure is there.

    Args:
        cases: name -> case.
    """
    lines = ['"""Failures that were kept as cases: written by `rumpus replay --as-test`."""', ""]
    lines += ["import rumpus"]
    functions: set[str] = set()
    for number, (name, case) in enumerate(cases.items(), 1):
        constant = "CASE" if len(cases) == 1 else f"CASE_{number}"
        function = f"test_{in_python_name(name)}"
        while function in functions:
            function += f"_{number}"
        functions.add(function)
        lines += ["", f"{constant} = {in_python(case.to_json().decode())}", "", ""]
        lines += [f"def {function}():"]
        lines += [f"    rumpus.replay({constant}).assert_not_reproduced()", ""]
    return "\n".join(lines)
