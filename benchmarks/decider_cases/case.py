"""What the deciders' benchmark runs: a valid history of a model, of any length, and its targets."""

from collections.abc import Callable, Hashable
from typing import NamedTuple

from rumpus.checker.deciders.operation_table import OperationTable


class Case(NamedTuple):
    """One line of the benchmark.

    ``build`` makes a valid, concurrent history of about so many operations (rows), quickly.
    ``model`` is a name in `checker.deciders.registry.MODELS`, ``initial`` what ``--initial`` would
    be. ``target`` is in seconds for 10^6 operations; ``largest`` the longest history to decide.
    """

    model: str
    build: Callable[[int], OperationTable]
    initial: Hashable = None
    target: float | None = None
    largest: int = 10**6
