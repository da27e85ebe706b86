"""``rumpus doctor``: what this host can do, and what would be needed for the rest."""

import argparse
import platform
import shutil
from collections.abc import Callable, Collection
from importlib.metadata import version
from pathlib import Path

from docker import DockerClient
from rich.markup import escape

from rumpus.checker.linearizability import search
from rumpus.consoles import answers
from rumpus.harness.docker.engine import connect, refusals
from rumpus.harness.docker.ensemble import DockerEnsemble
from rumpus.harness.docker.image import NODE, image_tag
from rumpus.harness.docker.leftovers import find_leftovers
from rumpus.harness.docker.probe import probe_engine
from rumpus.harness.docker.systems import SYSTEMS
from rumpus.harness.ensemble import Availability, EnvironmentRefusal
from rumpus.harness.zookeeper_versions import DEBIAN_RELEASES, USUAL_VERSION
from rumpus.nemesis.registry import FAULTS, probe
from rumpus.recipes.other_systems import OtherSystemEntry
from rumpus.version import __version__
from rumpus.workloads.registry import WORKLOADS

LEAST_DISK = 1 << 30


def doctor_command(arguments: argparse.Namespace) -> int:
    """Print what is there and what is not; 0 if runs can be made here, else 4.

    Without a Docker engine runs are simulated, which needs nothing that the host could lack.
    """
    console = answers()

    def say(*, good: bool, what: str, detail: str) -> bool:
        mark = "[green]✔[/]" if good else "[red]✘[/]"
        console.print(f"{mark} {what:<16}  {escape(detail)}", highlight=False, soft_wrap=True)
        return good

    say(
        good=True,
        what="versions",
        detail=f"rumpus {__version__}, Python {platform.python_version()}, "
        f"kazoo {version('kazoo')}, {platform.system()} {platform.release()}",
    )
    say(
        good=search.C is not None,
        what="general search",
        detail=search.engine().name
        + (
            ": the C extension is not there; with a C compiler and Python's headers the "
            f"installation builds it ({search.WHY_NOT_C})"
            if search.WHY_NOT_C
            else ""
        ),
    )
    able = _disk(arguments.runs, say)
    try:
        engine = connect()
    except EnvironmentRefusal as refusal:
        say(good=False, what="docker", detail=f"runs are simulated: {refusal}")
        return 0 if able else 4
    _docker(engine, say)
    for name, found in _docker_faults().items():
        say(good=found.available, what=name, detail=found.why or FAULTS[name].summary)
    needed = {fault.needs for fault in FAULTS.values()}
    for name, found in probe_engine().items():
        if name not in needed:
            detail = found.why or "would be possible between servers; no fault here needs it"
            say(good=found.available, what=name, detail=detail)
    return 0 if able else 4


def _docker_faults() -> dict[str, Availability]:
    """Which faults this host allows for real servers."""
    ensemble = DockerEnsemble("probe")
    try:
        return probe(ensemble)
    finally:
        ensemble.tear_down()


def other_systems() -> dict[str, str]:
    """System -> what has to be installed to reach it, in words; empty if nothing."""
    return {entry.system: entry.missing for entry in _elsewhere() if not entry.client_image}


def client_images() -> list[str]:
    """The images of clients that are not written in Python, by their folders of ``docker/``."""
    return sorted({entry.client_image for entry in _elsewhere()} - {""})


def _elsewhere() -> list[OtherSystemEntry]:
    return [entry for workload in WORKLOADS.values() for entry in workload.elsewhere.values()]


def _disk(runs: Path, say: Callable[..., bool]) -> bool:
    place = next(place for place in (runs, *runs.absolute().parents) if place.exists())
    free = shutil.disk_usage(place).free
    detail = f"{free >> 20} MiB free for {runs}"
    good = free >= LEAST_DISK
    if not good:
        detail += f": at least {LEAST_DISK >> 20} MiB are wanted"
    return say(good=good, what="disk", detail=detail)


def _docker(engine: DockerClient, say: Callable[..., bool]) -> None:
    """The engine, the images on it, and what killed runs left; closes the connection."""
    try:
        with refusals("looking at the Docker engine"):
            say(good=True, what="docker", detail=f"engine {engine.version()['Version']}")
            tags = {tag for image in engine.images.list() for tag in image.tags}
            there = image_tag() in tags
            left = find_leftovers(engine)
        detail = image_tag() if there else f"{image_tag()} is missing: the first run builds it"
        say(good=there, what="node image", detail=detail)
        words = "; ".join(map(str, left)) + ": `rumpus clean` removes it" if left else "none"
        say(good=not left, what="leftovers", detail=words)
        _images(tags, say)
    finally:
        engine.close()


def _images(tags: Collection[str], say: Callable[..., bool]) -> None:
    """Which images of other versions and systems are there, by the tags of all images."""
    for number in DEBIAN_RELEASES:
        if number != USUAL_VERSION:
            detail = _in_words(image_tag(NODE, number), tags)
            say(good=True, what=f"zookeeper {number}", detail=detail)
    images = {system: SYSTEMS[system].server(1).image for system in other_systems()}
    images |= {image: image for image in client_images()}
    for system, folder in images.items():
        missing = other_systems().get(system, "")
        detail = missing or _in_words(image_tag(folder), tags)
        say(good=not missing, what=system, detail=detail)


def _in_words(image: str, tags: Collection[str]) -> str:
    return f"{image} is {'there' if image in tags else 'missing: the first run builds it'}"
