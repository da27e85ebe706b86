"""One member's term as the primary of a replicated log.

See ``recipes.failover.replicated_log`` for the rules. A thread for each replica sends it the log,
one piece at a time, and reads its answers. Writes and reads wait until enough replicas have agreed.
"""

import threading
from collections.abc import Callable
from typing import Any, Final

from rumpus.recipes.failover.replicated_log import Entry, ReplicatedLog, committed, merit
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.json_lines import Address, Caller, Message, NoAnswer, Unheard
from rumpus.recipes.requests.retries import PAUSE

ANSWER_PATIENCE_S: Final = 1.0
"""Seconds that a primary waits for a replica's answer before it connects again."""

HEARTBEAT_S: Final = 0.3
"""Seconds after which a primary sends a message to each replica, at the latest."""

PIECE: Final = 500
"""The most entries in one message."""


class PrimaryTerm:
    """One term; once ``over`` is true the term has ended for good.

    Args:
        epoch: the term's number, which no other term has.
        name: the name of the member whose term it is.
        log: that member's log; it has promised the epoch.
        changed: guards the log and the term, and is notified of every change in them. Unless a
            method says otherwise, it is called with this condition held.
        quorum: returns the size of a quorum, the primary included.
        isolated: returns the seconds for which nothing can be sent to the replicas (for tests of
            a primary that is cut off).
    """

    def __init__(
        self,
        epoch: int,
        name: str,
        log: ReplicatedLog,
        changed: threading.Condition,
        quorum: Callable[[], int],
        isolated: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.epoch = epoch
        self.over = False
        self._name = name
        self._log = log
        self._changed = changed
        self._quorum = quorum
        self._isolated = isolated
        self._begun: int | None = None  # the position of the term's first entry
        self._committed = 0
        self._addresses: dict[str, Address] = {}
        self._logs: dict[str, list[Entry]] = {name: log.entries}  # of members that have promised
        self._next: dict[str, int] = {}  # where the next message to each replica begins
        self._agreed: dict[str, int] = {}  # up to where each replica has our log
        self._asked = 0  # the number of reads that asked for a confirmation
        self._confirmed: dict[str, int] = {}  # the last of these that each replica has confirmed
        self._begin_if_promised()

    @property
    def serving(self) -> bool:
        """Whether the term's first entry is committed, and with it every earlier one."""
        return not self.over and self._begun is not None and self._committed > self._begun

    def end(self) -> None:
        """End the term; waiting reads and writes end with an unknown outcome."""
        self.over = True
        self._changed.notify_all()

    def find(self, name: str, address: Address) -> None:
        """Note a replica's address, and send the log to it from now on."""
        known = name in self._addresses
        self._addresses[name] = address
        if not known:
            threading.Thread(
                target=self._follow, args=(name,), name=f"follow {name}", daemon=True
            ).start()

    def write(self, value: Any, deadline: Deadline) -> int | None:
        """Append a value and wait until it is committed.

        Returns:
            Its position in the log; None if it is not known whether it is or will be committed.

        Raises:
            Refused: a later epoch has been promised; nothing was appended.
        """
        at = len(self._log.entries)
        self._log.append(self.epoch, [value])
        self._count()
        self._changed.notify_all()
        return at if self._acknowledged(at, deadline) else None

    def _acknowledged(self, at: int, deadline: Deadline) -> bool:
        self._changed.wait_for(lambda: self.over or self._committed > at, deadline.left())
        return self._committed > at

    def read(self, deadline: Deadline) -> list[Any] | None:
        """All values that were committed when this was called.

        A majority has to confirm afterwards that it knows no later term, as for Raft's read-only
        operations (Ongaro, "Consensus: bridging theory and practice", 2014, section 6.4). None if
        it does not in time.
        """
        until = self._committed
        self._asked += 1
        number = self._asked
        self._changed.notify_all()

        def confirmed() -> bool:
            return 1 + sum(n >= number for n in self._confirmed.values()) >= self._quorum()

        self._changed.wait_for(lambda: self.over or confirmed(), deadline.left())
        if not confirmed():
            return None
        return [value for _, value in self._log.entries[:until] if value is not None]

    # -- a replica's thread ---------------------------------------------------------------

    def _follow(self, name: str) -> None:
        """Send the log to one replica until the term is over. Called without ``changed`` held."""
        caller: Caller | None = None
        address: Address | None = None
        while (message := self._next_message(name)) is not None:
            if caller is None or self._addresses[name] != address:
                if caller is not None:
                    caller.close()
                address = self._addresses[name]
                caller = Caller(address, ANSWER_PATIENCE_S)
            try:
                answer = caller.ask(message)
            except (Unheard, NoAnswer):
                self._rest()
                continue
            with self._changed:
                if not self.over:
                    self._take_answer(name, message, answer)
                    self._changed.notify_all()
        if caller is not None:
            caller.close()

    def _rest(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self.over, PAUSE)

    def _next_message(self, name: str) -> Message | None:
        """Wait until a message to a replica is due; None once the term is over."""
        with self._changed:
            self._changed.wait_for(lambda: self.over or self._is_due(name), HEARTBEAT_S)
            while not self.over and (left := self._isolated()) > 0:
                self._changed.wait(left)
            if self.over:
                return None
            if self._begun is None:
                return {"do": "promise", "to": name, "epoch": self.epoch}
            at = self._next.setdefault(name, self._begun)
            return {
                "do": "accept",
                "to": name,
                "epoch": self.epoch,
                "at": at,
                "after": self._log.epoch_before(at),
                "entries": self._log.entries[at : at + PIECE],
                "asked": self._asked,
            }

    def _is_due(self, name: str) -> bool:
        if self._begun is None:
            return name not in self._logs
        return (
            self._agreed.get(name, 0) < len(self._log.entries)
            or self._confirmed.get(name, 0) < self._asked
        )

    def _take_answer(self, name: str, message: Message, answer: Message) -> None:
        """Update what is known of a replica from its answer."""
        what = answer["is"]
        if what == "refused":
            self.end()
        elif what == "promised":
            self._logs[name] = [(epoch, value) for epoch, value in answer["entries"]]
            self._begin_if_promised()
        elif what == "behind":
            self._next[name] = min(answer["length"], max(0, message["at"] - 1))
        elif what == "accepted":
            self._agreed[name] = self._next[name] = answer["agreed"]
            self._confirmed[name] = message["asked"]
            self._count()

    # -- counting -------------------------------------------------------------------------

    def _begin_if_promised(self) -> None:
        """Once a majority has promised, adopt the best of their logs and begin the term in it."""
        if self._begun is None and len(self._logs) >= self._quorum():
            self._log.adopt(self._best())
            self._begun = len(self._log.entries)
            self._log.append(self.epoch, [None])
            self._count()

    def _best(self) -> list[Entry]:
        return max(self._logs.values(), key=merit)

    def _count(self) -> None:
        """Note what a majority has. Only entries of this term count; they commit earlier ones."""
        lengths = [len(self._log.entries), *self._agreed.values()]
        reached = committed(lengths, self._quorum())
        if self._begun is not None and reached > self._begun:
            self._committed = max(self._committed, reached)
