"""A set of parts that is divided among the members of a group: each part has one owner at a time.

Two questions are kept apart:

- **Who should own a part** is a function of the list of members: with the members sorted, the i-th
  of n gets the i-th, (i+n)-th, ... part. Members watch the list
  (``recipes.registry.service_registry``). Their copies of it may differ for a while.
- **Who owns a part** is decided by a fair lock for each part. A member first releases the parts
  that it should no longer own, and then waits in the queues of the parts that it should own.

So members with different lists may delay a handover, but a part never has two owners. kazoo's
``SetPartitioner`` works in the same way; this one uses a lock that is safe against lost replies.
"""

import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from kazoo.client import KazooClient

from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.paths import absolute
from rumpus.recipes.promises import HOLDING, Line, Promises
from rumpus.recipes.registry.service_registry import RegistrationUnknown, ServiceRegistry
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import PAUSE

if TYPE_CHECKING:
    from rumpus.recipes.contests.contest import Entry

SHARES: Final = frozenset({"shared-partition", "unowned-partition", "partial-share"})
"""Each part has one owner, and a member that acquires gets its whole share."""

_GLANCE: Final = 0.3
"""Seconds to wait in the queues of parts before reading the list of members again."""


class Part(NamedTuple):
    """An owner's grant of a part; see ``recipes.contests.contender`` for the attributes."""

    node: str | None
    token: int | None
    session: int | None


class Partitioner:
    """One member's share of a set.

    Use it in a loop: ``acquire``; work on ``parts`` while ``held`` and not ``changed``;
    ``release``. Call ``leave`` in the end. Threads must not share an object.

    Args:
        client: a started client with kazoo's threading handler.
        path: the parent of all nodes of this recipe, used by nothing else.
        parts: the set: names that are valid in a znode path.
        name: this client's name, for people to read.
        grace: seconds by which a call may exceed its timeout, to await late answers.

    Raises:
        ValueError: ``path`` is not an absolute znode path.
    """

    promises: ClassVar[Promises] = Promises(
        prevents=SHARES
        | HOLDING
        | {"unaware-holder", "disconnected-belief", "token-regression"}
        | {"stuck-waiter", "deadlock", "orphan-node"},
        tokens=True,
        notes=(
            "A part has no owner while it is handed over. An owner that was paused can act after "
            "its parts have new owners: let the resources check tokens. A member that does not "
            "look at ``changed`` keeps others waiting."
        ),
    )

    def __init__(
        self,
        client: KazooClient,
        path: str,
        parts: Sequence[str],
        *,
        name: str = "",
        grace: float = 2.0,
    ) -> None:
        self._client = client
        self._path = absolute(path)
        self._parts = sorted(parts)
        self._member = f"{name}-{uuid.uuid4().hex}"
        self._members = ServiceRegistry(client, f"{path}/members")
        self._contests = {
            part: self._contest(client, f"{path}/locks/{part}", name, grace) for part in parts
        }
        self._owned: dict[str, Entry] = {}
        self._agreed: list[str] | None = None
        """The list of members by which the present share was acquired; None without a share."""

    _contest: ClassVar[type[FairContest]] = FairContest

    @classmethod
    def line(cls, path: str) -> Line:
        """The parent of the queues of the parts."""
        return FairContest.line(f"{path}/locks")

    def acquire(self, timeout: float | None = None) -> bool:
        """Join the group if need be, and wait for our share of the set by the present members.

        Returns:
            True: we own all of our share (it may be empty). False: timed out; we own nothing.

        Raises:
            LockUnknown: timed out, and a node of ours may still be in a queue.
        """
        deadline = Deadline(timeout)
        try:
            self._members.register(self._member, deadline.left())
        except RegistrationUnknown as error:
            self._drop(list(self._owned))
            raise LockUnknown(str(error)) from error
        view = self._members.watch()
        while True:
            members = view.addresses
            share = self._share(members)
            self._drop([part for part in self._owned if part not in share])
            self._drop([part for part, entry in self._owned.items() if entry.session.lost])
            missing = [part for part in share if part not in self._owned]
            if self._member in members and not missing:
                self._agreed = members
                return True
            if deadline.passed:
                return self._give_up(members)
            self._take(missing, deadline)

    def _give_up(self, members: list[str]) -> bool:  # noqa: ARG002 - a mutant uses it
        """Timed out without the whole share: what ``acquire`` returns."""
        self._drop(list(self._owned))
        return False

    def _take(self, missing: list[str], deadline: Deadline) -> None:
        """Wait in the queue of each part in turn, but not for long."""
        glance = Deadline(_GLANCE if (left := deadline.left()) is None else min(left, _GLANCE))
        try:
            for part in missing:
                entry = self._contests[part].win(glance.left())
                if entry is None:
                    break
                self._owned[part] = entry
        except BaseException:
            with suppress(LockUnknown):
                self._drop(list(self._owned))
            raise
        if not missing:  # we are not on the list yet, or no longer
            time.sleep(PAUSE)

    def release(self) -> None:
        """Release the share, and stay a member.

        Raises:
            NotHeld: there was no share, or the session that held it has ended.
            LockUnknown: no answer in time. Our nodes will be removed once they can be.
        """
        if self._agreed is None:
            raise NotHeld(f"{self._path}: no share was acquired")
        lost = [part for part, entry in self._owned.items() if entry.session.lost]
        self._drop(list(self._owned))
        if lost:
            raise NotHeld(f"{self._path}: the session that held {', '.join(lost)} has ended")

    def leave(self, timeout: float | None = None) -> None:
        """Release the share, and leave the group.

        Raises:
            LockUnknown: no answer in time. Our nodes will be removed once they can be.
        """
        try:
            self._drop(list(self._owned))
        finally:  # otherwise nobody could take our share
            self._deregister(timeout)
        for contest in self._contests.values():
            contest.settle()

    def _deregister(self, timeout: float | None) -> None:
        try:
            self._members.deregister(timeout)
        except RegistrationUnknown as error:
            raise LockUnknown(str(error)) from error

    @property
    def parts(self) -> Mapping[str, Part]:
        """The parts that we own; rely on it while ``held``."""
        return {
            part: Part(entry.node, entry.token, entry.session_id)
            for part, entry in self._owned.items()
        }

    @property
    def held(self) -> bool:
        """Whether we may rely, right now, on owning our share; see ``ContestLock.held``."""
        return self._agreed is not None and all(entry.reliable for entry in self._owned.values())

    @property
    def changed(self) -> bool:
        """Whether the members have changed since the share was acquired."""
        return self._agreed != self._members.watch().addresses

    def _share(self, members: list[str]) -> list[str]:
        if self._member not in members:
            return []
        return self._parts[members.index(self._member) :: len(members)]

    def _drop(self, parts: list[str]) -> None:
        """Release parts.

        Raises:
            LockUnknown: no answer in time for a part; the others were released.
        """
        self._agreed = None
        unknown: LockUnknown | None = None
        for part in parts:
            try:
                with suppress(NotHeld):  # the session has ended
                    self._contests[part].leave(self._owned.pop(part))
            except LockUnknown as error:
                unknown = unknown or error
        if unknown is not None:
            raise unknown
