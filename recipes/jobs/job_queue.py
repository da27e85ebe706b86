"""Jobs that clients submit and workers do, each of them once.

Often a job is a node that the worker removes when the job is done, while the submitter watches the
node. This recipe makes that safe. Below ``path``:

- ``jobs/<id>``: the job's payload. The node's version counts how often the job was claimed.
- ``claims/<id>`` (ephemeral): a worker has claimed the job. The claim ends with the worker's
  session; then any worker may claim the job.
- ``tickets/<id>``: the submitter's. It is created with the job, in one transaction, and stays when
  the job is removed: a submission whose reply was lost can be repeated without creating a second
  job, even after the job was done. When the job is done, its result is written into the ticket.

**Once.** A claim is a transaction that creates the claim's node and increments the job's version.
That version is the claim's *fencing token*: it grows with each claim of the job. Completion is a
transaction, too: it removes the claim, removes the job *if its version is still the token*, writes
the result into the ticket, and makes whatever other changes in ZooKeeper the job has as its effect
(``also``). A slow worker whose job went to another one finds another version and changes nothing.
An effect outside ZooKeeper is repeated if the worker dies between the effect and the completion,
unless the resource remembers the highest token of each job and refuses lower ones.

**Any client may ask.** A job's name can be passed to other clients. Before a client is told that
there is no such job, its server has caught up, by a write without effect.

**Watches.** The submitter reads its ticket with a watch, and reads again after any event, a
reconnect included, because kazoo drops watches with the connection.
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

from rumpus.recipes.outcomes import ClaimLost, OutcomeUnknown
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.retrying_call import RetryingCall
from rumpus.recipes.retrying_recipe import RetryingRecipe

JOBS: Final = "jobs"
CLAIMS: Final = "claims"
TICKETS: Final = "tickets"

Change = Callable[[TransactionRequest], None]
"""Adds further changes to a transaction."""


@dataclass(frozen=True)
class Claim:
    """A job that a worker has claimed; ``token`` grows with each claim of the same job."""

    job: str
    payload: bytes
    token: int


@dataclass(frozen=True)
class Ticket:
    """What the ticket's node holds: whether the job is done, its result, and by which claim."""

    done: bool = False
    result: str = ""
    by: str = ""

    def written(self) -> bytes:
        """As the ticket's node holds it."""
        return json.dumps(asdict(self)).encode()


class Jobs(RetryingRecipe):
    """One client's side: it may submit jobs and do them. See the module.

    Args:
        client: a started client with kazoo's threading handler.
        path: the parent of all nodes of this recipe, used by nothing else.
        grace: seconds by which a call may exceed its timeout, to await late answers.

    Raises:
        ValueError: ``path`` is not an absolute znode path.
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
            "Jobs are done in no order. A job may be begun several times, if workers die; its "
            "effect occurs once if it is part of the completion's transaction, or if the resource "
            "checks the job's tokens."
        ),
    )

    def __init__(self, client: KazooClient, path: str, *, grace: float = 2.0) -> None:
        super().__init__(client, path, grace=grace)
        self._mark = uuid.uuid4().hex
        self._in_hand: str | None = None
        self._one_call = threading.Lock()

    # The submitter's side.

    def submit(
        self, payload: bytes, *, job: str | None = None, timeout: float | None = None
    ) -> str:
        """Submit a job; returns its name. Until ``forget`` the same name means the same job.

        Args:
            payload: what is to be done.
            job: the name; a new unique one if None.
            timeout: seconds; None is for ever.

        Raises:
            OutcomeUnknown: the job may have been submitted, or may be yet. Call again with the
                same name.
        """
        job = job or uuid.uuid4().hex
        with self._call(timeout) as call:
            return self._complete(
                call,
                lambda: self._hand_in(call, job, payload),
                f"no answer, job {job} may have been submitted",
            )

    def result(self, job: str, timeout: float | None = None) -> str | None:
        """Wait until a job is done; returns its result, or None if it timed out.

        Raises:
            KeyError: there is no such job: it was never submitted, or has been forgotten.
        """
        with self._call(timeout) as call:

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
        """Make sure that the next read shows all jobs that were submitted before this call."""
        call.settle(self._node(TICKETS, uuid.uuid4().hex))

    def forget(self, job: str, timeout: float | None = None) -> None:
        """Remove the ticket of a job that is done; then its name is free again.

        Raises:
            ValueError: the job is not done.
            OutcomeUnknown: no answer in time.
        """
        with self._call(timeout) as call:

            def one() -> bool:
                with suppress(NoNodeError):  # an earlier try has removed it
                    if not self._ticket(call, job).done:
                        raise ValueError(f"{self._path}: job {job} is not done")
                    call.write(self._client.delete_async, self._node(TICKETS, job))
                return True

            self._complete(call, one, f"no answer, the ticket of {job} may be there")

    # The worker's side: each object works on one job at a time.

    def claim(self, timeout: float | None = None) -> Claim | None:
        """Claim a job that no other worker has claimed; None if there was none in time.

        A job that this object has claimed, and neither completed nor given back, comes first, if
        its claim still stands.

        Raises:
            OutcomeUnknown: no answer in time; a job may have been claimed. Call again: the next
                claim begins with that job.
        """
        with self._one_call, self._call(timeout) as call:

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
                raise OutcomeUnknown(f"{self._path}: no answer, {self._in_hand} may be claimed")
            return claim

    def complete(
        self, claim: Claim, result: str, *, also: Change | None = None, timeout: float | None = None
    ) -> None:
        """Complete a job, together with its effect in ZooKeeper.

        Args:
            claim: from ``claim``.
            result: for the submitter.
            also: adds the effect to the completion's transaction.
            timeout: seconds; None is for ever.

        Raises:
            ClaimLost: nothing was changed: the claim has ended, and another worker does the job.
            OutcomeUnknown: no answer in time. Call ``claim``, which begins with this job.
            ZookeeperError: a change that ``also`` added was refused; nothing was changed.
        """
        with self._one_call, self._call(timeout) as call:
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
                        raise  # a change that ``also`` added was refused
                    return done
                return True

            done = call.rounds(one)
            self._let_go(claim, done, "be done")

    def give_back(self, claim: Claim, timeout: float | None = None) -> None:
        """Give up a claim, so that another worker may do the job.

        Raises:
            ClaimLost: the claim had ended already.
            OutcomeUnknown: no answer in time. Call ``claim``, as after ``complete``.
        """
        with self._one_call, self._call(timeout) as call:

            def one() -> bool:
                try:
                    self._commit_return(call, claim)
                except (NoNodeError, BadVersionError):
                    return call.unsure
                return True

            given = call.rounds(one)
            self._let_go(claim, given, "be claimed by us")

    def _let_go(self, claim: Claim, done: bool | None, doubt: str) -> None:
        """Forget the claim, unless its end is unknown.

        Raises:
            ClaimLost: the claim had ended already (``done`` is False).
            OutcomeUnknown: no answer (``done`` is None).
        """
        if done is None:
            raise OutcomeUnknown(f"{self._path}: no answer, {claim.job} may {doubt}")
        self._in_hand = None
        if not done:
            raise ClaimLost(f"{self._path}: our claim of {claim.job} has ended")

    # Requests.

    def _hand_in(self, call: RetryingCall, job: str, payload: bytes) -> str | None:
        """Create a job and its ticket; returns its name, or None to try again."""
        try:
            self._commit_job(call, job, payload)
        except NodeExistsError:
            return job  # an earlier try has created it
        except NoNodeError:
            self._lay_out(call)
            return None
        return job

    def _commit_job(self, call: RetryingCall, job: str, payload: bytes) -> None:
        multi = self._client.transaction()
        multi.create(self._node(TICKETS, job), Ticket().written())
        multi.create(self._node(JOBS, job), payload)
        call.commit(multi, job)

    def _commit_return(self, call: RetryingCall, claim: Claim) -> None:
        multi = self._client.transaction()
        multi.delete(self._node(CLAIMS, claim.job))
        multi.check(self._node(JOBS, claim.job), claim.token)
        call.commit(multi, claim.job)

    def _free(self, call: RetryingCall) -> list[str]:
        """Jobs that nobody has claimed, in random order; sets watches for changes."""
        try:
            jobs = call.read(self._client.get_children_async, f"{self._path}/{JOBS}", call.news)
            claims = call.read(self._client.get_children_async, f"{self._path}/{CLAIMS}", call.news)
        except NoNodeError:
            self._lay_out(call)
            call.news()
            return []
        free = sorted(set(jobs) - set(claims))
        random.shuffle(free)  # so that workers do not all try to claim the same job
        return free

    def _take(self, call: RetryingCall, job: str) -> Claim | None:
        """Claim a job, or find our claim of it; None if another worker has it."""
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
        """Our claim of a job, made by a request whose reply was lost; None if it is another's."""
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
        multi.set_data(self._node(TICKETS, claim.job), ticket.written())
        if also is not None:
            also(multi)
        call.commit(multi, claim.job)

    def _completed(self, call: RetryingCall, claim: Claim, by: str) -> bool | None:
        """Whether a claim was completed; None if not, and it still can be.

        Raises:
            OutcomeUnknown: the job was done and forgotten: nothing says by whom.
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
