"""What ``rumpus doctor`` says of the Docker engine. Apart, as the package docker may be missing."""

from collections.abc import Callable, Collection

from docker import DockerClient

from rumpus.harness.docker.engine import connect, refusals
from rumpus.harness.docker.ensemble import DockerEnsemble
from rumpus.harness.docker.image import NODE, image_tag
from rumpus.harness.docker.leftovers import find_leftovers
from rumpus.harness.docker.systems import SYSTEMS
from rumpus.harness.ensemble import Availability
from rumpus.harness.zookeeper_versions import DEBIAN_RELEASES, USUAL_VERSION
from rumpus.nemesis.registry import FAULTS, probe
from rumpus.recipes.other_systems import OtherSystemEntry
from rumpus.workloads.registry import WORKLOADS


def look_at_engine(say: Callable[..., bool]) -> None:
    """Say what the engine is, what is on it, and which faults it allows.

    Args:
        say: called with ``good``, ``what`` and ``detail`` for each thing found.

    Raises:
        EnvironmentRefusal: no engine answers.
    """
    _docker(connect(), say)
    for name, found in _docker_faults().items():
        say(good=found.available, what=name, detail=found.why or FAULTS[name].summary)


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
