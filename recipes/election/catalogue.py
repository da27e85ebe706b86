"""Elections."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests import faulty_contenders, faulty_contests
from rumpus.recipes.contests.common_mutants import answer_mutants, contest_mutants, wrong_timeouts
from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.contests.faulty_calls import DoesNotCatchUp
from rumpus.recipes.election import faulty_elections
from rumpus.recipes.election.acknowledgement import Acknowledgements
from rumpus.recipes.election.contest_election import ContestElection, FairElection, UnfairElection
from rumpus.recipes.election.kazoo_bare_election import KazooBareElection
from rumpus.recipes.election.kazoo_election import KazooElection


def with_contest(contest: type[FairContest]) -> type[FairElection]:
    """A fair election whose candidates contend in another way."""
    return variant(FairElection, contest=contest)


def with_acknowledgements(acknowledgements: type[Acknowledgements]) -> type[FairElection]:
    """A fair election whose leaders acknowledge in another way."""
    return variant(FairElection, _acknowledgements_class=acknowledgements)


ELECTIONS: Final[Mapping[str, CatalogueEntry[ContestElection]]] = {
    "fair": sound(FairElection),
    "unfair": sound(UnfairElection),
    "kazoo": sound(KazooElection),
    "kazoo-bare": sound(KazooBareElection),
    "believes-after-lost": mutant(
        variant(FairElection, faulty_contenders.BelievesForGood),
        "leading stays true while the connection is suspended and after the session is lost",
        {"unaware-holder"},
    ),
    "leads-until-lost": mutant(
        variant(UnfairElection, faulty_contenders.BelievesUntilLost),
        "leading stays true while the connection is suspended, until the session is lost",
        {"disconnected-belief"},
    ),
    "watch-leader": mutant(
        with_contest(variant(faulty_contests.NoRecheck, faulty_contests.WatchesFirst)),
        "all candidates watch the leader's node, and each leads when it vanishes, without looking "
        "whether it is first",
        {"herd", "split-brain"},
        printed="L 3.9",
    ),
    "acknowledges-early": mutant(
        with_contest(faulty_elections.AcknowledgesEarly),
        "writes its acknowledgement when it joins the queue: observers see it as an acknowledged "
        "leader before it knows that it leads",
        {"false-acknowledgement"},
    ),
    "untied-acknowledgement": mutant(
        with_acknowledgements(faulty_elections.Untied),
        "the acknowledgement is one persistent node, bound neither to the leader's session nor to "
        "its epoch: observers take the next leader for acknowledged at once",
        {"false-acknowledgement"},
        printed="P Leader Election",
    ),
    "shared-acknowledgement": mutant(
        faulty_elections.SharedAcknowledgementElection,
        "all leaders acknowledge with the same node, and a client that begins to campaign removes "
        "it, as if it were left from an earlier term of its own",
        {"lost-acknowledgement"},
    ),
    "keeps-acknowledgement": mutant(
        with_acknowledgements(faulty_elections.Kept),
        "does not remove its acknowledgement when it resigns: the nodes of all its terms stay "
        "while its session lives",
        {"orphan-node"},
    ),
    "persistent-node": mutant(
        with_contest(faulty_contests.PersistentNode),
        "the candidate's node is persistent: a leader that has died stays first for ever",
        {"leaderless", "orphan-node"},
    ),
    **contest_mutants(
        with_contest, "first-session-only", "keeps-place", "sorts-by-name", "denies-release"
    ),
    **answer_mutants(partial(variant, FairElection), "releases-nothing", "enters-what-was-lost"),
    **wrong_timeouts(
        variant(FairElection, faulty_elections.CampaignsForEver),
        variant(FairElection, faulty_elections.CampaignsForHalf),
    ),
    "counts-reigns": mutant(
        variant(FairElection, faulty_contenders.CountsItsOwnGrants),
        "the epoch counts this client's own terms, and no other client's",
        {"token-regression"},
    ),
    "remembers-leader": mutant(
        faulty_elections.RemembersLeaderElection,
        f"repeats its last answer for {faulty_elections.REMEMBERED_S} s to save requests: an "
        "observer names an old leader after a newer one was seen",
        {"epoch-regression"},
    ),
    "resigns-by-path": mutant(
        variant(UnfairElection, contest=faulty_contests.ReleaseByPath),
        "resigns by deleting the path in the client's present session, without looking whose node "
        "it is",
        {"split-brain"},
    ),
    "never-leading": mutant(
        variant(FairElection, faulty_contenders.NeverBelieves),
        "leading is always false: a client that was elected does nothing",
        {"unbelieving-holder"},
    ),
    "runs-against-itself": mutant(
        variant(FairElection, faulty_elections.RunsAgainstItself),
        "a leader that campaigns again joins the queue behind its own node, and waits for itself "
        "until its timeout",
        {"refused-reentry"},
    ),
    "watches-smallest": mutant(
        with_contest(faulty_contests.WatchesFirst),
        "candidates watch the lowest node, which is the leader's, although the text above the "
        "pseudo-code says the next lower one: each resignation wakes all candidates",
        {"herd"},
        printed="P Leader Election",
    ),
    "unsynced": mutant(
        variant(FairElection, DoesNotCatchUp),
        "reads who leads without catching up first: a server that lags shows an earlier leader",
        {"epoch-regression", "false-observation"},
    ),
    "hides-unacknowledged": mutant(
        faulty_elections.HidesUnacknowledgedElection,
        "answers that nobody leads until the leader has acknowledged: it hides a leader whose "
        "process is frozen",
        {"false-observation"},
    ),
    "forgets-acknowledgement": mutant(
        with_acknowledgements(faulty_elections.SaidOnce),
        "remembers that it has acknowledged, but not which epoch: it does not acknowledge its "
        "later terms",
        {"lost-acknowledgement"},
    ),
}
