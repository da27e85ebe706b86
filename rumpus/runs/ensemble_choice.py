"""Which servers a run gets: real ones in Docker, or simulated ones."""

from typing import Final, Literal, NamedTuple, get_args

from rumpus.exit_codes import in_words
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.harness.zookeeper_versions import USUAL_VERSION, UnknownVersion, find_version
from rumpus.usage_error import UsageError

Kind = Literal["docker", "sim", "services"]

Ensemble = Literal["auto", "docker", "sim"]
"""The value of ``--ensemble``."""

ENSEMBLES: Final[tuple[Ensemble, ...]] = get_args(Ensemble)

PATIENCE_S = 5.0
"""Seconds that an engine may take to answer; a slower one counts as missing."""


class Choice(NamedTuple):
    """The kind of ensemble that a run gets, and the reason in words."""

    kind: Kind
    why: str


def choose_ensemble(asked: str, image: str | None) -> Choice:
    """Decide what ``--ensemble`` means here.

    ``auto`` takes docker if an engine answers, or if an image was named, which only docker can
    run; else the simulation.

    Args:
        asked: one of ``ENSEMBLES``.
        image: the servers' container image, if one was named.

    Raises:
        UsageError: ``sim`` was asked for together with an image.
    """
    if asked == "sim":
        if image is not None:
            raise UsageError(
                f"simulated servers have no image, so {image} cannot be run: leave --image out, "
                "or use --ensemble docker"
            )
        return Choice("sim", "as asked")
    if asked == "docker":
        return Choice("docker", "as asked")
    if image is not None:
        return Choice("docker", "an image was named")
    missing = why_no_engine()
    if missing is None:
        return Choice("docker", "an engine answers")
    return Choice("sim", missing)


def why_no_engine() -> str | None:
    """Why Docker cannot be used; None if an engine answers."""
    # Slow to import, and a simulated run that was asked for by name needs none of it.
    try:
        from docker.errors import DockerException  # noqa: PLC0415
        from requests.exceptions import RequestException  # noqa: PLC0415

        from rumpus.harness.docker.engine import connect  # noqa: PLC0415
    except ModuleNotFoundError as missing:
        return in_words(missing)

    try:
        engine = connect(timeout=PATIENCE_S)
        try:
            engine.ping()
        finally:
            engine.close()
    except EnvironmentRefusal as refusal:
        return str(refusal)
    except (DockerException, RequestException) as error:
        return f"the Docker engine does not answer ({error})"
    return None


def image_of_version(asked: str, ensemble: str, option: str) -> str:
    """The image of servers of a version of ZooKeeper.

    Args:
        asked: the version, or the beginning of it.
        ensemble: where the servers run.
        option: what the version was given as, for messages.

    Raises:
        UsageError: there is no such version, or simulated servers were asked for.
    """
    if ensemble == "sim":
        raise UsageError(
            f"simulated servers behave as ZooKeeper {USUAL_VERSION}, so they cannot be {asked}: "
            f"leave {option} out, or have real servers (ensemble docker)"
        )
    from rumpus.harness.docker.image import NODE, image_tag  # noqa: PLC0415 - slow to import

    try:
        return image_tag(NODE, find_version(asked))
    except UnknownVersion as unknown:
        raise UsageError(f"{option} {asked}: {unknown}") from unknown
