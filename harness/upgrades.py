"""Servers that can be started again as another version of their program.

Only real servers can: simulated ones all behave as one version of ZooKeeper.
"""

from typing import Protocol


class Upgrades(Protocol):
    """The versions of the servers of an ensemble."""

    def fetch(self, version: str) -> None:
        """Make ready what ``upgrade`` to a version needs, so that it does not have to wait.

        Raises:
            EnvironmentRefusal: the version cannot be had here.
        """

    def upgrade(self, node: str, version: str) -> None:
        """Start a dead server as another version, on its disk, address and port.

        Does not wait until it serves. ``restart`` starts that version from then on.
        """

    def version(self, node: str) -> str | None:
        """The version that a server says it has, such as ``3.8.0``; None if it does not answer."""
