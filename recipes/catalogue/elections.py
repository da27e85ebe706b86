"""Elections."""

from collections.abc import Mapping
from typing import Final

from recipes.election import ContestElection, FairElection, UnfairElection
from recipes.faulty.elections import BelievesAfterLostElection
from recipes.kazoo_election import KazooElection

ELECTIONS: Final[Mapping[str, type[ContestElection]]] = {
    "fair": FairElection,
    "unfair": UnfairElection,
    "kazoo": KazooElection,
    "believes-after-lost": BelievesAfterLostElection,
}
