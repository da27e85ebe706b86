"""What a night is asked to do: by its file, its project, or a former night."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from rumpus.nights.night_file import USUAL_FILE, NightFile, load_night_file, night_file_of
from rumpus.nights.records import NightRow
from rumpus.nights.subjects import own_jobs
from rumpus.project_names import Names
from rumpus.project_settings import sent_by_others
from rumpus.runs.ensemble_choice import why_no_engine
from rumpus.usage_error import UsageError


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a night is asked to do.

    Attributes:
        file: what is to run.
        path: of the file; where there is none, where it would be.
        source: who says it, in words.
        notes: what people should know.
    """

    file: NightFile
    path: Path
    source: str
    notes: Sequence[str] = ()

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


def asked_before(night: NightRow, path: Path | None = None) -> Asked:
    """What a former night was asked to do.

    A store may come from a stranger. So commands are run only if a file here has the same.

    Args:
        night: the former night.
        path: the night's file, if it is named; None: ``nightly.toml``.

    Raises:
        UsageError: this program does not understand it, or no file has its commands.
    """
    asked = _remembered(night)
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


def _remembered(night: NightRow) -> Asked:
    try:
        path, notes = Path(night.asked["path"]), list(night.asked["notes"])
        file = night_file_of(night.asked["file"], f"the night {night.name}")
    except (KeyError, TypeError) as error:
        raise UsageError(f"the night {night.name} cannot go on: it does not say what") from error
    return Asked(file=file, path=path, source=f"going on after {night.seconds:.0f} s", notes=notes)
