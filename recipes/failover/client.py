"""Users of a database whose primary changes: find it, ask it, and say honestly what came of it."""

from contextlib import suppress
from typing import Any, Final

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

from rumpus.recipes.failover.primary_directory import Primary, PrimaryDirectory
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.json_lines import Message, NoAnswer, Unheard, ask_once
from rumpus.recipes.requests.retries import pause
from rumpus.recipes.requests.session import Unanswered

LOOK_S: Final = 0.2
"""How long to wait for ZooKeeper's word before the last primary known is asked."""


class FailoverClient:
    """Asks whoever is the primary.

    A read goes to who was it the last time, as long as that one answers: a deposed primary refuses.
    A write that reaches one stays of unknown outcome, so ZooKeeper is asked first.

    Args:
        client: with kazoo's threading handler.
        path: the group's znode, as for ``recipes.failover.database.FailoverDatabase``.
    """

    def __init__(self, client: KazooClient, path: str) -> None:
        self._directory = PrimaryDirectory(client, path)
        self._latest: Primary | None = None
        self._doubtful = True  # whether the latest known still serves

    def write(self, value: Any, timeout: float) -> Message:
        """Have a value (of JSON, not null) written: ``epoch`` and position ``at``.

        Raises:
            NotDone: certainly not written.
            OutcomeUnknown: nobody knows.
        """
        self._doubtful = True
        return self._ask({"do": "write", "value": value}, timeout)

    def read(self, timeout: float) -> list[Any]:
        """All values that are written, in order: no older than this call.

        Raises what ``write`` does.
        """
        return list(self._ask({"do": "read"}, timeout)["values"])

    def _ask(self, question: Message, timeout: float) -> Message:
        deadline = Deadline(timeout)
        while not deadline.passed:
            primary = self._find(deadline)
            if primary is not None:
                left = deadline.left() or 0.0
                self._doubtful = True
                told = {**question, "to": primary.name, "patience": left}
                try:
                    answer = ask_once(primary.address, told, left)
                except NoAnswer as error:
                    raise OutcomeUnknown(f"{primary.name}: {error}") from error
                except Unheard:
                    answer = {"is": "unheard"}
                if answer["is"] == "done":
                    self._doubtful = False
                    return answer
                if answer["is"] == "unknown":
                    raise OutcomeUnknown(f"{primary.name} could not tell in time")
            pause(deadline)
        raise NotDone("nobody serves, as far as could be found")

    def _find(self, deadline: Deadline) -> Primary | None:
        """Who served the last time; else whom ZooKeeper names, if it can be asked."""
        if not self._doubtful:
            return self._latest
        with suppress(KazooException, Unanswered):
            found = self._directory.find(Deadline(min(LOOK_S, deadline.left() or 0.0)))
            if found is not None:
                self._latest = found
        return self._latest
