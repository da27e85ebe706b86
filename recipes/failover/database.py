"""A database of several members: one is the primary, the others are its replicas.

ZooKeeper appoints: members stand in the queue of an election, whose winner is to be the primary;
the czxid of its node is its epoch. The members decide whose writes count: a primary begins by
asking a majority to promise its epoch, and acknowledges a write once a majority has it in its
journal under that epoch (``recipes.failover.replicated_log`` has the rules and their sources). So
it does no harm that ZooKeeper cannot take an appointment back from somebody who is paused or cut
off: the old primary may go on as long as it likes, but finds no majority any more once a new one
has begun.

A primary goes on while its session is in doubt, because the majority, not the session, makes its
writes safe; it stops when the session is lost, and when anybody has promised a later epoch.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import Any, ClassVar, Final, Protocol

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.election.contest_election import ContestElection, FairElection
from rumpus.recipes.failover.primary_directory import Primary, PrimaryDirectory
from rumpus.recipes.failover.primary_term import PrimaryTerm
from rumpus.recipes.failover.replicated_log import Refused, ReplicatedLog
from rumpus.recipes.promises import Line, Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.json_lines import LineServer, Message
from rumpus.recipes.requests.retries import PAUSE
from rumpus.recipes.requests.session import Session, Unanswered
from rumpus.recipes.requests.session_validity import SessionValidity

LOOK_S: Final = 0.3
"""How often a primary looks where its replicas are, and whether its session is lost."""

REGISTER_S: Final = 0.5
"""How often a member notes how far its copy is."""

FRESH: Final = 1 / 3
"""The part of a session's timeout that a new appointment counts before its first heartbeat."""

JOURNAL: Final = "journal"


class Files(Protocol):
    """Append-only files that outlive the process."""

    def read(self, name: str) -> bytes:
        """All of a file; empty if there is none."""

    def append(self, name: str, data: bytes) -> None:
        """Write at the end; safe once this returns."""


class FailoverDatabase:
    """One member; it takes part from the moment it is made.

    Args:
        client: with kazoo's threading handler; may be started later.
        path: the group's znode, which belongs to this recipe alone.
        name: of this member, the same whenever it runs, and no other's.
        members: how many there are; never changes.
        host: where it listens, and where the others find it.
        files: has its journal.
        role_changed: called, with no lock held, when it has become or ceased to be the primary,
            and when that may be certain for longer than before.
        isolated: seconds for which nothing passes between the other members and this one; asked
            anew each time. What they send waits meanwhile, and so does what is sent to them. Users
            are served, as far as that can be done alone.
    """

    election: ClassVar[type[ContestElection]] = FairElection
    _log_class: ClassVar[type[ReplicatedLog]] = ReplicatedLog
    _term_class: ClassVar[type[PrimaryTerm]] = PrimaryTerm
    promises: ClassVar[Promises] = Promises(
        # Two owners on the servers are the election's matter, and do no harm here.
        prevents=frozenset({"stuck-waiter"})
        | {
            "split-brain",
            "unaware-holder",
            "leaderless",
            "lost-write",
            "stale-action",
            "duplicate-element",
            "phantom-element",
            "out-of-order",
            "not-linearizable",
        },
        tokens=True,
        notes=(
            "A member that is paused or cut off may go on serving after another has been "
            "appointed, but it finds no majority then, so nothing that it acknowledges is lost. "
            "Needs a majority of the members and of the ZooKeeper servers; a member that has lost "
            "its journal must not come back under its name."
        ),
    )

    def __init__(
        self,
        client: KazooClient,
        path: str,
        *,
        name: str,
        members: int,
        host: str,
        files: Files,
        role_changed: Callable[[], None] = lambda: None,
        isolated: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.name = name
        self._client = client
        self._members = members
        self._role_changed = role_changed
        self._isolated = isolated
        self._changed = threading.Condition()
        self._closed = False
        self._term: PrimaryTerm | None = None
        self._handed_back = False  # the term goes on, and the appointment does not
        self._log = self._log_class(files.read(JOURNAL), lambda data: files.append(JOURNAL, data))
        self._server = LineServer(host, self._answer)
        self._directory = PrimaryDirectory(client, path)
        self._validity = SessionValidity(client, path)
        self._fresh_until = -inf
        self._election = self.election(
            client,
            self._directory.candidates,
            name=self._directory.card(name, self._server.address),
        )
        for work in (self._play, self._register):
            threading.Thread(target=work, name=work.__name__, daemon=True).start()

    @classmethod
    def line(cls, path: str) -> Line | None:
        """Where those stand who may become the primary."""
        return cls.election.line(f"{path}/candidates")

    def remaining(self) -> float:
        """Seconds for which we may believe that ZooKeeper has appointed us. Does not block.

        0 if not, or if nobody can say; afterwards another may have been, who has not begun yet.
        """
        term = self._term
        if term is None or term.over or self._handed_back or not self._election.leading:
            return 0.0
        return max(self._validity.remaining(), self._fresh_until - time.monotonic(), 0.0)

    def step_down(self) -> bool:
        """Let somebody else be the primary, who stands in line; False if we are not."""
        with self._changed:
            if self._term is None or self._term.over:
                return False
            self._term.end()
            return True

    def hand_back(self) -> bool:
        """Give the appointment back, and serve on until a successor begins; False if not appointed.

        The majority keeps that safe, as it does when we are cut off from ZooKeeper.
        """
        with self._changed:
            term = self._term
            if term is None or term.over or self._handed_back:
                return False
            self._handed_back = True
        self._role_changed()
        try:
            self._election.resign()
        except NotHeld:  # the session has ended, and the appointment with it
            pass
        except (KazooException, LockUnknown):  # we may still stand in the successor's way
            with self._changed:
                term.end()
        return True

    def values(self) -> list[Any]:
        """This member's copy of all values, committed or not."""
        with self._changed:
            return [value for _, value in self._log.entries if value is not None]

    def close(self) -> None:
        """Take no part any more; nothing is written to the journal once this returns."""
        with self._changed:
            self._closed = True
            if self._term is not None:
                self._term.end()
            self._changed.notify_all()
        self._server.close()

    # -- answers to primaries (promise, accept) and to users (write, read) -------------------

    def _answer(self, question: Message) -> Message:
        with self._changed:
            if question["do"] in ("promise", "accept"):
                while not self._closed and (left := self._isolated()) > 0:
                    self._changed.wait(left)
            if self._closed or question.get("to", self.name) != self.name:
                return {"is": "somebody-else"}  # our address was another member's before
            try:
                if question["do"] == "promise":
                    return self._promise(question)
                if question["do"] == "accept":
                    return self._accept(question)
                if self._term is None or not self._term.serving:
                    return {"is": "not-primary"}
                if question["do"] == "write":
                    return self._write(self._term, question)
                return self._read(self._term, question)
            except Refused as refused:
                return {"is": "refused", "promised": refused.promised}

    def _promise(self, question: Message) -> Message:
        self._log.promise(question["epoch"])
        self._step_down_below(question["epoch"])
        return {"is": "promised", "entries": list(self._log.entries)}

    def _accept(self, question: Message) -> Message:
        epoch, at = question["epoch"], question["at"]
        entries = [(first, value) for first, value in question["entries"]]
        if self._log.accept(epoch, at, question["after"], entries):
            answer = {"is": "accepted", "agreed": at + len(entries)}
        else:
            answer = {"is": "behind", "length": len(self._log.entries)}
        self._step_down_below(epoch)
        return answer

    def _step_down_below(self, epoch: int) -> None:
        if self._term is not None and self._term.epoch < epoch:
            self._term.end()

    @staticmethod
    def _write(term: PrimaryTerm, question: Message) -> Message:
        at = term.write(question["value"], Deadline(question["patience"]))
        return {"is": "unknown"} if at is None else {"is": "done", "epoch": term.epoch, "at": at}

    @staticmethod
    def _read(term: PrimaryTerm, question: Message) -> Message:
        values = term.read(Deadline(question["patience"]))
        if values is None:
            return {"is": "unknown"}
        return {"is": "done", "epoch": term.epoch, "values": values}

    # -- the role -------------------------------------------------------------------------

    def _quorum(self) -> int:
        """How many members must have something."""
        return self._members // 2 + 1

    def _play(self) -> None:
        """Stand for election, rule while appointed, and again."""
        while not self._closed:
            # No servers, or the client is not started yet, or an earlier node may still be there.
            with suppress(KazooException, LockUnknown):
                if self._election.campaign(None):
                    self._rule()
            with suppress(KazooException, LockUnknown, NotHeld):
                self._election.resign()
            with self._changed:
                self._changed.wait_for(lambda: self._closed, PAUSE)

    def _register(self) -> None:
        """Note now and then how far the own copy is, for people and supervisors to read."""
        while not self._closed:
            with self._changed:
                epoch, length = self._log.promised, len(self._log.entries)
            with suppress(KazooException, Unanswered):
                self._directory.register(self.name, epoch, length, Deadline(REGISTER_S))
            with self._changed:
                self._changed.wait_for(lambda: self._closed, REGISTER_S)

    def _rule(self) -> None:
        """Be the primary until the session is lost or a later primary has begun."""
        session = Session(self._client)
        self._validity.keep()
        try:
            term = self._begin()
            if term is None:
                return
            self._role_changed()
            self._lead(term, session)
            with self._changed:
                term.end()
                self._term = None
            self._role_changed()
        finally:
            self._validity.let_go()
            session.close()

    def _begin(self) -> PrimaryTerm | None:
        epoch = self._election.token
        if epoch is None or not self._election.leading:
            return None  # it is over already, and we may have missed the news
        with self._changed:
            try:
                self._log.promise(epoch)
            except Refused:
                return None
            self._fresh_until = time.monotonic() + self._validity.session_timeout * FRESH
            self._handed_back = False
            self._term = self._term_class(
                epoch, self.name, self._log, self._changed, self._quorum, self._isolated
            )
            return self._term

    def _lead(self, term: PrimaryTerm, session: Session) -> None:
        """Show the term where the replicas are, and users where the primary is."""
        ours = Primary(term.epoch, self.name, self._server.address)
        published = False
        while not (term.over or session.lost):
            members = {}
            serving = term.serving
            with suppress(KazooException, Unanswered):
                members = self._directory.members(Deadline(LOOK_S))
                if serving and not published:
                    published = self._directory.publish(ours, Deadline(LOOK_S))
                    if not published:
                        return  # a later primary has served already
            with self._changed:
                for name, address in members.items():
                    if name != self.name:
                        term.find(name, address)
                self._changed.wait_for(
                    lambda before=serving: term.over or term.serving > before,  # type: ignore[misc]
                    LOOK_S,
                )
            self._role_changed()  # for longer, it may be
