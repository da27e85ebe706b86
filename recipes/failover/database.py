"""A replicated database: one member is the primary, the others are its replicas.

ZooKeeper elects the primary: the members are the candidates of an election, and the czxid of the
winner's node is its epoch. The members decide which writes count: a primary first asks a majority
to promise its epoch, and acknowledges a write once a majority has it in its journal under that
epoch (``recipes.failover.replicated_log`` has the rules and their sources). So it does no harm that
ZooKeeper cannot stop a primary that is paused or cut off: once a new primary has begun, the old one
finds no majority any more.

A primary goes on while its connection to ZooKeeper is lost, because the majority makes its writes
safe, not the session. It stops when the session is lost, and when any member has promised a higher
epoch.
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
"""Seconds between a primary's reads of its replicas' addresses."""

SUCCESSOR_S: Final = 3.0
"""Seconds for which a primary that has handed its role back waits for a successor to begin."""

REGISTER_S: Final = 0.5
"""Seconds between a member's reports of its log's length."""

FRESH: Final = 1 / 3
"""A new primary relies on its session for this fraction of the timeout without a heartbeat."""

JOURNAL: Final = "journal"


class Files(Protocol):
    """Append-only files that outlast the process."""

    def read(self, name: str) -> bytes:
        """The content of a file; empty if there is none."""

    def append(self, name: str, data: bytes) -> None:
        """Append to a file; the data is on disk once this returns."""


class FailoverDatabase:
    """One member; it takes part as soon as it is created.

    Args:
        client: a client with kazoo's threading handler; may be started later.
        path: the group's znode, used by nothing else.
        name: the member's unique name, the same after a restart.
        members: the number of members; never changes.
        host: the address at which it listens.
        files: holds its journal.
        role_changed: called, with no lock held, when the member has become or ceased to be the
            primary, and when ``remaining`` may have grown.
        isolated: returns the seconds for which this member exchanges no messages with the others.
            Messages in both directions are delayed meanwhile; requests of clients are not.
    """

    election: ClassVar[type[ContestElection]] = FairElection
    _log_class: ClassVar[type[ReplicatedLog]] = ReplicatedLog
    _term_class: ClassVar[type[PrimaryTerm]] = PrimaryTerm
    promises: ClassVar[Promises] = Promises(
        # Not double-grant: two owners of the election's node do no harm here.
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
            "A member that is paused or cut off may act as primary after another was elected, but "
            "it finds no majority then, so no acknowledged write is lost. Needs a majority of the "
            "members and of the ZooKeeper servers. A member that has lost its journal must not "
            "come back under its name."
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
        self._handed_back = False  # the term goes on, but the election is resigned
        self._handed_back_at = 0.0
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
        """The queue of the candidates."""
        return cls.election.line(f"{path}/candidates")

    def remaining(self) -> float:
        """Seconds for which we may rely on being the elected primary. Does not block.

        0 if we are not, or if that is unknown. After that time another member may be elected.
        """
        term = self._term
        if term is None or term.over or self._handed_back or not self._election.leading:
            return 0.0
        return max(self._validity.remaining(), self._fresh_until - time.monotonic(), 0.0)

    def step_down(self) -> bool:
        """End our term, so that the next candidate becomes the primary; False if we are not."""
        with self._changed:
            if self._term is None or self._term.over:
                return False
            self._term.end()
            return True

    def hand_back(self) -> bool:
        """Resign the election, but serve until a successor begins; False if we are not the primary.

        The majority makes that safe, as for a primary that is cut off from ZooKeeper. If none
        begins within ``SUCCESSOR_S``, the term ends: the successor may have handed back, too, and
        then each would wait for the other.
        """
        with self._changed:
            term = self._term
            if term is None or term.over or self._handed_back:
                return False
            self._handed_back = True
            self._handed_back_at = time.monotonic()
        self._role_changed()
        try:
            self._election.resign()
        except NotHeld:  # the session has ended, and our lead with it
            pass
        except (KazooException, LockUnknown):  # our node may still block the successor
            with self._changed:
                term.end()
        return True

    def values(self) -> list[Any]:
        """All values in this member's log, committed or not."""
        with self._changed:
            return [value for _, value in self._log.entries if value is not None]

    def close(self) -> None:
        """Stop; nothing is written to the journal once this returns."""
        with self._changed:
            self._closed = True
            if self._term is not None:
                self._term.end()
            self._changed.notify_all()
        self._server.close()

    # -- answers to primaries (promise, accept) and to clients (write, read) ------------------

    def _answer(self, question: Message) -> Message:
        with self._changed:
            if question["do"] in ("promise", "accept"):
                while not self._closed and (left := self._isolated()) > 0:
                    self._changed.wait(left)
            if self._closed or question.get("to", self.name) != self.name:
                return {"is": "somebody-else"}  # another member had our address before
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
        """The size of a majority of the members."""
        return self._members // 2 + 1

    def _play(self) -> None:
        """Campaign, act as primary while elected, and campaign again."""
        while not self._closed:
            # Fails while no server answers, the client is not started, or an old node may exist.
            with suppress(KazooException, LockUnknown):
                if self._election.campaign(None):
                    self._rule()
            with suppress(KazooException, LockUnknown, NotHeld):
                self._election.resign()
            with self._changed:
                self._changed.wait_for(lambda: self._closed, PAUSE)

    def _register(self) -> None:
        """Report at intervals how long our log is, for operators."""
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

    def _without_successor(self) -> bool:
        """Whether the role was handed back, and nobody has begun to be primary for too long."""
        with self._changed:
            since = time.monotonic() - self._handed_back_at
            return self._handed_back and since > SUCCESSOR_S

    def _begin(self) -> PrimaryTerm | None:
        epoch = self._election.token
        if epoch is None or not self._election.leading:
            return None  # the lead is lost already
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
        """Give the term its replicas' addresses, and publish the primary's address for clients."""
        ours = Primary(term.epoch, self.name, self._server.address)
        published = False
        while not (term.over or session.lost or self._without_successor()):
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
            self._role_changed()  # ``remaining`` may have grown
