"""Changes of a file: each waits until no client has the file in its cache any more.

``recipes.chubby.cached_file`` has the protocol and the argument. A change goes through these steps:

1. **Announce** it: write its unique id into the mark, on condition that no other change is under
   way. If another one is, wait for it. A change whose mark stands for too long was abandoned by a
   client that died; the next one takes over.
2. **Wait** until the file has no cache entries. Every client that has one learns of the mark.
3. **Carry out** the change and clear the mark, in one transaction, on condition that the mark is
   still ours. So a client that was too slow, and whose change was taken for abandoned, begins anew.

**A lost reply.** After a write without effect (``RetryingCall.settle``) the mark tells whether the
transaction was carried out: the id of the last change is ours, or that of the present one still is.
If it shows only ids of others, nobody can tell.
"""

import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar, Final, NamedTuple

from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import (
    BadVersionError,
    NoNodeError,
    NotEmptyError,
    SessionExpiredError,
)
from kazoo.protocol.states import ZnodeStat
from kazoo.security import ACL

from rumpus.recipes.chubby.cell import FilePaths
from rumpus.recipes.chubby.change_mark import ChangeMark, Patience
from rumpus.recipes.chubby.lease import Lease
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import PAUSE
from rumpus.recipes.requests.retrying_call import RetryingCall
from rumpus.recipes.requests.session import Unanswered

WITHDRAW_S: Final = 0.5
"""Seconds that a change which was refused or timed out takes to withdraw its announcement."""


class StaleSequencer(NotDone):
    """The handle's sequencer is no longer valid: the hold that it names has ended."""


class Step(NamedTuple):
    """What a change does to the file.

    Args:
        add: adds its requests to the transaction.
        result: what the change returns, a generation number; known before it is carried out,
            because nobody else can change the file meanwhile.
    """

    add: Callable[[TransactionRequest], object]
    result: int


class FileChange:
    """One change of a file. See the module.

    Args:
        client: a started client with kazoo's threading handler.
        paths: the file's znodes.
        lease: the lease of the caller's session.
        plan: given the file's znode's Stat, says what to do; raises ``NotDone`` to refuse.
        patience: tells when somebody else's change counts as abandoned.
        guard: a znode that must exist when the change is carried out (the proof of a hold).
    """

    _call_class: ClassVar[type[RetryingCall]] = RetryingCall

    def __init__(
        self,
        client: KazooClient,
        paths: FilePaths,
        lease: Lease,
        plan: Callable[[ZnodeStat], Step],
        patience: Patience,
        guard: str | None = None,
    ) -> None:
        self._client = client
        self._paths = paths
        self._lease = lease
        self._plan = plan
        self._patience = patience
        self._guard = guard
        self._id = uuid.uuid4().hex
        self._announced: tuple[ChangeMark, int] | None = None
        self._sent: Step | None = None
        """What was sent to the servers, if its answer did not come."""

    def carry_out(self, timeout: float | None, grace: float) -> int:
        """Carry out the change; the result of its step.

        Args:
            timeout: seconds; None is for ever.
            grace: seconds after the timeout for which answers are still awaited.

        Raises:
            HandleInvalid: the session expired, or there is no such file.
            NotDone: the change was refused, or timed out before it was carried out.
            OutcomeUnknown: nobody can tell whether it was carried out.
        """
        with self._call_class(self._client, timeout, grace) as call:
            try:
                done = call.rounds(lambda: self._round(call))
            except NotDone as error:
                if self._sent is not None:
                    raise OutcomeUnknown(f"no answer, and then: {error}") from error
                self._withdraw(call)
                raise
            if done is None:
                if self._sent is not None:
                    raise OutcomeUnknown("no answer in time")
                self._withdraw(call)
                raise NotDone("timed out")
            return done[0]

    def _round(self, call: RetryingCall) -> tuple[int] | None:
        """One try; None: not yet."""
        self._lease.admit(call.deadline)
        call.session.wake.clear()
        if self._sent is not None:
            call.settle(f"{self._paths.cache}/none")
        data, stat = call.read(self._client.get_async, self._paths.cache, call.news)
        mark = ChangeMark.parse(data)
        if self._sent is not None:
            if mark.last == self._id:
                return (self._sent.result,)
            if mark.change != self._id:
                raise OutcomeUnknown("no answer, and others have changed the file since")
            self._sent = None  # it was not carried out
        if not self._announce(call, mark, stat) or not self._is_uncached(call):
            return None
        return self._finish(call)

    def _announce(self, call: RetryingCall, mark: ChangeMark, stat: ZnodeStat) -> bool:
        """Write into the mark that our change is under way; False: not yet."""
        if mark.change == self._id:
            self._announced = mark, stat.version
            return True
        if mark.change is not None and not self._patience.exhausted(stat):
            call.wait(Deadline(PAUSE))
            return False
        ours = ChangeMark(self._id, mark.last)
        try:
            stat = call.write(self._client.set_async, self._paths.cache, ours.dump(), stat.version)
        except BadVersionError:
            return False
        self._announced = ours, stat.version
        return True

    def _is_uncached(self, call: RetryingCall) -> bool:
        """Whether no client has the file in its cache; if one has, wait a little."""
        entries = call.read(self._client.get_children_async, self._paths.cache, call.news)
        if entries:
            call.wait(Deadline(PAUSE))
        return not entries

    def _finish(self, call: RetryingCall) -> tuple[int] | None:
        """Carry out the change, as nobody has the file in its cache."""
        assert self._announced is not None, "it was announced in this round"
        _, version = self._announced
        try:
            _, stat = call.read(self._client.get_async, self._paths.file)
        except NoNodeError:
            raise NotDone(f"{self._paths.file}: there is no such file") from None
        step = self._planned(stat)
        try:
            self._commit(call, step, stat, version)
        except (Unanswered, SessionExpiredError):
            self._sent = step
            raise
        except BadVersionError:  # our change was taken for abandoned
            return None
        except NoNodeError:  # only the guard can be missing: the file cannot have changed
            raise StaleSequencer(f"{self._guard}: the hold has ended") from None
        except NotEmptyError:
            raise NotDone(f"{self._paths.file}: it has children") from None
        return (step.result,)

    def _planned(self, stat: ZnodeStat) -> Step:
        """What to do to the file."""
        return self._plan(stat)

    def _commit(
        self,
        call: RetryingCall,
        step: Step,
        stat: ZnodeStat,  # noqa: ARG002 - for the subclass
        version: int,
    ) -> None:
        """Send the step to the servers, with the clearing of the mark."""
        transaction: TransactionRequest = self._client.transaction()
        if self._guard is not None:
            transaction.check(self._guard, -1)
        transaction.set_data(self._paths.cache, self._cleared(), version)
        step.add(transaction)
        call.commit(transaction, self._paths.file)

    def _cleared(self) -> bytes:
        return ChangeMark(None, self._id).dump()

    def _withdraw(self, call: RetryingCall) -> None:
        """Clear the mark if it is ours. If this fails, the change is abandoned in time."""
        if self._announced is None:
            return
        mark, version = self._announced
        idle = ChangeMark(None, mark.last).dump()
        cache = self._paths.cache
        with suppress(SessionExpiredError, Unanswered, BadVersionError):
            call.session.ask(Deadline(WITHDRAW_S), self._client.set_async, cache, idle, version)


class AclChange(FileChange):
    """A change of the access control list, which ZooKeeper allows in no transaction.

    The list is changed first, and then the mark is cleared. Nobody else can change the list in
    between, so the list's version tells whether an earlier try was carried out.

    Args:
        acl: the new list.
    """

    def __init__(self, *arguments: Any, acl: list[ACL], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._acl = acl
        self._first: Step | None = None

    def _planned(self, stat: ZnodeStat) -> Step:
        """The step of the first try: a later one may find the list changed, by us."""
        self._first = self._first or self._plan(stat)
        return self._first

    def _commit(
        self,
        call: RetryingCall,
        step: Step,
        stat: ZnodeStat,
        version: int,
    ) -> None:
        if self._guard and call.read(self._client.exists_async, self._guard) is None:
            raise NoNodeError(self._guard)
        if stat.aversion < step.result:
            try:
                call.write(self._client.set_acls_async, self._paths.file, self._acl, stat.aversion)
            except BadVersionError:  # our change was taken for abandoned, and another was made
                self._first = None
                raise
        try:
            call.write(self._client.set_async, self._paths.cache, self._cleared(), version)
        except BadVersionError:
            raise OutcomeUnknown("the list was changed, but somebody may have it cached") from None
