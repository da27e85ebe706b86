"""Boards of jobs."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests.faulty_calls import DoesNotCatchUp, EndlessCall
from rumpus.recipes.jobs import faulty_jobs, published_jobs
from rumpus.recipes.jobs.job_queue import Jobs

BOARDS: Final[Mapping[str, CatalogueEntry[Jobs]]] = {
    "fenced": sound(Jobs),
    "persistent-claim": mutant(
        faulty_jobs.PersistentClaimJobs,
        "the claim is persistent: the job of a worker that has died is nobody else's ever",
        {"lost-job"},
    ),
    "unchecked-completion": mutant(
        faulty_jobs.UncheckedCompletionJobs,
        "completes without checking its claim: a worker that was slow has the effect again, "
        "after the one who got the job from it",
        {"repeated-effect"},
    ),
    "effect-first": mutant(
        faulty_jobs.EffectFirstJobs,
        "has the effect before it knows that the job is still its own, and says that it is done "
        "afterwards: whoever dies or is overtaken between the two leaves the effect to come "
        "again",
        {"repeated-effect"},
    ),
    "watch-only": mutant(
        faulty_jobs.WatchOnlyJobs,
        "the submitter leaves a watch when it hands the job in and waits for its event, without "
        "ever looking: when the connection is lost the watch is too",
        {"unnotified-submitter"},
    ),
    "submits-again": mutant(
        faulty_jobs.SubmitsAgainJobs,
        "hands a job in again under another name when it got no answer, without looking for the "
        "first: the job is done twice",
        {"repeated-effect"},
    ),
    "ignores-timeout": mutant(
        variant(Jobs, _call_class=EndlessCall),
        "claim and result take a timeout and wait for ever",
        {"overdue-call"},
    ),
    "swallows-loss": mutant(
        faulty_jobs.SwallowsLossJobs,
        "takes a completion that was refused, or got no answer, for done: a worker whose job "
        "went to another believes that its own effect came",
        {"false-completion"},
    ),
    "tells-latest-result": mutant(
        faulty_jobs.TellsLatestResultJobs,
        "keeps the result that it was told last and hands it out once more, whichever job is "
        "asked about: the submitter learns of another's work",
        {"false-completion"},
    ),
    "counts-claims": mutant(
        faulty_jobs.CountsClaimsJobs,
        "the token is how many jobs this worker has claimed",
        {"token-regression"},
    ),
    "evicting": mutant(
        faulty_jobs.EvictingJobs,
        "removes a claim that it has seen for a while, taking its worker for dead: it is only slow",
        {"freed-live-holder"},
    ),
    "unsynced": mutant(
        variant(Jobs, DoesNotCatchUp),
        "says that there is no such job without a sync: a server that is behind has not heard of "
        "it yet",
        {"denied-job"},
    ),
    "ephemeral-job": mutant(
        published_jobs.EphemeralJobs,
        "the job's node is ephemeral, and that it is gone means done: when the submitter's "
        "session ends nobody does the job, and the submitter is told that it was done",
        {"false-completion", "lost-job"},
        printed="L 4.3",
    ),
    "ephemeral-work": mutant(
        published_jobs.EphemeralWorkJobs,
        "the worker takes the job off the board and has an ephemeral node while it works; that "
        "it is gone means done: a worker's death looks like its success, and nobody does the job",
        {"false-completion", "lost-job"},
        printed="L 4.3",
    ),
}
