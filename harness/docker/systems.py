"""The systems that a run's servers can be: those that the modules ``*_server`` here declare."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from rumpus.harness.docker.server_kind import System


def _declared() -> Iterator[tuple[str, System]]:
    for path in sorted(Path(__file__).parent.glob("*_server.py")):
        # `__import__` and not `importlib`: a simulated process has its own copies of modules.
        module = __import__(f"rumpus.harness.docker.{path.stem}", fromlist=["SYSTEMS"])
        yield from module.SYSTEMS.items()


SYSTEMS: Final[Mapping[str, System]] = MappingProxyType(dict(_declared()))
"""Name -> the system."""
