"""Elections."""

from collections.abc import Mapping
from typing import Final

from recipes.election import ContestElection, FairElection, UnfairElection
from recipes.faulty.elections import (
    AcknowledgesEarlyElection,
    BelievesAfterLostElection,
    SharedAcknowledgementElection,
    UntiedAcknowledgementElection,
    WatchLeaderElection,
)
from recipes.kazoo_election import KazooElection

ELECTIONS: Final[Mapping[str, type[ContestElection]]] = {
    "fair": FairElection,
    "unfair": UnfairElection,
    "kazoo": KazooElection,
    "believes-after-lost": BelievesAfterLostElection,
    "watch-leader": WatchLeaderElection,
    "acknowledges-early": AcknowledgesEarlyElection,
    "untied-acknowledgement": UntiedAcknowledgementElection,
    "shared-acknowledgement": SharedAcknowledgementElection,
}
