"""``[tool.rumpus]`` in ``pyproject.toml``: names, packages and defaults of a project.

docs/reference/configuration.md describes the tables. The file is that of the working directory,
or of the nearest directory above it that has such a table. Directories that people send each other,
a run's or one with a case, may have such a file too: it is nobody's project there, and ignored.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from rumpus.checker import untrusted_file
from rumpus.checker.nearest_name import nearest
from rumpus.option_values import OWN_PACKAGES, SHARED_PACKAGES, WrongValue
from rumpus.untrusted_toml import LARGEST, read_toml
from rumpus.usage_error import UsageError

FILE: Final = "pyproject.toml"
TABLE: Final = "tool.rumpus"

_OF_RUNS: Final = "test.json"
_OR_ELSE: Final = ("history.jsonl", "seal.json")
"""A run's directory has the former, and one of the latter."""

_CASES: Final = "*.case.json"

REFERENCE: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class RecipeEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A recipe of the project: for which workload, its reference, what it promises."""

    workload: str
    recipe: str
    promises: tuple[str, ...] = ()


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    recipes: dict[str, Any] = {}
    workloads: dict[str, Any] = {}
    faults: dict[str, Any] = {}
    models: dict[str, Any] = {}
    private: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    defaults: dict[str, Any] = {}


class ProjectSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a project says in its ``pyproject.toml``.

    Args:
        file: that file; None if there is none with such a table, and all else is empty.
        recipes: name -> entry.
        workloads: name -> ``package.module:Class``.
        faults: the same for kinds of fault.
        models: the same for models.
        private: packages of which each simulated process gets its own copy.
        shared: packages that all simulated processes share.
        defaults: options of all runs, by name.
        by_workload: workload -> options of its runs.
        ignored: files that are no project's, and why, each in words.
    """

    file: Path | None = None
    recipes: Mapping[str, RecipeEntry] = {}
    workloads: Mapping[str, str] = {}
    faults: Mapping[str, str] = {}
    models: Mapping[str, str] = {}
    private: Sequence[str] = ()
    shared: Sequence[str] = ()
    defaults: Mapping[str, Any] = {}
    by_workload: Mapping[str, Mapping[str, Any]] = {}
    ignored: Sequence[str] = ()

    def defaults_of(self, *workload: str) -> dict[str, Any]:
        """The defaults of a workload's runs, by the options' names.

        Args:
            workload: its names: on the command line, and its reference.
        """
        found = dict(self.defaults)
        for name in workload:
            found |= self.by_workload.get(name, {})
        return found

    def refused(self, key: str, why: str) -> UsageError:
        """The error for a value that cannot be, which names the file and the key."""
        return UsageError(f"{self.file}: {TABLE}.{key}: {why}")


def find_settings(directory: Path) -> ProjectSettings:
    """The settings of the project in which a directory lies.

    Raises:
        UsageError: a file cannot be read, or has an unknown key or a wrong value; the message
            names the file and the key.
    """
    ignored = []
    for place in (directory, *directory.parents):
        file = place / FILE
        try:
            if not file.is_file():
                continue
            if source := sent_by_others(place):
                if _speaks_of_rumpus(file):
                    ignored.append(f"{file} is ignored: {source}")
                continue
        except OSError:  # nobody can reach a file there: its path is too long
            continue
        table = _table_of(file)
        if table is not None:
            return msgspec.structs.replace(_settings(file, table), ignored=ignored)
    return ProjectSettings(ignored=ignored)


def run_around(directory: Path) -> Path | None:
    """The run's directory in which a directory lies, or which it is; None if there is none."""
    for place in (directory, *directory.parents):
        if (place / _OF_RUNS).exists() and any((place / each).exists() for each in _OR_ELSE):
            return place
    return None


def sent_by_others(directory: Path) -> str:
    """Why a file in a directory is no project's, and names no code; empty if it may be one's."""
    if run := run_around(directory):
        return f"it lies in the run {run}, which anybody may have sent"
    if case := next(directory.glob(_CASES), None):
        return (
            f"it lies beside the case {case.name}, which anybody may have sent; keep the cases of "
            "a project in a folder of their own"
        )
    return ""


def _speaks_of_rumpus(file: Path) -> bool:
    with untrusted_file.open_regular(file) as opened:
        return b"rumpus" in opened.read(LARGEST)


def _table_of(file: Path) -> Any:
    """``[tool.rumpus]`` of a file; None if it has none."""
    document = read_toml(file, "read the project's settings")
    tool = document.get("tool")
    return tool.get("rumpus") if isinstance(tool, dict) else None


def _settings(file: Path, raw: Any) -> ProjectSettings:
    table = _converted(file, TABLE, raw, _Table)
    common = {key: value for key, value in table.defaults.items() if not isinstance(value, dict)}
    of_each = {key: value for key, value in table.defaults.items() if isinstance(value, dict)}
    recipes = {
        name: _converted(file, f"{TABLE}.recipes.{name}", value, RecipeEntry)
        for name, value in table.recipes.items()
    }
    settings = ProjectSettings(
        file=file,
        recipes=recipes,
        workloads=table.workloads,
        faults=table.faults,
        models=table.models,
        private=table.private,
        shared=table.shared,
        defaults=read_options(file, f"{TABLE}.defaults", common),
        by_workload={
            name: read_options(file, f"{TABLE}.defaults.{name}", value)
            for name, value in of_each.items()
        },
    )
    for kind in ("workloads", "faults", "models", "recipes"):
        for name, value in getattr(settings, kind).items():
            _check_name(settings, f"{kind}.{name}", name)
            reference = value.recipe if isinstance(value, RecipeEntry) else value
            _check_reference(settings, f"{kind}.{name}", reference)
    for key, packages in (("private", OWN_PACKAGES), ("shared", SHARED_PACKAGES)):
        try:
            packages.checked(getattr(table, key))
        except WrongValue as error:
            raise settings.refused(key, str(error)) from None
    if both := sorted(set(table.private) & set(table.shared)):
        raise settings.refused("shared", f"{', '.join(both)} is private, too: choose one")
    return settings


def _check_name(settings: ProjectSettings, key: str, name: str) -> None:
    if not NAME.fullmatch(name):
        raise settings.refused(key, "a name has letters, digits, '.', '_' and '-' only")


def _check_reference(settings: ProjectSettings, key: str, reference: Any) -> None:
    if not isinstance(reference, str) or not REFERENCE.fullmatch(reference):
        raise settings.refused(key, f"{reference!r} is not written like package.module:Name")


def read_options(file: Path, key: str, raw: Any) -> dict[str, Any]:
    """Options of runs that a file gives, by their names.

    Args:
        file: for errors, as is ``key``.
        key: where in the file they stand.
        raw: the table.

    Raises:
        UsageError: one is unknown, or has a wrong value.
    """
    if raw == {}:
        return {}
    # Most projects have no defaults, and the declarations of options are slow to import.
    from rumpus.runs.option import checked  # noqa: PLC0415
    from rumpus.runs.run_options import TRIAL_OPTIONS  # noqa: PLC0415

    known = {each.key: each for each in TRIAL_OPTIONS.values() if each.option.in_project}
    given = _converted(file, key, raw, dict[str, Any])
    if unknown := sorted(given.keys() - known.keys()):
        raise UsageError(
            f"{file}: {key}: unknown field `{unknown[0]}`{_allowed(unknown[0], known)}"
        )
    named = {known[name].name: value for name, value in given.items()}
    return checked(named, TRIAL_OPTIONS, spelled=f"{file}: {key}.{{0.key}}")


def _converted(file: Path, key: str, raw: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        allowed = ""
        if "unknown field" in what:
            field = what.rpartition(" `")[2].rstrip("`")
            allowed = _allowed(field, kind.__struct_encode_fields__)
        raise UsageError(f"{file}: {key}{path.rstrip('`')}: {what}{allowed}") from error


def _allowed(key: str, keys: Iterable[str]) -> str:
    near = nearest(key, known := [*keys])
    return f"; did you mean `{near}`?" if near else f"; the keys are {', '.join(known)}"
