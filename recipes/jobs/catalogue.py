"""Job queues."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests.common_mutants import IGNORES_TIMEOUT
from rumpus.recipes.contests.faulty_calls import DoesNotCatchUp, EndlessCall
from rumpus.recipes.jobs import faulty_jobs, published_jobs
from rumpus.recipes.jobs.job_queue import Jobs

BOARDS: Final[Mapping[str, CatalogueEntry[Jobs]]] = {
    "fenced": sound(Jobs),
    "persistent-claim": mutant(
        faulty_jobs.PersistentClaimJobs,
        "the claim is a persistent node: nobody else can claim the job of a worker that has died",
        {"lost-job"},
    ),
    "unchecked-completion": mutant(
        faulty_jobs.UncheckedCompletionJobs,
        "completes a job without checking its claim: a slow worker whose job went to another one "
        "has the effect a second time",
        {"repeated-effect"},
    ),
    "forgets-undone": mutant(
        faulty_jobs.ForgetsUndoneJobs,
        "forgets a job without looking whether it is done: its ticket is gone, so nobody can "
        "complete it",
        {"false-completion", "lost-job"},
    ),
    "effect-first": mutant(
        faulty_jobs.EffectFirstJobs,
        "has the effect in one transaction and completes the job in a later one: if the worker "
        "dies or loses its claim between the two, the effect is repeated",
        {"repeated-effect"},
    ),
    "watch-only": mutant(
        faulty_jobs.WatchOnlyJobs,
        "the submitter sets a watch when it submits the job and waits for its event, without ever "
        "reading again: kazoo drops the watch with the connection",
        {"unnotified-submitter"},
    ),
    "submits-again": mutant(
        faulty_jobs.SubmitsAgainJobs,
        "after a lost reply submits the job again under another name, without looking for the "
        "first one: the job is done twice",
        {"repeated-effect"},
    ),
    "ignores-timeout": mutant(
        variant(Jobs, _call_class=EndlessCall), IGNORES_TIMEOUT, {"overdue-call"}
    ),
    "swallows-loss": mutant(
        faulty_jobs.SwallowsLossJobs,
        "treats a completion that was refused, or got no answer, as done: a worker whose job went "
        "to another one believes that it had the effect",
        {"false-completion"},
    ),
    "tells-latest-result": mutant(
        faulty_jobs.TellsLatestResultJobs,
        "returns the result that it returned last, whichever job is asked about",
        {"false-completion"},
    ),
    "counts-claims": mutant(
        faulty_jobs.CountsClaimsJobs,
        "the token is the number of jobs that this worker has claimed",
        {"token-regression"},
    ),
    "evicting": mutant(
        faulty_jobs.EvictingJobs,
        "removes a claim that it has seen for a while, although its worker may only be slow",
        {"freed-live-holder"},
    ),
    "unsynced": mutant(
        variant(Jobs, DoesNotCatchUp),
        "says that there is no such job without catching up first: a server that lags does not "
        "show the job yet",
        {"denied-job"},
    ),
    "ephemeral-job": mutant(
        published_jobs.EphemeralJobs,
        "the job is an ephemeral node, and a missing node means that the job is done: when the "
        "submitter's session ends nobody does the job, and the submitter is told that it is done",
        {"false-completion", "lost-job"},
        printed="L 4.3",
    ),
    "ephemeral-work": mutant(
        published_jobs.EphemeralWorkJobs,
        "the worker replaces the job's node by an ephemeral one of its own, and a missing node "
        "means that the job is done: when the worker dies nobody does the job",
        {"false-completion", "lost-job"},
        printed="L 4.3",
    ),
}
