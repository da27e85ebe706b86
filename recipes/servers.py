"""Where a client finds the servers of a system whose client library is not kazoo."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

ZOOKEEPER: Final = "zookeeper"
"""The system of recipes that do not name another (``Recipe.system``)."""

SERVICES: Final = "services"
"""The system of recipes on servers that the user runs (``--service``)."""

Address = tuple[str, int]


@dataclass(frozen=True)
class Servers:
    """Addresses by place: a node's name, or ``node:service`` for a further port of a node."""

    places: Mapping[str, Address]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what ``str`` gives.

        Raises:
            ValueError: it is something else.
        """
        places = {}
        for each in text.split(","):
            place, _, address = each.partition("=")
            host, _, port = address.rpartition(":")
            places[place] = (host, int(port))
        return cls(places)

    def __str__(self) -> str:
        """``n1=127.0.0.1:6379,n1:sentinel=127.0.0.1:26379``."""
        return ",".join(f"{place}={host}:{port}" for place, (host, port) in self.places.items())

    @property
    def nodes(self) -> list[str]:
        """The nodes' names."""
        return [place for place in self.places if ":" not in place]

    @property
    def services(self) -> dict[str, str]:
        """Service -> its address as ``host:port``, where each node is a service with a name."""
        return {
            place.partition(":")[2]: f"{host}:{port}"
            for place, (host, port) in self.places.items()
            if ":" in place
        }

    def of(self, service: str) -> dict[str, Address]:
        """Node -> where its service is."""
        found = {}
        for place, address in self.places.items():
            node, _, name = place.partition(":")
            if name == service:
                found[node] = address
        return found
