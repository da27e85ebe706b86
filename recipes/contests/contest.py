"""The core of locks and elections: a contest, in which one contender at a time is first.

A contest gets an entry of ours to the front of a *line* of contenders, and removes it again.
Re-entrance, whether a grant can be relied on, and leadership are left to the recipes that use it.
What a line is on the server depends on the contest: see ``recipes.contests.fair_contest`` and
``recipes.contests.unfair_contest``.
"""

import threading
import uuid
from abc import ABC, abstractmethod
from contextlib import suppress

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError, SessionExpiredError

from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.paths import absolute
from rumpus.recipes.promises import Line
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import over_sessions, pause, within_session
from rumpus.recipes.requests.session import Session, Unanswered


class Entry:
    """A contender's place in a line, in one session, from before its node exists until it is gone.

    ``mark`` is unique and is written into the node's name or data, so that a node whose create
    got no answer can be found again. ``tried`` says that a create was issued, ``unsure`` that
    some request got no answer. ``node`` and ``token`` are set once a create was answered or the
    node was found.
    """

    def __init__(self, client: KazooClient, mark: str | None = None) -> None:
        self.mark = mark or uuid.uuid4().hex
        self.session = Session(client)
        self.tried = False
        self.unsure = False
        self.node: str | None = None
        self.token: int | None = None
        self.session_id: int | None = None
        self.gone = threading.Event()
        """Set once nothing of this entry is left on the server."""

    @property
    def reliable(self) -> bool:
        """Whether its session can be relied on now."""
        return self.session.reliable


class Contest(ABC):
    """A contest for ``path``; one entry of ours at a time.

    Args:
        client: a started client with kazoo's threading handler.
        path: the znode that the contest is about.
        name: who we are, written into the node for people to read.
        grace: seconds by which a call may exceed its timeout: half of them to await late
            answers, half to remove our own node. A release may take all of them.
    """

    def __init__(self, client: KazooClient, path: str, name: str, grace: float) -> None:
        self._client = client
        self._path = absolute(path)
        self._name = name
        self._grace = grace
        self._leaving: list[Entry] = []

    @classmethod
    @abstractmethod
    def line(cls, path: str) -> Line:
        """Which znodes represent the contenders for ``path``."""

    @abstractmethod
    def _round(self, entry: Entry, deadline: Deadline) -> bool:
        """Put the entry into the line if need be, and look whether it is first; else wait for news.

        Returns True if it is first; its node and token are known then.

        Raises:
            NoNodeError: our own node or its parent has vanished; the next round begins anew.
            SessionExpiredError, Unanswered, ZookeeperError: as ``Session.ask``.
        """

    @abstractmethod
    def _take_out(self, entry: Entry, deadline: Deadline) -> bool:
        """Remove the entry's node, looking for it if its name is unknown; True if there was one.

        Raises what ``Session.ask`` does.
        """

    def win(self, timeout: float | None) -> Entry | None:
        """Contend until first in line; None when the time is over and nothing of ours is left.

        If the session is lost, so is the entry's node: we start again, at the end of the line.

        Raises:
            LockUnknown: the time is over, and our own node may still be there.
            ConnectionClosedError: the client was stopped; its nodes end with its session.
            ZookeeperError: the server refused a request (a missing permission, say).
        """
        deadline = Deadline(timeout, allowance=self._grace / 2)
        entry = Entry(self._client)

        def attempt() -> Entry | None:
            try:
                if self._round(entry, deadline):
                    # Without a connection the session may be gone: look again once reconnected.
                    entry.session_id = entry.session.id
                    if entry.session_id is not None:
                        entry.unsure = False  # what has been answered since settles it
                        return entry
            except Unanswered:
                entry.unsure = True
                raise
            except NoNodeError:
                pause(deadline)
            return None

        def renew() -> None:
            nonlocal entry
            self._strike(entry)
            entry = Entry(self._client)

        try:
            won = over_sessions(deadline, attempt, renew)
        except BaseException:
            self._leave_in_background(entry)
            raise
        if won is None:
            self._abandon(entry)
        return won

    def leave(self, entry: Entry) -> None:
        """Give up an entry that has won.

        Raises:
            NotHeld: its node was gone already: the session ended, or somebody removed the node.
            LockUnknown: no answer within the grace; removal goes on in the background.
        """
        try:
            present = self._leave_within(entry, Deadline(self._grace))
        except SessionExpiredError:
            raise NotHeld(f"{self._path}: the session that held it has ended") from None
        if not present:
            raise NotHeld(f"{self._path}: our node {entry.node} was removed by somebody else")

    @property
    def unsettled(self) -> bool:
        """Whether nodes of entries that were given up may still be there."""
        return bool(self._leaving)

    def settle(self) -> None:
        """Wait until nothing is left of entries that were given up.

        Raises:
            LockUnknown: something still may be, after the grace.
        """
        deadline = Deadline(self._grace)
        for entry in list(self._leaving):
            if not entry.gone.wait(deadline.left()):
                raise LockUnknown(f"{self._path}: cannot tell yet whether our node is gone")

    def _abandon(self, entry: Entry) -> None:
        """Take out an entry that has not won; raises LockUnknown if there is no answer."""
        with suppress(SessionExpiredError):  # the node ends with the session: as sure as a delete
            self._leave_within(entry, Deadline(self._grace / 2))

    def _leave_within(self, entry: Entry, deadline: Deadline) -> bool:
        try:
            return self._keep_taking_out(entry, deadline)
        except Unanswered as error:
            self._leave_in_background(entry)
            raise LockUnknown(f"{self._path}: no answer in time, our node may be there") from error

    def _leave_in_background(self, entry: Entry) -> None:
        """Go on removing the node until that is confirmed or its session has ended."""

        def go_on() -> None:
            try:
                with suppress(SessionExpiredError):  # the node ends with the session
                    self._keep_taking_out(entry, Deadline(None))
            finally:
                self._leaving.remove(entry)

        self._leaving.append(entry)
        self._client.handler.spawn(go_on)

    def _keep_taking_out(self, entry: Entry, deadline: Deadline) -> bool:
        """Try until the removal is confirmed; True if there was a node, or may have been."""

        def attempt() -> bool:
            try:
                return self._take_out(entry, deadline)
            except Unanswered:
                entry.unsure = True
                raise

        try:
            present = within_session(deadline, attempt)
        except SessionExpiredError:
            self._strike(entry)
            raise
        self._strike(entry)
        return present or entry.unsure  # an earlier try may have removed it

    @staticmethod
    def _strike(entry: Entry) -> None:
        entry.session.close()
        entry.gone.set()

    def _settle_earlier(self, entry: Entry, deadline: Deadline) -> None:
        """Wait until every earlier request of the session has been carried out or never will be."""
        entry.session.catch_up(deadline, f"{self._path}/{entry.mark}")

    def _ensure_parent(self, entry: Entry, path: str, deadline: Deadline) -> None:
        entry.session.ask(deadline, self._client.ensure_path_async, path)

    def _delete(self, entry: Entry, node: str, deadline: Deadline) -> bool:
        """Delete a node in the entry's session; False if it was not there."""
        try:
            entry.session.ask(deadline, self._client.delete_async, node)
        except NoNodeError:
            return False
        return True
