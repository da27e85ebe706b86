"""Boards of jobs with one known mistake each, which the harness must find."""

import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import NoNodeError
from kazoo.protocol.states import EventType, WatchedEvent

from recipes.deadline import Deadline
from recipes.errand import Errand
from recipes.faulty.endless_errand import EndlessErrand
from recipes.jobs import CLAIMS, JOBS, TICKETS, Claim, Jobs, Ticket, _written


class PersistentClaimJobs(Jobs):
    """Its claims are not ephemeral."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "the claim is persistent: the job of a worker that has died is nobody else's ever"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"lost-job"})

    def _commit_claim(self, errand: Errand, job: str, payload: bytes, version: int) -> None:
        multi = self._client.transaction()
        multi.create(self._node(CLAIMS, job), self._mark.encode())
        multi.set_data(self._node(JOBS, job), payload, version)
        errand.commit(multi, job)


class UncheckedCompletionJobs(Jobs):
    """Its completion does not look whether the job is still its own."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "completes without checking its claim: a worker that was slow has the effect again, after "
        "the one who got the job from it"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"repeated-effect"})

    def _commit_completion(
        self,
        errand: Errand,
        claim: Claim,
        ticket: Ticket,
        also: Callable[[TransactionRequest], None] | None,
    ) -> None:
        multi = self._client.transaction()
        multi.set_data(self._node(TICKETS, claim.job), _written(ticket))
        if also is not None:
            also(multi)
        errand.commit(multi, claim.job)
        for folder in (JOBS, CLAIMS):
            with suppress(NoNodeError):
                errand.write(self._client.delete_async, self._node(folder, claim.job))

    def _completed(
        self,
        errand: Errand,  # noqa: ARG002 - the base's
        claim: Claim,  # noqa: ARG002 - the base's
        by: str,  # noqa: ARG002 - the base's
    ) -> bool | None:
        return None


class EffectFirstJobs(Jobs):
    """The effect first, then the completion, which is checked."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "has the effect before it knows that the job is still its own, and says that it is done "
        "afterwards: whoever dies or is overtaken between the two leaves the effect to come again"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"repeated-effect"})

    def _commit_completion(
        self,
        errand: Errand,
        claim: Claim,
        ticket: Ticket,
        also: Callable[[TransactionRequest], None] | None,
    ) -> None:
        if also is not None:
            effect = self._client.transaction()
            also(effect)
            errand.commit(effect, claim.job)
        super()._commit_completion(errand, claim, ticket, None)


class WatchOnlyJobs(Jobs):
    """Its submitters learn of the end by the event of one watch."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "the submitter leaves a watch when it hands the job in and waits for its event, without "
        "ever looking: when the connection is lost the watch is too"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"unnotified-submitter"})

    def __init__(self, client: KazooClient, path: str, **options: Any) -> None:
        super().__init__(client, path, **options)
        self._changed: dict[str, threading.Event] = {}

    def _hand_in(self, errand: Errand, job: str, payload: bytes) -> str | None:
        name = super()._hand_in(errand, job, payload)
        if name is not None and name not in self._changed:
            changed = threading.Event()

            def news(event: WatchedEvent) -> None:
                if event.type == EventType.CHANGED:
                    changed.set()

            if errand.read(self._client.exists_async, self._node(TICKETS, name), news).version:
                changed.set()
            self._changed[name] = changed
        return name

    def result(self, job: str, timeout: float | None = None) -> str | None:
        """Wait for the event; None when the time is over, whatever the ticket says."""
        deadline = Deadline(timeout)
        if job not in self._changed or not self._changed[job].wait(deadline.left()):
            return None
        return super().result(job, timeout)


class SubmitsAgainJobs(Jobs):
    """Its submission is made again, under another name, if the answer is lost."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "hands a job in again under another name when it got no answer, without looking for the "
        "first: the job is done twice"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"repeated-effect"})

    def _hand_in(self, errand: Errand, job: str, payload: bytes) -> str | None:
        name = f"{job}-{uuid.uuid4().hex[:8]}" if errand.unsure else job
        return super()._hand_in(errand, name, payload)


class IgnoresTimeoutJobs(Jobs):
    """Its waiters do not give up."""

    errand = EndlessErrand
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "claim and result take a timeout and wait for ever"
    expected: ClassVar[frozenset[str]] = frozenset({"overdue-call"})
