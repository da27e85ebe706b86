"""The Docker engine: connecting to it, and turning its errors into plain words with a remedy."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import docker
from docker import DockerClient
from docker.errors import APIError, DockerException
from requests.exceptions import RequestException

from rumpus.harness.docker.engine_place import no_engine, reach
from rumpus.harness.ensemble import EnvironmentRefusal

TIMEOUT_S = 60.0
"""How long any single request to the engine may take, in seconds."""

_REMEDIES = (
    (
        r"non-overlapping IPv4 address pool|pools have been fully subnetted",
        (
            "no subnet is free for the run's network: remove unused networks with `rumpus clean` "
            "or `docker network prune`, or give the engine more of them (`default-address-pools`)"
        ),
    ),
    (
        r"port is already allocated|address already in use",
        "a port on the loopback address is taken: end what listens there and run again",
    ),
    (
        r"no space left on device|disk quota exceeded",
        "the engine's disk is full: free some with `docker system prune` or `rumpus clean`",
    ),
    (
        r"cannot allocate memory",
        "the host has no memory left: end something, or run fewer nodes (`--nodes`)",
    ),
    (
        r"no such image",
        "the image is not on this engine: `make setup` builds ours, `docker pull` gets others",
    ),
)


def connect(*, timeout: float = TIMEOUT_S) -> DockerClient:
    """A client of the engine that the environment names (DOCKER_HOST, else the local socket).

    Args:
        timeout: seconds that any single request may take.

    Raises:
        EnvironmentRefusal: no engine answers there, or this user may not use it.
    """
    # Try first: if the SDK fails to connect, it hides the reason and leaks the socket.
    reach()
    try:
        return docker.from_env(timeout=int(timeout))
    except (OSError, DockerException) as error:
        raise no_engine(error) from error


@contextmanager
def refusals(doing: str) -> Iterator[None]:
    """Turn the engine's errors inside the block into an `EnvironmentRefusal`.

    Args:
        doing: what was being done, as in "starting node n1".
    """
    try:
        yield
    except (APIError, RequestException) as error:
        said = str(error.explanation or error) if isinstance(error, APIError) else str(error)
        raise EnvironmentRefusal(f"{doing} failed: {_remedy(said)}") from error


def _remedy(said: str) -> str:
    for pattern, remedy in _REMEDIES:
        if re.search(pattern, said, re.IGNORECASE):
            return f"{remedy} (the engine says: {said})"
    return f"the Docker engine says: {said}"
