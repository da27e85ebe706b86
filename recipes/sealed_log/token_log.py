"""A log whose entries carry fencing tokens: replicas refuse tokens lower than one they have seen.

The token is that of the owner's lock. It reaches the replicas with the owner's first append: these
promise to refuse lower tokens, the owner adopts the best log of a majority, and appends to it.
From then on no former owner finds a majority (Kleppmann, "How to do distributed locking", 2016, for
a store of several replicas as in Raft; ``recipes.failover.replicated_log`` has the rules).

Until the new owner's first append its predecessor can go on: the replicas cannot know of a token
that nobody has shown them. That is the difference from a seal (``recipes.sealed_log.sealed_log``).
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rumpus.recipes.failover.replicated_log import Entry, Refused, merit
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.json_lines import Message
from rumpus.recipes.requests.retries import pause
from rumpus.recipes.sealed_log.owned_log import LOOK_S, OwnedLog, Writer
from rumpus.recipes.sealed_log.replica_calls import ReplicaCalls
from rumpus.recipes.sealed_log.sealed_log import LOG_PROMISES

Decided = tuple[int, list[Entry]]
"""The highest token promised, and the log that is safe under it."""


class TokenWriter:
    """Appends under a token; presents it with the first append.

    Args:
        token: the owner's.
        calls: asks the replicas.
    """

    def __init__(self, token: int, calls: ReplicaCalls) -> None:
        self._token = token
        self._calls = calls
        self._entries: list[Entry] | None = None
        self._agreed: dict[str, int] = {}  # replica -> up to where it has our log

    def append(self, value: Any, deadline: Deadline) -> int:
        """Append a value; see ``recipes.sealed_log.owned_log.Writer``."""
        if self._entries is None:
            self._entries = self._present(deadline)
        entries = self._entries
        at = len(entries)
        entries.append((self._token, value))

        def question(replica: str) -> Message:
            begin = self._agreed.get(replica, 0)
            return {
                "do": "accept",
                "token": self._token,
                "at": begin,
                "after": entries[begin - 1][0] if begin else 0,
                "entries": entries[begin : at + 1],
            }

        def is_last(replica: str, answer: Message) -> bool:
            if answer["is"] == "refused":
                return True
            self._agreed[replica] = answer["length"] if answer["is"] == "accepted" else 0
            return bool(answer["is"] == "accepted")

        def count(given: Mapping[str, Message], word: str) -> int:
            return sum(answer["is"] == word for answer in given.values())

        majority = self._calls.majority
        answers = self._calls.ask(
            question, is_last, deadline, lambda given: count(given, "accepted") >= majority
        )
        if count(answers, "accepted") >= majority:
            return at
        if count(answers, "refused") == len(self._calls.replicas):
            raise NotDone("every replica has seen a higher token")
        raise OutcomeUnknown("a replica may have it, and a later owner may adopt it")

    def _present(self, deadline: Deadline) -> list[Entry]:
        """Have the token promised by a majority; the best of their logs.

        Raises:
            Refused: a higher token has been seen.
            NotDone: no majority answers.
        """
        answers = self._calls.ask(
            lambda _: {"do": "promise", "token": self._token}, lambda *_: True, deadline
        )
        for answer in answers.values():
            if answer["is"] == "refused":
                raise Refused(answer["promised"])
        if len(answers) < self._calls.majority:
            raise NotDone("no majority of the replicas answers")
        return self._best([entries for _, entries in _logs(answers)])

    @staticmethod
    def _best(logs: Sequence[list[Entry]]) -> list[Entry]:
        return max(logs, key=merit)


class TokenLog(OwnedLog):
    """A log whose former owners are refused by their tokens; see the module and ``OwnedLog``."""

    promises: ClassVar[Promises] = Promises(
        prevents=LOG_PROMISES,
        tokens=True,
        notes=(
            "A former owner's appends are taken until its successor has written for the first time "
            "(`late-append`): what the successor has read when it became the owner may not be all. "
            "Whether an interrupted append is in the log is not known until the log is read. The "
            "token does not say who writes: whoever has the highest number may."
        ),
    )
    _writer_class: ClassVar[type[TokenWriter]] = TokenWriter

    def _begin(self, epoch: int, deadline: Deadline) -> tuple[Writer, int]:
        answers = self._calls.ask(lambda _: {"do": "show_log"}, lambda *_: True, deadline)
        if len(answers) < self._calls.majority:
            raise NotDone("no majority of the replicas answers")
        best = max((entries for _, entries in _logs(answers)), key=merit)
        return self._writer_class(epoch, self._calls), len(best)

    def _read(self, deadline: Deadline) -> list[Any]:
        return [value for _, value in self._decided(deadline)[1]]

    def _decided(self, deadline: Deadline) -> Decided:
        """The log as no later owner can change it, once all acknowledged entries are in it.

        Of the replicas asked, a majority has promised the highest token and has the best log, whose
        last entry is under that token (Raft's rule for what is committed); or all logs are empty.

        Raises:
            NotDone: no such majority in time.
        """
        while not deadline.passed:
            answers = self._calls.ask(
                lambda _: {"do": "show_log"},
                lambda *_: True,
                Deadline(min(LOOK_S, deadline.left() or 0.0)),
                lambda given: self._agreed(given) is not None,
            )
            decided = self._agreed(answers)
            if decided is not None:
                return decided
            pause(deadline)
        raise NotDone("no majority of the replicas agrees in time")

    def _agreed(self, given: Mapping[str, Message]) -> Decided | None:
        shown = _logs(given)
        if not shown:
            return None
        top = max(promised for promised, _ in shown)
        best = max((entries for _, entries in shown), key=merit)
        same = sum(promised == top and entries == best for promised, entries in shown)
        last = best[-1][0] if best else 0
        return (top, best) if same >= self._calls.majority and last == top else None

    def repair(self, timeout: float) -> None:
        """Complete the copy of the log; see ``OwnedLog``."""
        assert self.replica is not None
        self.replica.adopt(*self._decided(Deadline(timeout)))

    def on_disk(self, timeout: float) -> list[Any]:  # noqa: ARG002 - asks nobody
        """All values on the disk."""
        assert self.replica is not None
        _, log = self.replica.on_disk()
        return [value for _, value in log.entries]


def _logs(answers: Mapping[str, Message]) -> list[Decided]:
    """What each of these replicas has promised, and its log."""
    return [
        (answer["promised"], [(token, value) for token, value in answer["entries"]])
        for answer in answers.values()
    ]
