"""Names that a project and the libraries beside it give to recipes, workloads, faults and models.

A project names them in its ``pyproject.toml`` (``project_settings``). A library ships them as entry
points in the groups ``rumpus.recipes``, ``rumpus.workloads``, ``rumpus.faults`` and
``rumpus.models``; the name of a recipe is there ``WORKLOAD.NAME``. A name stands for a reference,
``package.module:Name``. Whatever is resolved here is a reference from then on, so a run's record
and its command do not depend on the names.

Commands that judge a history read the names too, so what only runs need is imported late.
"""

import contextlib
import functools
import importlib.util
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from rumpus.checker.deciders.registry import MODELS
from rumpus.checker.nearest_name import meant, nearest
from rumpus.project_settings import (
    NAME,
    REFERENCE,
    ProjectSettings,
    find_settings,
    run_around,
)
from rumpus.usage_error import UsageError
from rumpus.workloads.own.references import NotFound, is_reference, referred
from rumpus.workloads.registry import WORKLOADS, unknown_workload

if TYPE_CHECKING:
    from rumpus.runs.run_settings import RunSettings

Kind = Literal["recipes", "workloads", "faults", "models"]

KINDS: Final[tuple[Kind, ...]] = ("workloads", "recipes", "faults", "models")


@dataclass(frozen=True, kw_only=True)
class Named:
    """A name of something that is not part of rumpus.

    Attributes:
        kind: what it is.
        name: its name; unique among its kind, and for recipes among those of a workload.
        reference: ``package.module:Name``.
        source: who gives the name: ``pyproject.toml``, or a library and its version.
        workload: of a recipe, the workload's name or reference.
        promises: of a recipe, names of what it promises.
    """

    kind: Kind
    name: str
    reference: str
    source: str
    workload: str = ""
    promises: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Names:
    """All names that are not those of rumpus.

    Attributes:
        settings: the project's.
        named: the project's names, then those of libraries.
        warnings: what is wrong with libraries' entry points, which are left out.
    """

    settings: ProjectSettings
    named: Sequence[Named]
    warnings: Sequence[str] = ()

    def of_kind(self, kind: Kind) -> dict[str, Named]:
        """The names of a kind; for recipes use ``recipes_of``."""
        return {each.name: each for each in reversed(self.named) if each.kind == kind}

    def recipes_of(self, workload: str) -> dict[str, Named]:
        """The recipes of a workload, given by its name or reference."""
        wanted = self.workload(workload)
        return {
            each.name: each
            for each in reversed(self.named)
            if each.kind == "recipes" and self.workload(each.workload) == wanted
        }

    def workload(self, name: str) -> str:
        """The name of a workload of rumpus, or the reference that a name stands for.

        Raises:
            UsageError: there is no such workload.
        """
        if name in WORKLOADS or is_reference(name):
            return name
        own = self.of_kind("workloads")
        if name not in own:
            raise UsageError(unknown_workload(name, own))
        return own[name].reference

    def model(self, name: str) -> str:
        """The reference that a model's name stands for; any other name is returned as it is."""
        own = self.of_kind("models")
        return own[name].reference if name in own else name

    def kinds(self, kinds: Iterable[str]) -> tuple[list[str], list[str]]:
        """Kinds of fault of rumpus, and references of others, each once.

        Raises:
            UsageError: there is no such kind.
        """
        from rumpus.nemesis.registry import BUILT_IN  # noqa: PLC0415 - slow to import

        own = self.of_kind("faults")
        wanted = list(kinds)
        known = (*BUILT_IN, *own)
        unknown = [kind for kind in wanted if kind not in known and not is_reference(kind)]
        if unknown:
            if alone := next((kind for kind in ("none", "all") if kind in unknown), None):
                raise UsageError(f"{alone!r} stands by itself: leave it out, or the other faults")
            raise UsageError(_unknown_faults(unknown, known))
        of_others = [
            own[kind].reference if kind in own else kind for kind in wanted if kind not in BUILT_IN
        ]
        return [kind for kind in BUILT_IN if kind in wanted], list(dict.fromkeys(of_others))

    def settings_of(self, given: Mapping[str, Any]) -> "RunSettings":
        """The settings of a run, as `resolved` says; its modules can be imported from now on."""
        settings = self.resolved(given)
        self.find_modules(references_of(settings))
        return settings

    def resolved(self, given: Mapping[str, Any]) -> "RunSettings":
        """The settings of a run, with references in place of names, and with the defaults.

        Args:
            given: fields of ``RunSettings``; what is left out has the project's default, or else
                the usual one.

        Raises:
            UsageError: a name is unknown, or the project's file has a value that cannot be.
        """
        from rumpus.runs.option import checked  # noqa: PLC0415 - slow to import
        from rumpus.runs.run_settings import OPTIONS, RunSettings  # noqa: PLC0415 - slow to import

        name = given["workload"]
        workload = self.workload(name)
        packages = {
            key: value
            for key in ("private", "shared")
            if key not in given and (value := getattr(self.settings, key))
        }
        defaults = self.defaults(given, name, workload)
        values = {**packages, **defaults, **given, "workload": workload}
        known = {field.name for field in fields(RunSettings)}
        settings = RunSettings(
            **checked({key: each for key, each in values.items() if key in known}, OPTIONS)
        )
        if settings.recipe is not None and settings.recipe in (named := self.recipes_of(workload)):
            chosen = named[settings.recipe]
            settings = replace(
                settings,
                recipe=chosen.reference,
                promises=[*chosen.promises, *settings.promises],
            )
        _, faults = self.kinds(settings.fault)
        if settings.nemesis is not None:
            kinds, more = self.kinds(settings.nemesis)
            settings = replace(settings, nemesis=kinds)
            faults = [*faults, *(each for each in more if each not in faults)]
        return replace(settings, fault=faults) if faults else settings

    def defaults(
        self, given: Mapping[str, Any], *workload: str, ensemble: str | None = None
    ) -> dict[str, Any]:
        """The project's defaults for a workload.

        A default is set aside if it cannot stand beside what is given (``Option.excludes``), or
        does not apply where the servers run (``Option.needs``).

        Args:
            given: option -> value.
            workload: the workload's names.
            ensemble: where the servers run if neither ``given`` nor the project says it.
        """
        from rumpus.runs.run_settings import OPTIONS  # noqa: PLC0415 - slow to import

        defaults = self.settings.defaults_of(*workload)
        where = given.get("ensemble", defaults.get("ensemble", ensemble))
        elsewhere = {"sim": "docker", "docker": "sim"}.get(where)
        said = {name for name, value in given.items() if value is not None}
        aside = set(given)
        if given.get("service"):
            aside.add("ensemble")  # the services are the servers
        for option in OPTIONS.values():
            for rival in option.option.excludes:
                if option.name in said:
                    aside.add(rival)
                elif rival in said:
                    aside.add(option.name)
            if elsewhere in option.option.needs:
                aside.add(option.name)
        return {name: value for name, value in defaults.items() if name not in aside}

    @property
    def places(self) -> Sequence[str]:
        """Where modules lie that are not installed: of the project, and of the working directory.

        Not those in a run's directory: no module of anybody's project lies there.
        """
        found = [] if self.settings.file is None else [str(self.settings.file.parent)]
        return list(dict.fromkeys([*found, *working_directory()]))

    def find_modules(self, references: Iterable[str] | None = None) -> None:
        """Let the modules of references be imported, after all that are installed.

        Only a place in which one of them lies is looked at from then on: libraries import what is
        there by chance (``try: import puresasl``), and a stranger's directory may have anything.

        Args:
            references: what is to be imported; None: all that has a name here.
        """
        every = references if references is not None else [each.reference for each in self.named]
        find_modules(every, self.places)


def working_directory() -> Sequence[str]:
    """The working directory, if modules may lie there; not if it is in a run's, or is gone."""
    with contextlib.suppress(OSError):
        here = Path.cwd()
        if run_around(here) is None:
            return [str(here)]
    return []


def find_modules(references: Iterable[str], places: Sequence[str]) -> None:
    """Let the modules of references be imported from these places; see `Names.find_modules`."""
    for module in dict.fromkeys(
        each.partition(":")[0] for each in references if is_reference(each)
    ):
        _, place = found_module(module.partition(".")[0], places)
        if place is not None and place not in sys.path:
            sys.path.append(place)


def references_of(settings: "RunSettings") -> list[str]:
    """What a run imports by reference."""
    named = [settings.workload, settings.recipe or "", *settings.fault, *(settings.nemesis or ())]
    return [each for each in dict.fromkeys(named) if is_reference(each)]


def found_module(module: str, places: Sequence[str]) -> tuple[ModuleSpec | None, str | None]:
    """What importing a top-level module would load, and from which of these places.

    Nothing is imported. The place is None if the module is installed, or nowhere.
    """
    try:
        installed = importlib.util.find_spec(module)
    except (ImportError, ValueError):  # no module's name: `references.referred` imports none
        return None, None
    if installed is not None:
        return installed, None
    for place in places:
        if (found := PathFinder.find_spec(module, [place])) is not None:
            return found, place
    return None, None


def source_of(module: str, places: Sequence[str]) -> Path | None:
    """The source file of a module; None if there is none. Nothing is imported.

    Args:
        module: its name, with dots.
        places: where modules lie that are not installed.
    """
    top, *rest = module.split(".")
    spec, _ = found_module(top, places)
    if spec is None:
        return None
    if not spec.submodule_search_locations:
        is_source = not rest and spec.origin is not None and spec.origin.endswith(".py")
        return Path(spec.origin or "") if is_source else None
    for location in spec.submodule_search_locations:
        place = Path(location, *rest)
        for file in (place / "__init__.py", place.with_suffix(".py")):
            if file.is_file():
                return file
    return None


def names_here() -> Names:
    """The names that count in the working directory.

    Raises:
        UsageError: the project's file has an unknown key or a wrong value.
    """
    try:
        here = Path.cwd()
    except OSError:  # it has been removed
        return make_names(ProjectSettings(), [])
    there = entry_points()
    points = [point for kind in KINDS for point in there.select(group=f"rumpus.{kind}")]
    settings = find_settings(here)
    for words in settings.ignored:
        _say_once(words)
    return make_names(settings, points)


@functools.cache
def _say_once(words: str) -> None:
    from rumpus.consoles import notices  # noqa: PLC0415 - slow to import

    notices().print(f"note: {words}", soft_wrap=True, markup=False)


def make_names(settings: ProjectSettings, points: Iterable[EntryPoint]) -> Names:
    """The names of a project and of libraries; the project's count first.

    Raises:
        UsageError: the project's file names something twice, or for a workload that is unknown.
    """
    source = settings.file.name if settings.file is not None else ""
    tables: dict[Kind, Mapping[str, str]] = {
        "workloads": settings.workloads,
        "faults": settings.faults,
        "models": settings.models,
    }
    project = [
        Named(kind=kind, name=name, reference=reference, source=source)
        for kind, table in tables.items()
        for name, reference in table.items()
    ]
    project += [
        Named(
            kind="recipes",
            name=name,
            reference=entry.recipe,
            source=source,
            workload=entry.workload,
            promises=entry.promises,
        )
        for name, entry in settings.recipes.items()
    ]
    of_libraries: list[Named] = []
    warnings: list[str] = []
    for point in points:
        found = _of_library(point)
        if isinstance(found, Named):
            of_libraries.append(found)
        else:
            warnings.append(found)
    workloads = {
        *WORKLOADS,
        *(each.name for each in (*project, *of_libraries) if each.kind == "workloads"),
    }
    for each in project:
        if why := _clash(each, workloads):
            raise settings.refused(f"{each.kind}.{each.name}", why)
    for name in settings.by_workload:
        if name not in workloads and not is_reference(name):
            raise settings.refused(
                f"defaults.{name}",
                f"there is no workload {name!r}; {meant(name, sorted(workloads))}",
            )
    usable = []
    for each in of_libraries:
        if why := _clash(each, workloads):
            warnings.append(f"{each.source}: its {each.kind[:-1]} {each.name} is left out: {why}")
        else:
            usable.append(each)
    return Names(settings=settings, named=[*project, *usable], warnings=warnings)


def load(named: Named) -> Any:
    """What a name stands for.

    Raises:
        UsageError: it cannot be imported; the message says who gives the name.
    """
    try:
        return referred(named.reference)
    except NotFound as error:
        raise UsageError(f"{named.source}: {named.kind[:-1]} {named.name}: {error}") from error


def _of_library(point: EntryPoint) -> Named | str:
    """An entry point's name, or what is wrong with it."""
    kind: Any = point.group.removeprefix("rumpus.")
    source = f"{point.dist.name} {point.dist.version}" if point.dist is not None else "a library"
    workload, name = "", point.name
    if kind == "recipes":
        workload, _, name = point.name.rpartition(".")
    wrong = ""
    if not REFERENCE.fullmatch(point.value):
        wrong = f"{point.value!r} is not written like package.module:Name"
    elif not NAME.fullmatch(name):
        wrong = "its name must have letters, digits, '.', '_' and '-' only"
    elif kind == "recipes" and not workload:
        wrong = "its name must be WORKLOAD.NAME"
    if wrong:
        return f"{source}: its entry point {point.name!r} of {point.group} is left out: {wrong}"
    return Named(kind=kind, name=name, reference=point.value, source=source, workload=workload)


def _clash(each: Named, workloads: Collection[str]) -> str:
    """Why a name cannot be; empty if it can."""
    if each.name in _of_rumpus(each.kind):
        return f"rumpus has a {each.kind[:-1]} of that name; choose another"
    if each.kind != "recipes":
        return ""
    if each.workload not in workloads and not is_reference(each.workload):
        return f"there is no workload {each.workload!r}"
    if each.workload in WORKLOADS and each.name in WORKLOADS[each.workload].catalogue:
        return f"{each.workload} has a recipe of that name; choose another"
    return ""


def _of_rumpus(kind: Kind) -> Collection[str]:
    """The names that are taken: those of rumpus itself. Recipes are told apart by workload."""
    if kind == "faults":
        from rumpus.nemesis.registry import BUILT_IN  # noqa: PLC0415 - slow to import

        return BUILT_IN
    return {"workloads": WORKLOADS, "models": MODELS}.get(kind, ())


def _unknown_faults(unknown: Sequence[str], known: Sequence[str]) -> str:
    """What to say of names that no fault has: which may be meant, or which there are."""
    if len(unknown) == 1:
        more = "; or none or all, by itself; or package.module:Class for one of your own"
        return f"unknown fault {unknown[0]!r}; {meant(unknown[0], known, more=more)}"
    near = {name: nearest(name, known) for name in unknown}
    told = ", ".join(
        f"{name!r} (did you mean {each}?)" if each else repr(name) for name, each in near.items()
    )
    there = "" if all(near.values()) else f"; there are {', '.join(known)}"
    return f"unknown faults {told}{there}"
