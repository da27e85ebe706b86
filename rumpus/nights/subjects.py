"""What a night puts on trial: each job's recipes, in each world, with each version."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any, Final

import rumpus
from rumpus.campaigns.pieces import RunKind
from rumpus.harness.zookeeper_versions import USUAL_VERSION
from rumpus.nemesis.swarm import ProfileName
from rumpus.nights.night_file import Job
from rumpus.nights.records import Ensemble, Subject
from rumpus.nights.sources import digest, source_files
from rumpus.project_names import Names
from rumpus.project_settings import read_options
from rumpus.recipes.catalogue_entry import CatalogueEntry
from rumpus.runs.run_settings import RunSettings
from rumpus.usage_error import UsageError
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.own.references import NotFound, is_reference
from rumpus.workloads.registry import WORKLOADS, find_workload

LOADS_S: Final[Mapping[Ensemble, float]] = {"sim": 20.0, "docker": 30.0}
"""Seconds of load of a run, if the job does not say it."""

RECIPES: Final = "rumpus.recipes."

BARE: Final = "-bare"
"""How the names of variants end that break promises by their nature: they are not ``built-in``."""


@dataclass(frozen=True, kw_only=True)
class OnTrial:
    """A subject, and how much is done about it.

    Attributes:
        subject: what it is.
        settings: of its runs, but for the seed and the kind of run.
        kinds: of its runs.
        profile: of swarm runs and short runs.
        weight: its share of the time, beside others.
        files: the recipe's source.
        source: their digest, with the versions that are used.
    """

    subject: Subject
    settings: RunSettings
    kinds: Sequence[RunKind]
    profile: ProfileName
    weight: float
    files: Sequence[Path]
    source: str


def own_jobs(names: Names, worlds: Sequence[Ensemble]) -> list[Job]:
    """The jobs of a project that has no file for its nights: all that it names."""
    of_recipes = [each.workload for each in names.settings.recipes.values()]
    workloads = dict.fromkeys([*of_recipes, *names.settings.workloads])
    return [Job(workloads=(workload,), worlds=tuple(worlds)) for workload in workloads]


def on_trial(jobs: Sequence[Job], names: Names, file: Path) -> list[OnTrial]:
    """All subjects of the jobs, each once; of two that are alike the first counts.

    Args:
        jobs: of the night's file.
        names: the project's.
        file: the night's, for errors.

    Raises:
        UsageError: a workload, a recipe or an option does not exist.
    """
    found: dict[str, OnTrial] = {}
    for number, job in enumerate(jobs):
        for each in _of_job(job, names, file, f"jobs[{number}]"):
            found.setdefault(each.subject.key, each)
    return list(found.values())


def named_by(job: Job, names: Names, file: Path) -> Iterator[RunSettings]:
    """Settings that have all the code that a job names itself; nothing is imported.

    What it asks for by ``own`` and ``built-in`` is named by the project, or by a workload.

    Args:
        job: of the night's file.
        names: the project's.
        file: the night's, for errors.

    Raises:
        UsageError: a workload or an option does not exist.
    """
    options = read_options(file, "jobs", job.options)
    workloads = (next(iter(WORKLOADS)),) if job.workloads == "all" else job.workloads
    recipes = ("",) if isinstance(job.recipes, str) else ("", *job.recipes)
    for workload, recipe, world in product(workloads, recipes, job.worlds):
        for kazoo in job.kazoo or ("",):
            subject = Subject(workload=workload, recipe=recipe, world=world, kazoo=kazoo)
            yield names.resolved(_given(subject, options))


def _of_job(job: Job, names: Names, file: Path, place: str) -> Iterator[OnTrial]:
    options = read_options(file, f"{place}.options", job.options)
    workloads = WORKLOADS if job.workloads == "all" else job.workloads
    some = False
    without = set(job.without)
    for workload in workloads:
        for recipe in _recipes(job, workload, names, f"{file}: {place}"):
            if left_out := {recipe, f"{workload} / {recipe}"} & {*job.without}:
                without -= left_out
                continue
            some = True
            for world in job.worlds:
                yield from _versions(
                    job,
                    names,
                    Subject(workload=workload, recipe=recipe, world=world, options=job.options),
                    options,
                )
    if without:
        raise UsageError(
            f"{file}: {place}.without: there is no {', '.join(sorted(without))} to leave out"
        )
    if not some:
        raise UsageError(
            f"{file}: {place}: there is no recipe: name some, or enter yours in pyproject.toml, "
            "[tool.rumpus.recipes.NAME]"
        )


def _versions(
    job: Job, names: Names, plain: Subject, options: Mapping[str, Any]
) -> Iterator[OnTrial]:
    """A subject with each version of the job."""
    real = plain.world == "docker"
    for zookeeper in (job.zookeeper or ("",)) if real else ("",):
        for kazoo in job.kazoo or ("",):
            subject = Subject(
                workload=plain.workload,
                recipe=plain.recipe,
                world=plain.world,
                zookeeper=zookeeper,
                kazoo=kazoo,
                options=plain.options,
            )
            settings = names.settings_of(_given(subject, options))
            files = files_of(settings, names)
            used = {
                "kazoo": kazoo or version("kazoo"),
                "zookeeper": zookeeper or USUAL_VERSION,
                "python": sys.version.split()[0],
                "rumpus": version("rumpus"),
            }
            yield OnTrial(
                subject=subject,
                settings=settings,
                kinds=("usual",) if real else job.kinds,
                profile=job.profile,
                weight=job.weight,
                files=files,
                source=digest(files, used),
            )


def _given(subject: Subject, options: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of a subject's runs."""
    given: dict[str, Any] = {**options, "workload": subject.workload, "ensemble": subject.world}
    if subject.recipe:
        given["recipe"] = subject.recipe
    if subject.kazoo:
        given["kazoo"] = subject.kazoo
    if subject.zookeeper:
        given["zookeeper"] = subject.zookeeper
    given["fixed"] = tuple(given)
    return {"argv": (), "time_limit": LOADS_S[subject.world], **given}


def _recipes(job: Job, workload: str, names: Names, place: str) -> Sequence[str]:
    """The recipes of a job, of one of its workloads.

    Raises:
        UsageError: there is none of that name.
    """
    if job.recipes == "own":
        own = names.settings.recipes
        mine = [name for name, each in own.items() if each.workload == workload]
        if workload in WORKLOADS:
            return mine
        return mine or _sound(_found(names, workload, place)) or [""]
    known = _found(names, workload, place)
    if job.recipes == "built-in":
        return _sound(known)
    there = {*known.catalogue, *known.elsewhere, *names.recipes_of(workload)}
    for recipe in job.recipes:
        if recipe not in there and not is_reference(recipe):
            raise UsageError(
                f"{place}: {workload} has no recipe {recipe!r}; see `rumpus list`, or give "
                "package.module:Name for one of your own"
            )
    return job.recipes


def _sound(workload: Workload) -> list[str]:
    """The recipes of its catalogue that should keep their promises."""
    return [
        name
        for name, entry in workload.catalogue.items()
        if not (isinstance(entry, CatalogueEntry) and entry.faulty) and not name.endswith(BARE)
    ]


def _found(names: Names, workload: str, place: str) -> Workload:
    try:
        return find_workload(names.workload(workload))
    except NotFound as error:
        raise UsageError(f"{place}: {error}") from error


def files_of(settings: RunSettings, names: Names) -> list[Path]:
    """The source files of the recipe and the workload, as far as they are the project's.

    Of a recipe of rumpus, the modules of recipes that it is made of.
    """
    here = Path.cwd() if names.settings.file is None else names.settings.file.parent
    roots = [here, here / "src"]
    files: list[Path] = []
    for reference in (settings.workload, settings.recipe or ""):
        if is_reference(reference):
            files += source_files(reference.partition(":")[0], roots)
    if settings.workload in WORKLOADS and settings.recipe and not is_reference(settings.recipe):
        files += _of_built_in(WORKLOADS[settings.workload], settings.recipe)
    return sorted(set(files))


def _of_built_in(workload: Workload, recipe: str) -> list[Path]:
    if recipe not in workload.catalogue:
        return []  # it is for other servers, and its libraries may be missing
    root = Path(rumpus.__file__).parent.parent
    modules = {owner.__module__ for owner in workload.recipe_of(recipe).__mro__}
    return [path for name in modules for path in source_files(name, [root], RECIPES)]
