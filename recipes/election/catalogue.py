"""Elections."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.election.contest_election import ContestElection, FairElection, UnfairElection
from rumpus.recipes.election.faulty_elections import (
    AcknowledgesEarlyElection,
    BelievesAfterLostElection,
    CountsReignsElection,
    FirstSessionOnlyElection,
    ForgetsAcknowledgementElection,
    HalvesTimeoutElection,
    HidesUnacknowledgedElection,
    IgnoresTimeoutElection,
    KeepsAcknowledgementElection,
    KeepsPlaceElection,
    NeverLeadingElection,
    PersistentNodeElection,
    RemembersLeaderElection,
    ResignsByPathElection,
    RunsAgainstItselfElection,
    SharedAcknowledgementElection,
    SortsByNameElection,
    UnsyncedElection,
    UntiedAcknowledgementElection,
    WatchLeaderElection,
)
from rumpus.recipes.election.kazoo_election import KazooElection
from rumpus.recipes.election.published_elections import WatchesSmallestElection

ELECTIONS: Final[Mapping[str, type[ContestElection]]] = {
    "fair": FairElection,
    "unfair": UnfairElection,
    "kazoo": KazooElection,
    "believes-after-lost": BelievesAfterLostElection,
    "watch-leader": WatchLeaderElection,
    "acknowledges-early": AcknowledgesEarlyElection,
    "untied-acknowledgement": UntiedAcknowledgementElection,
    "shared-acknowledgement": SharedAcknowledgementElection,
    "keeps-acknowledgement": KeepsAcknowledgementElection,
    "persistent-node": PersistentNodeElection,
    "first-session-only": FirstSessionOnlyElection,
    "keeps-place": KeepsPlaceElection,
    "sorts-by-name": SortsByNameElection,
    "counts-reigns": CountsReignsElection,
    "remembers-leader": RemembersLeaderElection,
    "resigns-by-path": ResignsByPathElection,
    "never-leading": NeverLeadingElection,
    "runs-against-itself": RunsAgainstItselfElection,
    "ignores-timeout": IgnoresTimeoutElection,
    "halves-timeout": HalvesTimeoutElection,
    "watches-smallest": WatchesSmallestElection,
    "unsynced": UnsyncedElection,
    "hides-unacknowledged": HidesUnacknowledgedElection,
    "forgets-acknowledgement": ForgetsAcknowledgementElection,
}
