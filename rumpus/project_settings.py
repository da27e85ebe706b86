"""``[tool.rumpus]`` in ``pyproject.toml``: names, packages and defaults of a project.

docs/configuration.md describes the tables. The file is that of the working directory, or of the
nearest directory above it that has such a table.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from rumpus.usage_error import UsageError

FILE: Final = "pyproject.toml"
TABLE: Final = "tool.rumpus"

T = TypeVar("T", bound=msgspec.Struct)

_Seconds = Annotated[float, Meta(gt=0, le=10_000_000)]
REFERENCE: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class RecipeEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A recipe of the project: for which workload, its reference, what it promises."""

    workload: str
    recipe: str
    promises: tuple[str, ...] = ()


class Defaults(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"
):
    """Defaults of ``rumpus run`` and of ``rumpus.run``; what is not set stays as it is."""

    ensemble: Literal["auto", "docker", "sim"] | UnsetType = UNSET
    nodes: Annotated[int, Meta(ge=1, le=9)] | UnsetType = UNSET
    clients: Annotated[int, Meta(ge=1, le=100)] | UnsetType = UNSET
    time_limit: _Seconds | UnsetType = UNSET
    nemesis: tuple[str, ...] | UnsetType = UNSET
    nemesis_interval: _Seconds | UnsetType = UNSET
    seeds: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    seed: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | UnsetType = UNSET
    preemption: Literal["auto", "none", "blocking", "primitives", "lines"] | UnsetType = UNSET
    image: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET
    zookeeper: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET
    session_timeout: Annotated[float, Meta(ge=1, le=10)] | UnsetType = UNSET
    fencing: bool | UnsetType = UNSET
    action_time: Annotated[float, Meta(ge=0, le=30)] | UnsetType = UNSET
    guard: Annotated[float, Meta(ge=0, le=30)] | UnsetType = UNSET
    strict: bool | UnsetType = UNSET
    runs: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET
    keep: bool | UnsetType = UNSET

    def given(self) -> dict[str, Any]:
        """The options that are set, by their names in Python."""
        names = self.__struct_fields__
        return {name: value for name in names if (value := getattr(self, name)) is not UNSET}


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
        defaults: for all runs.
        by_workload: workload -> defaults of its runs.
    """

    file: Path | None = None
    recipes: Mapping[str, RecipeEntry] = {}
    workloads: Mapping[str, str] = {}
    faults: Mapping[str, str] = {}
    models: Mapping[str, str] = {}
    private: Sequence[str] = ()
    shared: Sequence[str] = ()
    defaults: Defaults = Defaults()
    by_workload: Mapping[str, Defaults] = {}

    def defaults_of(self, *workload: str) -> dict[str, Any]:
        """The defaults of a workload's runs, by their names in Python.

        Args:
            workload: its names: on the command line, and its reference.
        """
        found = self.defaults.given()
        for name in workload:
            if name in self.by_workload:
                found |= self.by_workload[name].given()
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
    for place in (directory, *directory.parents):
        file = place / FILE
        try:
            table = _table_of(file) if file.is_file() else None
        except OSError:  # nobody can reach a file there: its path is too long
            continue
        if table is not None:
            return _settings(file, table)
    return ProjectSettings()


def _table_of(file: Path) -> Any:
    """``[tool.rumpus]`` of a file; None if it has none."""
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: not TOML: {error}") from error
    except OSError as error:
        raise UsageError(f"{file}: it cannot be read: {error.strerror}") from error
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
        defaults=_defaults(file, f"{TABLE}.defaults", common),
        by_workload={
            name: _defaults(file, f"{TABLE}.defaults.{name}", value)
            for name, value in of_each.items()
        },
    )
    for kind in ("workloads", "faults", "models", "recipes"):
        for name, value in getattr(settings, kind).items():
            _check_name(settings, f"{kind}.{name}", name)
            reference = value.recipe if isinstance(value, RecipeEntry) else value
            _check_reference(settings, f"{kind}.{name}", reference)
    for key in ("private", "shared"):
        for package in getattr(settings, key):
            if not package.isidentifier():
                raise settings.refused(key, f"{package!r} is no name of a top-level package")
    if both := sorted(set(table.private) & set(table.shared)):
        raise settings.refused("shared", f"{', '.join(both)} is private, too: choose one")
    if "kazoo" in table.shared or "rumpus" in table.shared:
        raise settings.refused("shared", "kazoo and rumpus cannot be shared: leave them out")
    return settings


def _check_name(settings: ProjectSettings, key: str, name: str) -> None:
    if not NAME.fullmatch(name):
        raise settings.refused(key, "a name has letters, digits, '.', '_' and '-' only")


def _check_reference(settings: ProjectSettings, key: str, reference: Any) -> None:
    if not isinstance(reference, str) or not REFERENCE.fullmatch(reference):
        raise settings.refused(key, f"{reference!r} is not written like package.module:Name")


def _defaults(file: Path, key: str, raw: dict[str, Any]) -> Defaults:
    """Defaults; kinds of fault may be one text, as on the command line."""
    if isinstance(kinds := raw.get("nemesis"), str):
        raw = {**raw, "nemesis": [each for kind in kinds.split(",") if (each := kind.strip())]}
    return _converted(file, key, raw, Defaults)


def _converted(file: Path, key: str, raw: Any, kind: type[T]) -> T:
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        allowed = ""
        if "unknown field" in what:
            allowed = f"; the keys are {', '.join(kind.__struct_encode_fields__)}"
        raise UsageError(f"{file}: {key}{path.rstrip('`')}: {what}{allowed}") from error
