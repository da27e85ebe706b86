"""What GitHub Actions shows of a night: annotations, and a badge.

``python -m rumpus.nights.documents.on_github NIGHT.json [--badge FILE]`` prints a workflow command
for each new failure, which the runner shows beside the file of the recipe. It reads what a night
has left, so the night may have been performed by another machine.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rumpus.consoles import Lines, notices
from rumpus.exit_codes import UNDECIDED, VALID, VIOLATION, exit_code, in_words
from rumpus.option_values import is_there
from rumpus.project_settings import REFERENCE, find_settings
from rumpus.results.atomic_file import named_file, write_atomically
from rumpus.results.escapes import in_workflow_command, in_workflow_property
from rumpus.results.store_error import StoreError, UnreadableRun
from rumpus.results.untrusted_file import read_regular
from rumpus.usage_error import UsageError

_BADGE = "--badge FILE"
_LARGEST = 1 << 28


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A failure in ``night.json``; the fields that are shown."""

    id: str
    what: str
    state: str
    fingerprint: str = ""
    owner: str | None = None
    case: str | None = None
    story: str | list[str] | None = None


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """What kept the night from looking, in ``night.json``."""

    kind: str
    what: str


class Night(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of ``night.json``."""

    name: str
    exit_code: int
    headline: str
    failures: list[Failure] = []
    troubles: list[Trouble] = []


def load_night(path: Path) -> Night:
    """Read what a night has left.

    Raises:
        UnreadableRun: it cannot be read, or is not of a night.
    """
    try:
        return msgspec.json.decode(read_regular(path, "read it", _LARGEST), type=Night)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableRun(
            path, f"is not what a night leaves ({error})", "name a night.json"
        ) from error


def annotations(night: Night, source: Callable[[str], str | None]) -> list[str]:
    """Workflow commands: errors for new failures, warnings for what the night could not look at.

    A night that is red for another reason has its headline as an error.

    Args:
        night: what is known of it.
        source: from what a failure is of to the file that has it, relative to the repository.
    """
    new = [failure for failure in night.failures if failure.state == "new"]
    errors = [
        _command("error", f"rumpus: new failure {each.id}", _told(each), source(each.what))
        for each in new
    ]
    if night.exit_code != VALID and not new:
        errors = [_command("error", "rumpus", night.headline)]
    warnings = [_command("warning", f"rumpus: {each.kind}", each.what) for each in night.troubles]
    return [*errors, *warnings]


def badge(night: Night) -> dict[str, Any]:
    """What shields.io makes a badge of (its "endpoint badge"): when the recipes were verified."""
    words, color = {
        VALID: ("verified", "brightgreen"),
        VIOLATION: ("broken", "red"),
        UNDECIDED: ("undecided", "yellow"),
    }.get(night.exit_code, ("not verified", "lightgrey"))
    return {
        "schemaVersion": 1,
        "label": "rumpus",
        "message": f"{words} {night.name[: len('2026-11-26')]}",
        "color": color,
    }


def file_of(what: str, here: Path, recipes: Mapping[str, str]) -> str | None:
    """The file to show a failure beside: the recipe's module, or else where recipes are named.

    Args:
        what: of what the failure is, as in ``lock / warehouse.lock:WarehouseLock``.
        here: the root of the repository.
        recipes: the names that the project gives to references.
    """
    words = [word.rstrip(",:") for word in what.split()]
    references = [recipes.get(word, word) for word in words]
    for module in (each.partition(":")[0] for each in references if REFERENCE.fullmatch(each)):
        path = module.replace(".", "/")
        for file in (f"{path}.py", f"src/{path}.py", f"{path}/__init__.py"):
            if is_there(here / file) and (here / file).is_file():
                return file
    return "pyproject.toml" if (here / "pyproject.toml").is_file() else None


def main(words: Sequence[str] | None = None) -> int:
    """Print the annotations and write the badge; the exit code says whether that was possible."""
    parser = argparse.ArgumentParser(
        prog="python -m rumpus.nights.documents.on_github",
        description="What GitHub shows of a night.",
    )
    parser.add_argument("night", type=Path, metavar="NIGHT.json", help="what the night has left")
    parser.add_argument("--badge", type=Path, metavar="FILE", help="write a badge for shields.io")
    arguments = parser.parse_args(words)
    here = Path.cwd()
    try:
        night = load_night(arguments.night)
        recipes = {name: each.recipe for name, each in find_settings(here).recipes.items()}
        lines = annotations(night, lambda what: file_of(what, here, recipes))
        sys.stdout.writelines(f"{line}\n" for line in lines)
        if arguments.badge is not None:
            place = named_file(arguments.badge, option=_BADGE)
            write_atomically(place, msgspec.json.encode(badge(night)) + b"\n", option=_BADGE)
    except (StoreError, UsageError) as error:
        notices().print(Lines(f"rumpus: {in_words(error)}", "red"), soft_wrap=True)
        return exit_code(error)
    return VALID


def _told(failure: Failure) -> str:
    lines = [failure.what]
    if failure.fingerprint and failure.fingerprint not in failure.what:
        lines.append(failure.fingerprint)
    lines += [failure.story] if isinstance(failure.story, str) else failure.story or []
    lines += [f"Owner: {failure.owner}"] if failure.owner else []
    lines += [f"Case, in the artifact: {failure.case}"] if failure.case else []
    return "\n".join(lines)


def _command(kind: str, title: str, message: str, file: str | None = None) -> str:
    properties = {"file": file} if file else {}
    properties["title"] = title
    told = ",".join(f"{key}={in_workflow_property(value)}" for key, value in properties.items())
    return f"::{kind} {told}::{in_workflow_command(message)}"


if __name__ == "__main__":
    sys.exit(main())
