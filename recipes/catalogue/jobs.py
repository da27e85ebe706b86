"""Boards of jobs."""

from collections.abc import Mapping
from typing import Final

from recipes.faulty.jobs import (
    EffectFirstJobs,
    IgnoresTimeoutJobs,
    PersistentClaimJobs,
    SubmitsAgainJobs,
    UncheckedCompletionJobs,
    WatchOnlyJobs,
)
from recipes.jobs import Jobs
from recipes.published.jobs import EphemeralJobs, EphemeralWorkJobs

BOARDS: Final[Mapping[str, type[Jobs]]] = {
    "fenced": Jobs,
    "persistent-claim": PersistentClaimJobs,
    "unchecked-completion": UncheckedCompletionJobs,
    "effect-first": EffectFirstJobs,
    "watch-only": WatchOnlyJobs,
    "submits-again": SubmitsAgainJobs,
    "ignores-timeout": IgnoresTimeoutJobs,
    "ephemeral-job": EphemeralJobs,
    "ephemeral-work": EphemeralWorkJobs,
}
