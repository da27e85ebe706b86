"""Where the Docker engine is, and whether somebody listens there: asked without Docker's SDK.

The SDK takes half a second to import, and most hosts without an engine have no socket of it.
"""

import os
import socket

from rumpus.harness.ensemble import EnvironmentRefusal

LOCAL_ENGINE = "unix:///var/run/docker.sock"
"""Where the engine is unless DOCKER_HOST says otherwise."""

_UNIX = "unix://"


def reach() -> None:
    """Connect to the engine's socket and leave again. An engine elsewhere (TCP, SSH) is not tried.

    Raises:
        EnvironmentRefusal: nobody answers there, or this user may not use it.
    """
    host = _host()
    if not host.startswith(_UNIX):
        return
    try:
        with socket.socket(socket.AF_UNIX) as trial:
            trial.connect(host.removeprefix(_UNIX))
    except OSError as error:
        raise no_engine(error) from error


def no_engine(error: Exception) -> EnvironmentRefusal:
    """The refusal to raise for an error of connecting."""
    if isinstance(error, PermissionError):
        return EnvironmentRefusal(
            f"this user may not use the Docker engine at {_host()} ({error}): add the user to the "
            "group `docker` and log in again, or run as root"
        )
    return EnvironmentRefusal(
        f"no Docker engine answers at {_host()} ({error}): start it (`systemctl start docker`, "
        "or `dockerd`), or set DOCKER_HOST to where it is"
    )


def _host() -> str:
    return os.environ.get("DOCKER_HOST") or LOCAL_ENGINE
