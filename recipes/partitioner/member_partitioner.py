"""Sharing out a set among the members of a group, so that each part has one owner at a time.

Two things that are kept apart:

- **Who should own what** is a function of the list of members: sorted, the i-th of n gets the
  i-th, (i+n)-th, ... part. Members watch the list (``recipes.registry.service_registry``); their
  lists may differ for a while, and then so do their opinions.
- **Who does own it** is decided by a fair lock for each part. A member lets go of what is no
  longer its own before it waits for what has become so, and waits in line for whoever had it.

So two opinions can delay a handover, and never make two owners. This is what kazoo's
``SetPartitioner`` does; here it is done with a lock that keeps its promises when replies get lost.
"""

import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from kazoo.client import KazooClient

from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.promises import Line, Promises
from rumpus.recipes.registry.service_registry import RegistrationUnknown, ServiceRegistry
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import PAUSE

if TYPE_CHECKING:
    from rumpus.recipes.contests.contest import Entry

SHARES: Final = frozenset({"shared-partition", "unowned-partition", "partial-share"})
"""Each part has one owner, and who acquires gets its whole share."""

_GLANCE: Final = 0.3
"""Seconds to wait in one line before looking again who the members are."""


class Part(NamedTuple):
    """What the owner of a part can tell of it; see ``recipes.contests.contender``."""

    node: str | None
    token: int | None
    session: int | None


class Partitioner:
    """One member's share of a set.

    The loop of a user: ``acquire``; work on ``parts`` while ``held`` and not ``changed``;
    ``release``; and again. ``leave`` in the end. Not to be shared by threads.

    Args:
        client: a started client with kazoo's threading handler.
        path: the znode that the group is about; it belongs to this recipe alone.
        parts: the set: names that can stand in a znode path.
        name: who we are, for people to read.
        grace: seconds by which a call may run over its timeout.
    """

    promises: ClassVar[Promises] = Promises(
        prevents=SHARES
        | {"unbelieving-holder", "early-timeout"}
        | {"unaware-holder", "token-regression", "stuck-waiter", "deadlock", "orphan-node"},
        tokens=True,
        notes=(
            "A part has no owner while it is handed over. An owner that was paused can act after "
            "its parts have passed on: let what they stand for check tokens. Who does not look at "
            "``changed`` keeps others waiting."
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
        self._path = path
        self._parts = sorted(parts)
        self._member = f"{name}-{uuid.uuid4().hex}"
        self._members = ServiceRegistry(client, f"{path}/members")
        self._contests = {
            part: self._contest(client, f"{path}/locks/{part}", name, grace) for part in parts
        }
        self._owned: dict[str, Entry] = {}
        self._agreed: list[str] | None = None
        """The members for whom the present share was taken."""

    _contest: ClassVar[type[FairContest]] = FairContest

    @classmethod
    def line(cls, path: str) -> Line:
        """Below it stands a line for each part."""
        return FairContest.line(f"{path}/locks")

    def acquire(self, timeout: float | None = None) -> bool:
        """Join, if need be, and wait for our share of the set, as the members are now.

        Returns:
            True: all of it is ours (it may be empty). False: timed out, and nothing is.

        Raises:
            LockUnknown: timed out, and whether something of ours stands in a line cannot be said.
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

    def _give_up(self, members: list[str]) -> bool:  # noqa: ARG002 - for those that keep a part
        """The time is up, and the share is not complete: what ``acquire`` returns."""
        self._drop(list(self._owned))
        return False

    def _take(self, missing: list[str], deadline: Deadline) -> None:
        """Wait in line for each part in turn, but not for long."""
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
        if not missing:  # not on the list yet, or no longer
            time.sleep(PAUSE)

    def release(self) -> None:
        """Let go of the share, and stay a member.

        Raises:
            NotHeld: there was no share, or it was lost: the session ended.
            LockUnknown: no answer in time. Our nodes will be removed once they can be.
        """
        if self._agreed is None:
            raise NotHeld(f"{self._path}: no share was acquired")
        lost = [part for part, entry in self._owned.items() if entry.session.lost]
        self._drop(list(self._owned))
        if lost:
            raise NotHeld(f"{self._path}: the session that held {', '.join(lost)} has ended")

    def leave(self, timeout: float | None = None) -> None:
        """Let go, and be a member no longer.

        Raises:
            LockUnknown: no answer in time. What is ours will be removed once it can be.
        """
        try:
            self._drop(list(self._owned))
        finally:  # else we would stay a member, whose share nobody takes
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
        """What we own, if anything; rely on it while ``held``."""
        return {
            part: Part(entry.node, entry.token, entry.session_id)
            for part, entry in self._owned.items()
        }

    @property
    def held(self) -> bool:
        """Whether we may believe, right now, that we own our share; see ``ContestLock.held``."""
        return self._agreed is not None and all(
            entry.session.connected for entry in self._owned.values()
        )

    @property
    def changed(self) -> bool:
        """Whether the members are others than those whom the share was taken for."""
        return self._agreed != self._members.watch().addresses

    def _share(self, members: list[str]) -> list[str]:
        if self._member not in members:
            return []
        return self._parts[members.index(self._member) :: len(members)]

    def _drop(self, parts: list[str]) -> None:
        """Let go of parts; raises LockUnknown for the first of which there was no answer."""
        self._agreed = None
        unknown: LockUnknown | None = None
        for part in parts:
            try:
                with suppress(NotHeld):  # lost already
                    self._contests[part].leave(self._owned.pop(part))
            except LockUnknown as error:
                unknown = unknown or error
        if unknown is not None:
            raise unknown
