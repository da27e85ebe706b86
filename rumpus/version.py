"""The version of rumpus, as pip knows it."""

from importlib.metadata import version

__version__ = version("rumpus")
"""The version of rumpus, a text."""
