"""Two-phase commits."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.two_phase_commit.faulty_two_phase_commits import (
    AbortsAloneCommit,
    ExistsIsMineCommit,
    IgnoresTimeoutCommit,
    NeedsPresenceCommit,
    OneByOneCommit,
    OverwritesCommit,
    PiecemealCommit,
    WaitsForCoordinatorCommit,
)
from rumpus.recipes.two_phase_commit.published_two_phase_commits import SiteNodesCommit
from rumpus.recipes.two_phase_commit.transaction_nodes import (
    CoordinatedCommit,
    PeerCommit,
    TwoPhaseCommit,
)

TWO_PHASE_COMMITS: Final[Mapping[str, type[TwoPhaseCommit]]] = {
    "peer": PeerCommit,
    "coordinated": CoordinatedCommit,
    "piecemeal": PiecemealCommit,
    "one-by-one": OneByOneCommit,
    "aborts-alone": AbortsAloneCommit,
    "overwrites": OverwritesCommit,
    "site-nodes": SiteNodesCommit,
    "waits-for-coordinator": WaitsForCoordinatorCommit,
    "needs-presence": NeedsPresenceCommit,
    "exists-is-mine": ExistsIsMineCommit,
    "ignores-timeout": IgnoresTimeoutCommit,
}
