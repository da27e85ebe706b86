"""Job queues as a document describes them: an ephemeral node that is removed with the job."""

from uuid import uuid4

from kazoo.exceptions import NodeExistsError, NoNodeError

from rumpus.recipes.jobs.job_queue import CLAIMS, JOBS, TICKETS, Change, Claim, Jobs, Ticket
from rumpus.recipes.mistake import made
from rumpus.recipes.requests.retrying_call import RetryingCall


class _GoneIsDone(Jobs):
    """A job counts as done once its node is gone."""

    def result(self, job: str, timeout: float | None = None) -> str | None:
        """Wait until the node is gone; returns the result in the ticket, whatever it is."""
        with self._call(timeout) as call:

            def one() -> str | None:
                call.session.wake.clear()
                call.settle(self._node(TICKETS, uuid4().hex))  # no stale reads
                if self._going(call, job):
                    call.wait()
                    return None
                return self._ticket(call, job).result

            found: str | None = call.rounds(one)
            return found

    def _going(self, call: RetryingCall, job: str) -> bool:
        """Whether the job's node exists; sets a watch on it."""
        node = self._node(JOBS, job)
        return call.read(self._client.exists_async, node, call.news) is not None


class EphemeralJobs(_GoneIsDone):
    """The job's node is an ephemeral node of the submitter."""

    def _commit_job(self, call: RetryingCall, job: str, payload: bytes) -> None:
        made(job)
        multi = self._client.transaction()
        multi.create(self._node(TICKETS, job), Ticket().written())
        multi.create(self._node(JOBS, job), payload, ephemeral=True)
        call.commit(multi, job)


class EphemeralWorkJobs(_GoneIsDone):
    """A worker replaces the job's node by an ephemeral node of its own."""

    def _going(self, call: RetryingCall, job: str) -> bool:
        """Whether the job's node or a claim exists; sets watches."""
        # The job is read twice, because the claim may be given back after the first read.
        nodes = [self._node(folder, job) for folder in (JOBS, CLAIMS, JOBS)]
        return any(
            call.read(self._client.exists_async, node, call.news) is not None for node in nodes
        )

    def _take(self, call: RetryingCall, job: str) -> Claim | None:
        claim = super()._take(call, job)
        if claim is None and call.unsure:
            claim = self._claimed(call, job)
            self._in_hand = job if claim else None
        return claim

    def _commit_claim(self, call: RetryingCall, job: str, payload: bytes, version: int) -> None:
        made(job)
        multi = self._client.transaction()
        multi.delete(self._node(JOBS, job), version)
        multi.create(self._node(CLAIMS, job), payload, ephemeral=True)
        call.commit(multi, job)

    def _claimed(self, call: RetryingCall, job: str) -> Claim | None:
        try:
            payload, stat = call.read(self._client.get_async, self._node(CLAIMS, job))
        except NoNodeError:
            return None
        return Claim(job, payload, 1) if call.session.owns(stat) else None

    def _commit_return(self, call: RetryingCall, claim: Claim) -> None:
        multi = self._client.transaction()
        multi.delete(self._node(CLAIMS, claim.job))
        multi.create(self._node(JOBS, claim.job), claim.payload)
        try:
            call.commit(multi, claim.job)
        except NodeExistsError as error:
            raise NoNodeError from error  # an earlier try has given it back

    def _commit_completion(
        self, call: RetryingCall, claim: Claim, ticket: Ticket, also: Change | None
    ) -> None:
        multi = self._client.transaction()
        multi.delete(self._node(CLAIMS, claim.job))
        multi.set_data(self._node(TICKETS, claim.job), ticket.written())
        if also is not None:
            also(multi)
        call.commit(multi, claim.job)

    def _completed(self, call: RetryingCall, claim: Claim, by: str) -> bool | None:
        call.settle(self._node(TICKETS, uuid4().hex))
        ticket = self._ticket(call, claim.job)
        if ticket.done:
            return ticket.by == by
        return None if self._claimed(call, claim.job) else False
