"""Elections."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests import faulty_contenders, faulty_contests
from rumpus.recipes.contests.faulty_calls import DoesNotCatchUp
from rumpus.recipes.election import faulty_elections
from rumpus.recipes.election.contest_election import ContestElection, FairElection, UnfairElection
from rumpus.recipes.election.kazoo_election import KazooElection

ELECTIONS: Final[Mapping[str, CatalogueEntry[ContestElection]]] = {
    "fair": sound(FairElection),
    "unfair": sound(UnfairElection),
    "kazoo": sound(KazooElection),
    "believes-after-lost": mutant(
        variant(FairElection, faulty_contenders.BelievesForGood),
        "goes on believing that it leads while suspended, and after LOST",
        {"unaware-holder"},
    ),
    "watch-leader": mutant(
        variant(
            FairElection, contest=variant(faulty_contests.NoRecheck, faulty_contests.WatchesFirst)
        ),
        "all candidates watch the leader, and take the lead when it vanishes, without looking",
        {"herd", "split-brain"},
        printed="L 3.9",
    ),
    "acknowledges-early": mutant(
        variant(FairElection, contest=faulty_elections.AcknowledgesEarly),
        "writes its acknowledgement when it joins the line, so that it is known as an "
        "acknowledged leader before it knows anything itself",
        {"false-acknowledgement"},
    ),
    "untied-acknowledgement": mutant(
        variant(FairElection, _acknowledgements_class=faulty_elections.Untied),
        "the acknowledgement is one lasting node, tied neither to the leader's session nor to "
        "its epoch: the next leader passes for acknowledged at once",
        {"false-acknowledgement"},
        printed="P Leader Election",
    ),
    "shared-acknowledgement": mutant(
        faulty_elections.SharedAcknowledgementElection,
        "all leaders acknowledge with the same node, and whoever begins to campaign removes it, "
        "taking it for one that an earlier reign of its own has left",
        {"lost-acknowledgement"},
    ),
    "keeps-acknowledgement": mutant(
        variant(FairElection, _acknowledgements_class=faulty_elections.Kept),
        "leaves its acknowledgement behind when it resigns: the nodes of all its reigns stay "
        "while its session lives",
        {"orphan-node"},
    ),
    "persistent-node": mutant(
        variant(FairElection, contest=faulty_contests.PersistentNode),
        "the node is persistent: a leader that died leads for ever",
        {"leaderless", "orphan-node"},
    ),
    "first-session-only": mutant(
        variant(FairElection, contest=faulty_contests.FirstSessionOnly),
        "remembers that its session is lost, and not that the client has a new one: it never "
        "campaigns again",
        {"stuck-waiter"},
    ),
    "keeps-place": mutant(
        variant(FairElection, contest=faulty_contests.KeepsPlace),
        "a candidate whose session ended creates its node anew under the old name, to keep its "
        "place in the line: somebody else leads meanwhile",
        {"double-grant"},
    ),
    "sorts-by-name": mutant(
        variant(FairElection, contest=faulty_contests.SortsByName),
        "sorts the candidates by the whole names of their nodes, which begin with a random mark",
        {"split-brain", "unfair-grant"},
    ),
    "counts-reigns": mutant(
        variant(FairElection, faulty_contenders.CountsItsOwnGrants),
        "the epoch is how often this client has led: it knows of no other's",
        {"token-regression"},
    ),
    "remembers-leader": mutant(
        faulty_elections.RemembersLeaderElection,
        f"who leads is remembered for {faulty_elections.REMEMBERED_S} s, to save requests: an "
        "observer names an old leader after a new one was known",
        {"epoch-regression"},
    ),
    "resigns-by-path": mutant(
        variant(UnfairElection, contest=faulty_contests.ReleaseByPath),
        "resigns by deleting the path in whatever session the client has by then, without "
        "looking whose node it is",
        {"split-brain"},
    ),
    "never-leading": mutant(
        variant(FairElection, faulty_contenders.NeverBelieves),
        "leading is always false: whoever wins does nothing with it",
        {"unbelieving-holder"},
    ),
    "runs-against-itself": mutant(
        variant(FairElection, faulty_elections.RunsAgainstItself),
        "a leader that campaigns again joins the line behind its own node, and waits for it "
        "until the timeout",
        {"refused-reentry"},
    ),
    "ignores-timeout": mutant(
        variant(FairElection, faulty_elections.CampaignsForEver),
        "campaign takes a timeout and waits for ever",
        {"overdue-call"},
    ),
    "halves-timeout": mutant(
        variant(FairElection, faulty_elections.CampaignsForHalf),
        "campaign gives up after half of its timeout",
        {"early-timeout"},
    ),
    "watches-smallest": mutant(
        variant(FairElection, contest=faulty_contests.WatchesFirst),
        "candidates watch the smallest of the lower nodes, which is the leader's, though the "
        "prose above the pseudo-code says the next lower one: every resignation wakes all of "
        "them",
        {"herd"},
        printed="P Leader Election",
    ),
    "unsynced": mutant(
        variant(FairElection, DoesNotCatchUp),
        "looks who leads without a sync: a server that is behind shows a leader of the past",
        {"epoch-regression", "false-observation"},
    ),
    "hides-unacknowledged": mutant(
        faulty_elections.HidesUnacknowledgedElection,
        "says that nobody leads until the leader has acknowledged, and so hides one that is frozen",
        {"false-observation"},
    ),
    "forgets-acknowledgement": mutant(
        variant(FairElection, _acknowledgements_class=faulty_elections.SaidOnce),
        "remembers that it has acknowledged, and not which epoch: its later reigns are not",
        {"lost-acknowledgement"},
    ),
}
