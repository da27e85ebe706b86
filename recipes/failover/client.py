"""Clients of a database with an elected primary: find the primary, and send requests to it."""

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
"""Seconds to wait for ZooKeeper's answer before asking the last known primary."""


class FailoverClient:
    """Sends reads and writes to the primary.

    A read goes to the last known primary while it answers: a deposed primary refuses. Before each
    write the client asks ZooKeeper who the primary is, because the outcome of a write that reaches
    a deposed primary is unknown.

    Args:
        client: a started client with kazoo's threading handler.
        path: the group's znode, as for ``recipes.failover.database.FailoverDatabase``.
    """

    def __init__(self, client: KazooClient, path: str) -> None:
        self._directory = PrimaryDirectory(client, path)
        self._latest: Primary | None = None
        self._doubtful = True  # whether the last known primary may be deposed

    def write(self, value: Any, timeout: float) -> Message:
        """Write a value (of JSON, not null).

        Returns:
            A message with the ``epoch`` of the write, and its position ``at`` in the log.

        Raises:
            NotDone: the value was not written, and will not be.
            OutcomeUnknown: it may have been written, or may be yet.
        """
        self._doubtful = True
        return self._ask({"do": "write", "value": value}, timeout)

    def read(self, timeout: float) -> list[Any]:
        """All values, in the order in which they were written, no older than this call.

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
        raise NotDone("no primary answered in time")

    def _find(self, deadline: Deadline) -> Primary | None:
        """The last known primary; if it may be deposed, the one in ZooKeeper, if that answers."""
        if not self._doubtful:
            return self._latest
        with suppress(KazooException, Unanswered):
            found = self._directory.find(Deadline(min(LOOK_S, deadline.left() or 0.0)))
            if found is not None:
                self._latest = found
        return self._latest
