"""Two-phase commits."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound
from rumpus.recipes.two_phase_commit import faulty_two_phase_commits, published_two_phase_commits
from rumpus.recipes.two_phase_commit.transaction_nodes import (
    CoordinatedCommit,
    PeerCommit,
    TwoPhaseCommit,
)

TWO_PHASE_COMMITS: Final[Mapping[str, CatalogueEntry[TwoPhaseCommit]]] = {
    "peer": sound(PeerCommit),
    "coordinated": sound(CoordinatedCommit),
    "piecemeal": mutant(
        faulty_two_phase_commits.PiecemealCommit,
        "the coordinator creates the transaction and one node a site in requests of their own, "
        "and sites decide when every site that has a node has voted: a coordinator that dies "
        "half-way leaves a transaction that commits without the rest",
        {"invalid-commit"},
        printed="L 3.8",
    ),
    "one-by-one": mutant(
        faulty_two_phase_commits.OneByOneCommit,
        "whoever decides writes the outcome to one participant after another: if it dies between "
        "them, the rest decide anew, by votes that have come since",
        {"two-decisions"},
    ),
    "aborts-alone": mutant(
        faulty_two_phase_commits.AbortsAloneCommit,
        "a participant whose patience is over takes the transaction for aborted without writing "
        "that anywhere, while others commit when the missing vote comes",
        {"two-decisions"},
    ),
    "overwrites": mutant(
        faulty_two_phase_commits.OverwritesCommit,
        "the decision is written by setData without a version, and a site that waits for votes "
        "does not look at it again: a vote that comes just as another site loses its patience "
        "makes it overwrite what others have read already",
        {"two-decisions"},
    ),
    "site-nodes": mutant(
        published_two_phase_commits.SiteNodesCommit,
        "the coordinator makes the transaction and a node for each site one after another, and "
        "sites decide when every node there holds a vote: some commit before all nodes are made; "
        "and a site that dies without a vote leaves the others waiting for ever",
        {"blocked-transaction", "invalid-commit"},
        printed="P Two-phased Commit",
    ),
    "waits-for-coordinator": mutant(
        faulty_two_phase_commits.WaitsForCoordinatorCommit,
        "as printed in textbooks: a participant that has voted waits for its coordinator to "
        "decide, however long that is silent; one that has died blocks the transaction for ever",
        {"blocked-transaction"},
        printed="P Two-phased Commit",
    ),
    "needs-presence": mutant(
        faulty_two_phase_commits.NeedsPresenceCommit,
        "takes a site without an ephemeral node for dead, though its yes is there: sites that "
        "did not join, or whose session has ended since, make an abort of what all have agreed "
        "to",
        {"not-linearizable"},
    ),
    "exists-is-mine": mutant(
        faulty_two_phase_commits.ExistsIsMineCommit,
        "takes a vote that stands for its own of an earlier try: its yes is acknowledged "
        "although somebody has cast a no in its name",
        {"lost-vote"},
    ),
    "ignores-timeout": mutant(
        faulty_two_phase_commits.IgnoresTimeoutCommit,
        "decide takes a timeout and a patience, and waits for ever until every vote is there: "
        "that of a site that has died never comes",
        {"overdue-call"},
    ),
}
