"""Servers that the user runs (``--service``), where an ensemble is expected.

Rumpus does not start, break or stop them, and keeps none of their files. It knows their addresses:
the clients' links lead there. Each is a node, ``n1``, ``n2`` ... in the order in which they are
given, so that a plan can name those to which links are cut.
"""

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from rumpus.harness.ensemble import (
    Availability,
    Capability,
    Containers,
    Disks,
    EnvironmentRefusal,
    Grudge,
    NodeState,
    Packets,
    WallClocks,
)
from rumpus.harness.simulated_faults import Machines
from rumpus.harness.upgrades import Upgrades
from rumpus.recipes.servers import Address

PATIENCE_S = 3.0
"""Seconds that a service may take to accept a connection."""


class ServiceEnsemble:
    """See the module, and ``harness.ensemble.Ensemble``.

    Args:
        services: name -> host and port.
    """

    kind = "services"
    machines: Machines | None = None
    clocks: WallClocks | None = None
    containers: Containers | None = None
    upgrades: Upgrades | None = None
    packets: Packets | None = None
    disks: Disks | None = None

    def __init__(self, services: Mapping[str, Address]) -> None:
        self._services = {f"n{number}": each for number, each in enumerate(services.items(), 1)}
        self.nodes = tuple(self._services)

    def start(self) -> None:
        """Make sure that each service accepts connections.

        Raises:
            EnvironmentRefusal: one does not; the message names it.
        """
        for name, (host, port) in self._services.values():
            try:
                socket.create_connection((host, port), PATIENCE_S).close()
            except OSError as error:
                raise EnvironmentRefusal(
                    f"the service {name} does not accept connections at {host}:{port} "
                    f"({error.strerror or error}): start it, or correct --service"
                ) from error

    def tear_down(self) -> None:
        """Leave them as they are."""

    def client_address(self, node: str) -> Address:
        """The address of a service."""
        return self._services[node][1]

    def client_addresses(self) -> dict[str, Address]:
        """``node:name`` -> the address of the service of this name."""
        return {f"{node}:{name}": place for node, (name, place) in self._services.items()}

    def kill(self, node: str) -> NoReturn:
        """Refuse: it is not ours."""
        raise self._not_ours(node)

    def restart(self, node: str) -> NoReturn:
        """Refuse: it is not ours."""
        raise self._not_ours(node)

    def pause(self, node: str) -> NoReturn:
        """Refuse: it is not ours."""
        raise self._not_ours(node)

    def resume(self, node: str) -> NoReturn:
        """Refuse: it is not ours."""
        raise self._not_ours(node)

    def partition(self, grudge: Grudge) -> NoReturn:
        """Refuse: they are not ours."""
        raise self._not_ours(", ".join(grudge))

    def heal(self) -> None:
        """Nothing can be partitioned."""

    def state(self, node: str) -> NodeState:  # noqa: ARG002 - as Ensemble says
        """Taken to run: nobody here stops it."""
        return "running"

    def grudge(self) -> dict[str, frozenset[str]]:
        """None is ever borne."""
        return {}

    def reaches(self, source: str, target: str) -> bool:  # noqa: ARG002 - as Ensemble says
        """Taken for granted."""
        return True

    def applied(self, node: str) -> int:  # noqa: ARG002 - as Ensemble says
        """It does not say."""
        return 0

    def serves(self, node: str) -> bool:
        """Whether it accepts a connection within a second."""
        try:
            socket.create_connection(self.client_address(node), 1.0).close()
        except OSError:
            return False
        return True

    def leader(self) -> None:
        """Nobody knows whether one leads."""

    def gather(self, destination: Path) -> None:
        """Their files are their owner's."""

    def probe(self) -> dict[Capability, Availability]:
        """No fault of servers."""
        return {}

    def _not_ours(self, node: str) -> EnvironmentRefusal:
        return EnvironmentRefusal(f"{node} is a service of the user's, which no fault touches")
