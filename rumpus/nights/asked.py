"""What a night is asked to do: by its file, its project, or a former night."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import msgspec

from rumpus.nights.night_file import USUAL_FILE, NightFile, load_night_file, night_file_of
from rumpus.nights.records import NightRow
from rumpus.nights.subjects import named_by, own_jobs
from rumpus.project_names import Names
from rumpus.project_settings import sent_by_others
from rumpus.runs.ensemble_choice import why_no_engine
from rumpus.trust import places_of, refusal, untrusted
from rumpus.usage_error import UsageError

_REMEDY: Final = (
    "name it in the night's file (rumpus nightly FILE --resume), or in your project's "
    "pyproject.toml"
)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a night is asked to do.

    Attributes:
        file: what is to run.
        path: of the file; where there is none, where it would be.
        source: who says it, in words.
        notes: what people should know.
        refused: number of a job -> why it is left out: it names code that nobody has trusted.
    """

    file: NightFile
    path: Path
    source: str
    notes: Sequence[str] = ()
    refused: Mapping[int, str] = field(default_factory=dict)

    @property
    def allowed(self) -> NightFile:
        """What is to run, without the jobs that are refused."""
        jobs = (job for number, job in enumerate(self.file.jobs) if number not in self.refused)
        return msgspec.structs.replace(self.file, jobs=tuple(jobs))

    def plain(self) -> dict[str, Any]:
        """As plain data, from which `asked_before` makes it again."""
        told: dict[str, Any] = msgspec.to_builtins(
            {"file": self.file, "path": str(self.path), "notes": list(self.notes)}
        )
        return told

    def why_no_engine(self) -> str | None:
        """Why real servers cannot be had; None if they can, or if nobody asks for them."""
        wanted = any("docker" in job.worlds for job in self.file.jobs)
        return why_no_engine() if wanted else None


def asked_now(path: Path | None, names: Names) -> Asked:
    """What is asked by a file, or by the project in which the working directory lies.

    Args:
        path: the file that was named; None: ``nightly.toml``, if there is one.
        names: the project's.

    Raises:
        UsageError: the file is malformed, or there is nothing to run.
    """
    ignored = ""
    if path is None:
        path, ignored = _usual_file()
    if path is not None:
        return Asked(file=load_night_file(path), path=path, source=f"as {path} says")
    place = Path.cwd() if names.settings.file is None else names.settings.file.parent
    missing = why_no_engine()
    jobs = own_jobs(names, ("sim",) if missing is not None else ("sim", "docker"))
    file = NightFile(jobs=tuple(jobs))
    if not jobs and not any((place / each).exists() for each in file.cases):
        raise UsageError(
            "there is nothing to run here: enter your recipe in pyproject.toml "
            "([tool.rumpus.recipes.NAME], see docs/reference/configuration.md), or write a night's "
            f"file ({USUAL_FILE}, see docs/how-to/nights.md){'; ' * bool(ignored)}{ignored}"
        )
    notes = [ignored] if ignored else []
    if missing is not None:
        notes.append(f"real servers were not tested: {missing}")
    return Asked(
        file=file,
        path=place / USUAL_FILE,
        source="all that the project names",
        notes=notes,
    )


def _usual_file() -> tuple[Path | None, str]:
    """``nightly.toml`` here, if there is one and it names code for us; else why it is ignored."""
    if not USUAL_FILE.exists():
        return None, ""
    if source := sent_by_others(Path.cwd()):
        return None, f"{USUAL_FILE} is ignored: {source}; name it if you trust its commands"
    return USUAL_FILE, ""


def asked_before(night: NightRow, path: Path | None = None, *, names: Names, store: Path) -> Asked:
    """What a former night was asked to do.

    A store may come from a stranger. So commands are run only if a file here has the same, and a
    job is left out if it names code that no file here names, and that is not trusted otherwise.

    Args:
        night: the former night.
        path: the night's file, if it is named; None: ``nightly.toml``.
        names: the project's.
        store: where the night is remembered.

    Raises:
        UsageError: this program does not understand it, or no file has its commands.
    """
    asked = _with_trusted_code(_remembered(night), night, path, names, store)
    if not asked.file.commands:
        return asked
    here = _usual_file()[0] if path is None else path
    if here is None or load_night_file(here).commands != asked.file.commands:
        raise UsageError(
            f"the night {night.name} goes on with commands that {here or 'no file here'} "
            f"{'does not have' if here else 'has'}: name the file that has them "
            "(rumpus nightly FILE --resume), or begin a new night"
        )
    return asked


def _with_trusted_code(
    asked: Asked, night: NightRow, path: Path | None, names: Names, store: Path
) -> Asked:
    """The same, which leaves out the jobs whose code nobody here has named or trusted."""
    wanted = {
        number: list(named_by(job, names, asked.path)) for number, job in enumerate(asked.file.jobs)
    }
    own: frozenset[str] | None = None
    refused: dict[int, str] = {}
    for number, runs in wanted.items():
        if not any(untrusted(store, settings) for settings in runs):
            continue
        if own is None:  # only now, as the file may have been removed since
            own = _named_here(path, names)
        whys = (refusal(store, each, named=own, remedy=_REMEDY) for each in runs)
        if why := next(filter(None, whys), ""):
            refused[number] = f"jobs[{number}] of the night {night.name} is left out: {why}"
    return replace(asked, refused=refused)


def _named_here(path: Path | None, names: Names) -> frozenset[str]:
    """The places of the code that a file of a night here names, or else the project."""
    here = _usual_file()[0] if path is None else path
    jobs = own_jobs(names, ("sim",)) if here is None else load_night_file(here).jobs
    file = here or USUAL_FILE
    return places_of(settings for job in jobs for settings in named_by(job, names, file))


def _remembered(night: NightRow) -> Asked:
    try:
        path, notes = Path(night.asked["path"]), list(night.asked["notes"])
        file = night_file_of(night.asked["file"], f"the night {night.name}")
    except (KeyError, TypeError) as error:
        raise UsageError(f"the night {night.name} cannot go on: it does not say what") from error
    return Asked(file=file, path=path, source=f"going on after {night.seconds:.0f} s", notes=notes)
