"""Job queues with one known mistake each, which the harness must find."""

import threading
import time
import uuid
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.protocol.states import EventType, WatchedEvent

from rumpus.recipes.jobs.job_queue import CLAIMS, JOBS, TICKETS, Change, Claim, Jobs, Ticket
from rumpus.recipes.mistake import made
from rumpus.recipes.outcomes import ClaimLost, OutcomeUnknown
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retrying_call import RetryingCall

TIDYING_S: Final = 0.1
"""Seconds between an effect and the completion, where these are two transactions."""

STALE_S: Final = 0.3
"""Seconds after which ``EvictingJobs`` removes another worker's claim."""


class PersistentClaimJobs(Jobs):
    def _commit_claim(self, call: RetryingCall, job: str, payload: bytes, version: int) -> None:
        made(self._node(CLAIMS, job))
        multi = self._client.transaction()
        multi.create(self._node(CLAIMS, job), self._mark.encode())
        multi.set_data(self._node(JOBS, job), payload, version)
        call.commit(multi, job)


class UncheckedCompletionJobs(Jobs):
    def _commit_completion(
        self, call: RetryingCall, claim: Claim, ticket: Ticket, also: Change | None
    ) -> None:
        made(claim.job)
        multi = self._client.transaction()
        multi.set_data(self._node(TICKETS, claim.job), ticket.written())
        if also is not None:
            also(multi)
        call.commit(multi, claim.job)
        for folder in (JOBS, CLAIMS):
            with suppress(NoNodeError):
                call.write(self._client.delete_async, self._node(folder, claim.job))

    def _completed(self, call: RetryingCall, claim: Claim, by: str) -> bool | None:
        return None


class ForgetsUndoneJobs(Jobs):
    def forget(self, job: str, timeout: float | None = None) -> None:
        with self._call(timeout) as call:

            def one() -> bool:
                with suppress(NoNodeError):
                    if not self._ticket(call, job).done:
                        made(job)
                    call.write(self._client.delete_async, self._node(TICKETS, job))
                return True

            self._complete(call, one, f"no answer, the ticket of {job} may be there")


class EffectFirstJobs(Jobs):
    def _commit_completion(
        self, call: RetryingCall, claim: Claim, ticket: Ticket, also: Change | None
    ) -> None:
        if also is not None:
            made(claim.job)
            effect = self._client.transaction()
            also(effect)
            call.commit(effect, claim.job)
            time.sleep(TIDYING_S)
        super()._commit_completion(call, claim, ticket, None)


class WatchOnlyJobs(Jobs):
    def __init__(self, client: KazooClient, path: str, **options: Any) -> None:
        super().__init__(client, path, **options)
        self._changed: dict[str, threading.Event] = {}

    def _hand_in(self, call: RetryingCall, job: str, payload: bytes) -> str | None:
        name = super()._hand_in(call, job, payload)
        if name is not None and name not in self._changed:
            changed = threading.Event()

            def news(event: WatchedEvent) -> None:
                if event.type == EventType.CHANGED:
                    changed.set()
                else:
                    made(name)

            if call.read(self._client.exists_async, self._node(TICKETS, name), news).version:
                changed.set()
            self._changed[name] = changed
        return name

    def result(self, job: str, timeout: float | None = None) -> str | None:
        deadline = Deadline(timeout)
        if job not in self._changed or not self._changed[job].wait(deadline.left()):
            return None
        return super().result(job, timeout)


class SubmitsAgainJobs(Jobs):
    def _hand_in(self, call: RetryingCall, job: str, payload: bytes) -> str | None:
        if call.unsure:
            made(job)
        name = f"{job}-{uuid.uuid4().hex[:8]}" if call.unsure else job
        return super()._hand_in(call, name, payload)


class SwallowsLossJobs(Jobs):
    def complete(
        self, claim: Claim, result: str, *, also: Change | None = None, timeout: float | None = None
    ) -> None:
        try:
            super().complete(claim, result, also=also, timeout=timeout)
        except (ClaimLost, OutcomeUnknown):
            made(claim.job)


class TellsLatestResultJobs(Jobs):
    _told: str | None = None

    def result(self, job: str, timeout: float | None = None) -> str | None:
        found = super().result(job, timeout)
        if found is None:
            return None
        before, self._told = self._told, found
        if before not in (None, found):
            made(job)
        return before or found


class CountsClaimsJobs(Jobs):
    def __init__(self, client: KazooClient, path: str, **options: Any) -> None:
        super().__init__(client, path, **options)
        self._tokens: list[int] = []

    def claim(self, timeout: float | None = None) -> Claim | None:
        claim = super().claim(timeout)
        if claim is None:
            return None
        self._tokens.append(claim.token)
        made(claim.job)
        return replace(claim, token=len(self._tokens))

    def complete(
        self, claim: Claim, result: str, *, also: Change | None = None, timeout: float | None = None
    ) -> None:
        super().complete(self._versioned(claim), result, also=also, timeout=timeout)

    def give_back(self, claim: Claim, timeout: float | None = None) -> None:
        super().give_back(self._versioned(claim), timeout)

    def _versioned(self, claim: Claim) -> Claim:
        return replace(claim, token=self._tokens[claim.token - 1])


class EvictingJobs(Jobs):
    def __init__(self, client: KazooClient, path: str, **options: Any) -> None:
        super().__init__(client, path, **options)
        self._seen: dict[int, float] = {}

    def _free(self, call: RetryingCall) -> list[str]:
        free = super()._free(call)
        claims = f"{self._path}/{CLAIMS}"
        with suppress(NoNodeError):  # another worker has removed it
            for job in call.read(self._client.get_children_async, claims):
                stat = call.read(self._client.exists_async, f"{claims}/{job}")
                if stat is None:
                    continue
                first = self._seen.setdefault(stat.czxid, time.monotonic())
                if time.monotonic() - first > STALE_S and not call.session.owns(stat):
                    made(f"{claims}/{job}")
                    call.write(self._client.delete_async, f"{claims}/{job}")
                    free.append(job)
        return free
