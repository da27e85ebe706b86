"""Asynchronous jobs: submitted by some, done by others, each of them once.

A node stands for a job, the worker removes it when it is done, and the submitter watches: a use
that is often made of ZooKeeper. Here it is made safe. Below ``path``:

- ``jobs/<id>``: what is to be done. Its version counts how often the job was claimed;
- ``claims/<id>`` (ephemeral): a worker is at it. It goes with the worker's session, and then
  the job is anybody's again;
- ``tickets/<id>``: the submitter's. It comes with the job, in one multi, and stays when that
  goes, so that a submission whose answer was lost can be made again without a second job: even
  after the job has been done. When it is done its result is in it.

**Once.** A claim is a multi that creates the claim and moves the job's version on. The version is
the claim's *fencing token*: it grows with each claim of that job. Completion is a multi too:
the claim goes, the job goes *if its version is still the token*, the ticket gets the result, and
whatever else in ZooKeeper the job is to change is changed with it (``also``). A worker that was
slow, and whose job went to another, finds another version and changes nothing. An effect
outside ZooKeeper is repeated if a worker dies between it and the completion, unless whoever has
it remembers the highest token of each job, and refuses lower ones.

**Any client may ask.** A job's name can be passed on. Before a client is told that there is no
such job its server has caught up with the others, by a write of no effect.

**News.** The submitter reads its ticket and leaves a watch, and looks again after any news, that
of a new connection included: a watch alone may be lost with the connection.
"""

import json
import random
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import ClassVar, Final

from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError

from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.outcomes import ClaimLost, OutcomeUnknown
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.retrying_call import RetryingCall

JOBS: Final = "jobs"
CLAIMS: Final = "claims"
TICKETS: Final = "tickets"

Change = Callable[[TransactionRequest], None]
"""Adds to a multi what else is to change with it."""


@dataclass(frozen=True)
class Claim:
    """A job in a worker's hands; ``token`` grows with each claim of the same job."""

    job: str
    payload: bytes
    token: int


@dataclass(frozen=True)
class Ticket:
    """What a submitter holds: ``done`` by the claim with that token, with that result."""

    done: bool = False
    result: str = ""
    by: str = ""


class Jobs(Recipe):
    """One client's side: it may submit jobs, and do them.

    Args:
        client: a started client with kazoo's threading handler.
        path: the znode below which the jobs stand; it belongs to this recipe alone.
        grace: seconds by which a call may run over its timeout.
    """

    promises: ClassVar[Promises] = Promises(
        prevents=frozenset(
            {
                "lost-job",
                "repeated-effect",
                "unnotified-submitter",
                "false-completion",
                "denied-job",
                "overdue-call",
                "token-regression",
                "freed-live-holder",
            }
        ),
        tokens=True,
        notes=(
            "No order among jobs. A job may be begun several times, if workers die over it; its "
            "effect comes once where it is made in ZooKeeper with the completion, or where a "
            "resource checks the job's tokens."
        ),
    )
    _call_class: ClassVar[type[RetryingCall]] = RetryingCall

    def __init__(self, client: KazooClient, path: str, *, grace: float = 2.0) -> None:
        self._client = client
        self._path = path
        self._grace = grace
        self._mark = uuid.uuid4().hex
        self._in_hand: str | None = None
        self._one_call = threading.Lock()

    # The submitter's side.

    def submit(
        self, payload: bytes, *, job: str | None = None, timeout: float | None = None
    ) -> str:
        """Hand in a job; its name. The same name again is the same job, until ``forget``.

        Raises:
            OutcomeUnknown: it may have been handed in, or may be yet. Call again with the same
                name.
        """
        job = job or uuid.uuid4().hex
        with self._call_class(self._client, timeout, self._grace) as call:
            name = call.rounds(lambda: self._hand_in(call, job, payload))
            if name is None:
                raise OutcomeUnknown(f"{self._path}: no answer, job {job} may have been handed in")
            return name

    def result(self, job: str, timeout: float | None = None) -> str | None:
        """Wait until a job is done; its result, or None when the time is over.

        Raises:
            KeyError: there is no such job: it was never handed in, or has been forgotten.
        """
        with self._call_class(self._client, timeout, self._grace) as call:

            def one() -> str | None:
                call.session.wake.clear()
                try:
                    ticket = self._ticket(call, job, watch=True)
                except NoNodeError as error:
                    self._catch_up(call)
                    if call.read(self._client.exists_async, self._node(TICKETS, job)) is None:
                        raise KeyError(job) from error
                    return None
                if ticket.done:
                    return ticket.result
                call.wait()
                return None

            found: str | None = call.rounds(one)
            return found

    def _catch_up(self, call: RetryingCall) -> None:
        """See to it that the next look shows all jobs that were handed in before this call.

        Another client may have handed one in, and our server may be behind.
        """
        call.settle(self._node(TICKETS, uuid.uuid4().hex))

    def forget(self, job: str, timeout: float | None = None) -> None:
        """Remove the ticket of a job that is done: its name means nothing any more.

        Raises:
            ValueError: it is not done, so that its result has nowhere else to go.
            OutcomeUnknown: no answer in time.
        """
        with self._call_class(self._client, timeout, self._grace) as call:

            def one() -> bool:
                with suppress(NoNodeError):  # an earlier try's answer was lost
                    if not self._ticket(call, job).done:
                        raise ValueError(f"{self._path}: job {job} is not done")
                    call.write(self._client.delete_async, self._node(TICKETS, job))
                return True

            if call.rounds(one) is None:
                raise OutcomeUnknown(f"{self._path}: no answer, the ticket of {job} may be there")

    # The worker's side: one job at a time for each object.

    def claim(self, timeout: float | None = None) -> Claim | None:
        """Take a job that nobody is at; None if there is none, or none came in time.

        A job in hand that was neither completed nor given back comes first: again, or not
        at all if it is no longer ours.

        Raises:
            OutcomeUnknown: no answer in time; we may have claimed one. Call again: the next claim
                begins with the job in hand.
        """
        with self._one_call, self._call_class(self._client, timeout, self._grace) as call:

            def one() -> Claim | None:
                call.session.wake.clear()
                claim = self._take(call, self._in_hand) if self._in_hand else None
                for job in [] if claim else self._free(call):
                    claim = self._take(call, job)
                    if claim is not None:
                        break
                if claim is None:
                    call.wait()
                return claim

            claim = call.rounds(one)
            if claim is None and self._in_hand:
                raise OutcomeUnknown(
                    f"{self._path}: no answer, {self._in_hand} may be in our hands"
                )
            return claim

    def complete(
        self, claim: Claim, result: str, *, also: Change | None = None, timeout: float | None = None
    ) -> None:
        """Say that a job is done, and have its effect.

        Args:
            claim: from ``claim``.
            result: for the submitter.
            also: adds to the multi what else is to change in ZooKeeper, once, with it.
            timeout: seconds; None is for ever.

        Raises:
            ClaimLost: nothing was changed: the job went, or goes, to another worker.
            OutcomeUnknown: no answer in time. Call ``claim``, which begins with the job in hand.
            ZookeeperError: what a part of ``also`` was answered; nothing was changed.
        """
        with self._one_call, self._call_class(self._client, timeout, self._grace) as call:
            by = f"{self._mark}-{claim.token}"

            def one() -> bool | None:
                if call.unsure:
                    done = self._completed(call, claim, by)
                    if done is not None:
                        return done
                try:
                    self._commit_completion(call, claim, Ticket(True, result, by), also)
                except (NoNodeError, BadVersionError):
                    done = self._completed(call, claim, by)
                    if done is None:
                        raise  # a part of ``also`` was refused
                    return done
                return True

            done = call.rounds(one)
            self._let_go(claim, done, "be done")

    def give_back(self, claim: Claim, timeout: float | None = None) -> None:
        """Leave a job to others, undone.

        Raises:
            ClaimLost: it was no longer ours.
            OutcomeUnknown: no answer in time. Call ``claim``, as after ``complete``.
        """
        with self._one_call, self._call_class(self._client, timeout, self._grace) as call:

            def one() -> bool:
                try:
                    self._commit_return(call, claim)
                except (NoNodeError, BadVersionError):
                    return call.unsure
                return True

            given = call.rounds(one)
            self._let_go(claim, given, "be in our hands")

    def _let_go(self, claim: Claim, done: bool | None, doubt: str) -> None:
        """A job is out of our hands, unless there was no answer; raises if it was not ours."""
        if done is None:
            raise OutcomeUnknown(f"{self._path}: no answer, {claim.job} may {doubt}")
        self._in_hand = None
        if not done:
            raise ClaimLost(f"{self._path}: {claim.job} is no longer ours")

    # Requests.

    def _hand_in(self, call: RetryingCall, job: str, payload: bytes) -> str | None:
        """Create a job and its ticket; its name, or None if that has to be tried again."""
        try:
            self._commit_job(call, job, payload)
        except NodeExistsError:
            return job  # by an earlier try
        except NoNodeError:
            self._lay_out(call)
            return None
        return job

    def _commit_job(self, call: RetryingCall, job: str, payload: bytes) -> None:
        multi = self._client.transaction()
        multi.create(self._node(TICKETS, job), _written(Ticket()))
        multi.create(self._node(JOBS, job), payload)
        call.commit(multi, job)

    def _commit_return(self, call: RetryingCall, claim: Claim) -> None:
        multi = self._client.transaction()
        multi.delete(self._node(CLAIMS, claim.job))
        multi.check(self._node(JOBS, claim.job), claim.token)
        call.commit(multi, claim.job)

    def _free(self, call: RetryingCall) -> list[str]:
        """Jobs that nobody is at, in any order; watches for changes are left."""
        try:
            jobs = call.read(self._client.get_children_async, f"{self._path}/{JOBS}", call.news)
            claims = call.read(self._client.get_children_async, f"{self._path}/{CLAIMS}", call.news)
        except NoNodeError:
            self._lay_out(call)
            call.news()
            return []
        free = sorted(set(jobs) - set(claims))
        random.shuffle(free)  # so that workers that look at once do not all want the same
        return free

    def _take(self, call: RetryingCall, job: str) -> Claim | None:
        """Claim a job, or find that it is claimed by us; None if somebody was quicker."""
        node = self._node(JOBS, job)
        try:
            payload, stat = call.read(self._client.get_async, node)
            self._in_hand = job
            self._commit_claim(call, job, payload, stat.version)
            return Claim(job, payload, stat.version + 1)
        except NodeExistsError:
            claim = self._claimed(call, job)
        except (NoNodeError, BadVersionError):
            claim = None
        self._in_hand = job if claim else None
        return claim

    def _commit_claim(self, call: RetryingCall, job: str, payload: bytes, version: int) -> None:
        multi = self._client.transaction()
        multi.create(self._node(CLAIMS, job), self._mark.encode(), ephemeral=True)
        multi.set_data(self._node(JOBS, job), payload, version)
        call.commit(multi, job)

    def _claimed(self, call: RetryingCall, job: str) -> Claim | None:
        """Our claim, if it is ours that stands there: an answer was lost."""
        try:
            mark, stat = call.read(self._client.get_async, self._node(CLAIMS, job))
            if mark != self._mark.encode() or not call.session.owns(stat):
                return None
            payload, stat = call.read(self._client.get_async, self._node(JOBS, job))
        except NoNodeError:
            return None
        return Claim(job, payload, stat.version)

    def _commit_completion(
        self, call: RetryingCall, claim: Claim, ticket: Ticket, also: Change | None
    ) -> None:
        multi = self._client.transaction()
        multi.delete(self._node(CLAIMS, claim.job))
        multi.delete(self._node(JOBS, claim.job), claim.token)
        multi.set_data(self._node(TICKETS, claim.job), _written(ticket))
        if also is not None:
            also(multi)
        call.commit(multi, claim.job)

    def _completed(self, call: RetryingCall, claim: Claim, by: str) -> bool | None:
        """Whether a claim was completed; None if it was not and still may be.

        Raises:
            OutcomeUnknown: the job was done and forgotten, so that nobody can say who did it.
        """
        call.settle(self._node(TICKETS, uuid.uuid4().hex))
        try:
            ticket = self._ticket(call, claim.job)
        except NoNodeError as error:
            raise OutcomeUnknown(f"{self._path}: {claim.job} has been forgotten") from error
        if ticket.done:
            return ticket.by == by
        held = call.read(self._client.exists_async, self._node(CLAIMS, claim.job))
        if held is None or not call.session.owns(held):
            return False
        job = call.read(self._client.exists_async, self._node(JOBS, claim.job))
        return None if job is not None and job.version == claim.token else False

    def _ticket(self, call: RetryingCall, job: str, *, watch: bool = False) -> Ticket:
        news = call.news if watch else None
        data = call.read(self._client.get_async, self._node(TICKETS, job), news)[0]
        return Ticket(**json.loads(data))

    def _lay_out(self, call: RetryingCall) -> None:
        for folder in (JOBS, CLAIMS, TICKETS):
            call.read(self._client.ensure_path_async, f"{self._path}/{folder}")

    def _node(self, folder: str, job: str) -> str:
        return f"{self._path}/{folder}/{job}"


def _written(ticket: Ticket) -> bytes:
    return json.dumps(asdict(ticket)).encode()
