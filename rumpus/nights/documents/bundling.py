"""A bundle: one zip with all that a stranger needs to see a failure and to perform it again.

Nothing in it tells of the host or of its user. Its run is simulated, so it knows neither; logs and
the command line are left out; and whatever text goes in is searched for their names once more.
"""

import io
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from rumpus.campaigns.case import Case
from rumpus.campaigns.replaying import replay_task
from rumpus.campaigns.trial_task import outcome_of
from rumpus.harness.run_limits import RUN_S, for_seconds
from rumpus.nights.sources import source_files
from rumpus.results.escapes import escaped
from rumpus.results.reports.measure_text import version_line
from rumpus.results.reports.report import render_report
from rumpus.results.results_document import results_document
from rumpus.runs.judged_run import judged_run
from rumpus.usage_error import UsageError
from rumpus.workloads.own.references import is_reference

CASE: Final = "case.case.json"
"""The name of the case in a bundle."""

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""The time of every member: when it was packed, and where, is nobody's business."""

_PIP: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_PACKAGES: Final = ("kazoo", "rumpus")
"""The software of a run that pip installs, by the names of its versions."""


class Again(NamedTuple):
    """What came of performing a case's run for its report.

    Attributes:
        report: the page of the run; None if there is none.
        why: why there is none.
    """

    report: str | None
    why: str = ""


def performed_again(case: Case, file: str = CASE, seconds: float = RUN_S) -> Again:
    """The report of a case's run, performed anew in a temporary directory that is gone after.

    Args:
        case: the case.
        file: the name of its file, for the command that repeats it.
        seconds: of processor time that it may take.

    Raises:
        UsageError: what the case names does not exist.
        EnvironmentRefusal: this host does not allow it.
        WorkerCrash: a client's process failed by itself.
        KeyboardInterrupt: Ctrl-C.
        RunTooLong: it takes longer.
    """
    task = replay_task(case)
    if not task.repeatable:
        return Again(None, "its run is on real servers, where no run is the same again")
    with (
        for_seconds(seconds),
        judged_run(task.settings, lambda _: None, plan=task.plan) as judged,
    ):
        record, timeline, verdict = judged.judgement
        seen = outcome_of(judged.judgement, task.settings)
        if seen.find(case.expects, promised=case.promised) is None:
            return Again(None, "this version of the software does not show the failure")
        record.argv = ["rumpus", "replay", file]
        results = results_document(Path("run"), record, timeline, verdict)
        return Again(render_report(record, timeline, verdict, results))


def own_source(case: Case, here: Path) -> dict[str, str]:
    """The source of the modules that a case names, and of those of the project that they import.

    Modules are found by their names, in a directory and in its folder ``src``, and not imported.

    Args:
        case: the case.
        here: the directory of the project.

    Returns:
        Path, from the folder in which modules are found -> text.

    Raises:
        UsageError: a module cannot be read.
    """
    found: dict[str, str] = {}
    root = here.resolve()
    for name in ("workload", "recipe"):
        reference = str(case.settings.get(name) or "")
        if not is_reference(reference):
            continue
        for path in source_files(reference.partition(":")[0], [root, root / "src"]):
            if not path.resolve().is_relative_to(root):
                continue
            inside = path.relative_to(root)
            if inside.parts[0] == "src":
                inside = inside.relative_to("src")
            try:
                found[inside.as_posix()] = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise UsageError(
                    f"{path}: cannot be read ({error}); --without-source leaves it out"
                ) from error
    return found


def bundle(
    case: Case,
    *,
    again: Again,
    source: Mapping[str, str],
    private: Sequence[tuple[str, str]],
) -> bytes:
    """The zip.

    Args:
        case: the failure.
        again: the report of its run.
        source: path in the project -> text of a module.
        private: what must not be in it (paths, and names, which are looked for as words), and what
            is put in its place where that changes no meaning. Earlier ones first.

    Raises:
        UsageError: the case or the source has something private in it.
    """
    document = case.to_json().decode()
    remedies = {CASE: "give kazoo by its version and a recipe by its module, then shrink it again"}
    remedies |= dict.fromkeys(source, "change that, or leave it out with --without-source")
    for name, text in {CASE: document, **source}.items():
        for secret, _ in private:
            if re.search(_pattern(secret), text):
                why = f"{name} has {secret!r} in it, which tells of this host"
                raise UsageError(f"{why}: {remedies[name]}")
    members = {
        "story.txt": _text([str(case.expects), "", *case.story]),
        "versions.txt": "".join(
            f"{name}=={each}\n" for name, each in sorted(case.versions.items())
        ),
        "README.txt": _readme(case, again, bool(source)),
    }
    if again.report is not None:
        members["report.html"] = again.report
    for secret, instead in private:
        members = {name: re.sub(_pattern(secret), instead, x) for name, x in members.items()}
    members |= {CASE: document, **{f"source/{path}": text for path, text in source.items()}}
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in sorted(members.items()):
            member = zipfile.ZipInfo(name, _EPOCH)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            archive.writestr(member, text)
    return made.getvalue()


def _pattern(secret: str) -> str:
    """What finds it: a path anywhere, a name as a word."""
    if secret.startswith("/"):
        return re.escape(secret)
    return rf"(?<![\w-]){re.escape(secret)}(?![\w-])"


def _readme(case: Case, again: Again, has_source: bool) -> str:
    wanted = {name: case.versions.get(name, "") for name in _PACKAGES}
    packages = [f"{name}=={each}" for name, each in wanted.items() if _PIP.fullmatch(each)]
    place, file = ("cd source && ", f"../{CASE}") if has_source else ("", CASE)
    lines = [
        f"A failure found by rumpus: {case.expects}.",
        f"Workload {case.settings['workload']}, recipe {case.settings.get('recipe', 'the first')}.",
        "",
        "To perform it again, with Python 3.11 or later, in the directory of this file:",
        "",
        f"  pip install {' '.join(packages) or 'rumpus'}",
        f"  {place}rumpus replay {file}",
        "",
    ]
    if has_source:
        lines += [
            "That performs the modules in source: read them first. What they import of other",
            "projects must be installed.",
            "",
        ]
    lines.append(f"story.txt tells what happened. {CASE} is the run: options, seed and faults.")
    if again.report is not None:
        lines.append("report.html shows the run: open it with a browser.")
    else:
        lines.append(f"There is no report: {again.why}.")
    lines.append(f"It was seen with {version_line(case.versions)} (versions.txt).")
    return _text(lines)


def _text(lines: Iterable[str]) -> str:
    """Lines of text, of which none looks like two."""
    return "".join(f"{escaped(line)}\n" for line in lines)
