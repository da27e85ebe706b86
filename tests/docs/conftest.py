"""The program, as tests of its commands call it."""

from tests.rumpus.conftest import rumpus

__all__ = ["rumpus"]
