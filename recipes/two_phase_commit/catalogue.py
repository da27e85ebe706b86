"""Two-phase commits."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound
from rumpus.recipes.contests.common_mutants import IGNORES_TIMEOUT
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
        "the coordinator creates the transaction and then one node for each site, in separate "
        "requests, and the sites decide when every site that has a node has voted: if the "
        "coordinator dies half-way, the transaction commits without the other sites",
        {"invalid-commit"},
        printed="L 3.8",
    ),
    "one-by-one": mutant(
        faulty_two_phase_commits.OneByOneCommit,
        "the site that decides writes the decision to one participant after another: if it dies "
        "half-way, the others decide again, by votes that were cast since",
        {"two-decisions"},
    ),
    "aborts-alone": mutant(
        faulty_two_phase_commits.AbortsAloneCommit,
        "a participant whose patience is over takes the transaction for aborted without writing "
        "that anywhere: others commit when the missing vote is cast",
        {"two-decisions"},
    ),
    "overwrites": mutant(
        faulty_two_phase_commits.OverwritesCommit,
        "the decision is written without a version check, and a site that waits for votes does not "
        "read it again: it overwrites a decision that others have read already",
        {"two-decisions"},
    ),
    "site-nodes": mutant(
        published_two_phase_commits.SiteNodesCommit,
        "the coordinator creates the transaction and a node for each site one after another, and "
        "the sites decide when every node holds a vote: some commit before all nodes are there; "
        "and if a site dies before it has voted, the others wait for ever",
        {"blocked-transaction", "invalid-commit"},
        printed="P Two-phased Commit",
    ),
    "waits-for-coordinator": mutant(
        faulty_two_phase_commits.WaitsForCoordinatorCommit,
        "a participant that has voted waits for the coordinator's decision, however long it "
        "takes, as in textbooks: a coordinator that has died blocks the transaction for ever",
        {"blocked-transaction"},
        printed="P Two-phased Commit",
    ),
    "needs-presence": mutant(
        faulty_two_phase_commits.NeedsPresenceCommit,
        "takes a site without an ephemeral node for dead, although it has voted yes: the "
        "transaction aborts if a site did not join, or if its session has ended since",
        {"not-linearizable"},
    ),
    "exists-is-mine": mutant(
        faulty_two_phase_commits.ExistsIsMineCommit,
        "takes a vote that is there already for its own earlier one: its yes is acknowledged "
        "although another site has cast a no in its name",
        {"lost-vote"},
    ),
    "ignores-timeout": mutant(
        faulty_two_phase_commits.IgnoresTimeoutCommit, IGNORES_TIMEOUT, {"overdue-call"}
    ),
}
