"""rumpus: correctness and chaos tests for coordination recipes on ZooKeeper."""

from rumpus.version import __version__

__all__ = ["__version__"]
