"""Boards of jobs."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.jobs.faulty_jobs import (
    CountsClaimsJobs,
    EffectFirstJobs,
    EvictingJobs,
    IgnoresTimeoutJobs,
    PersistentClaimJobs,
    SubmitsAgainJobs,
    SwallowsLossJobs,
    TellsLatestResultJobs,
    UncheckedCompletionJobs,
    UnsyncedJobs,
    WatchOnlyJobs,
)
from rumpus.recipes.jobs.job_queue import Jobs
from rumpus.recipes.jobs.published_jobs import EphemeralJobs, EphemeralWorkJobs

BOARDS: Final[Mapping[str, type[Jobs]]] = {
    "fenced": Jobs,
    "persistent-claim": PersistentClaimJobs,
    "unchecked-completion": UncheckedCompletionJobs,
    "effect-first": EffectFirstJobs,
    "watch-only": WatchOnlyJobs,
    "submits-again": SubmitsAgainJobs,
    "ignores-timeout": IgnoresTimeoutJobs,
    "swallows-loss": SwallowsLossJobs,
    "tells-latest-result": TellsLatestResultJobs,
    "counts-claims": CountsClaimsJobs,
    "evicting": EvictingJobs,
    "unsynced": UnsyncedJobs,
    "ephemeral-job": EphemeralJobs,
    "ephemeral-work": EphemeralWorkJobs,
}
