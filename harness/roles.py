"""Which clients hold (a lock, say) and which wait, as far as the control process has seen.

The driver updates this with every record; the nemesis reads it to choose its targets.
"""

from rumpus.checker.history import Op
from rumpus.checker.timeline.holds import Words


class RoleTracker:
    """Implements ``harness.clients.clients.Roles`` from the records of a run."""

    def __init__(self, clients: int, words: Words) -> None:
        self._clients = clients
        self._words = words
        self._holders: dict[int, int] = {}
        self._waiting: dict[int, int] = {}
        self._unasked: set[int] = set()

    def observe(self, op: Op) -> None:
        """Take in a record: of an operation, of the end of a client's process, or of its belief."""
        if op.process == "session" and op.f == "exited":
            self._holders.pop(op.value["client"], None)
            self._waiting.pop(op.value["client"], None)
        elif op.process == "session":
            self._heed_belief(op)
        if not isinstance(op.process, int):
            return
        client = op.process % self._clients
        if op.f == self._words.acquire:
            if op.type == "invoke":
                self._waiting[client] = op.time
            else:
                self._waiting.pop(client, None)
                if op.type == "ok":
                    self._holders[client] = op.time
                    self._unasked.discard(client)
        elif op.f == self._words.release and op.type == "invoke":
            self._holders.pop(client, None)

    def _heed_belief(self, op: Op) -> None:
        """Count a client that holds without having asked for it as holder while it believes."""
        client = op.value["client"]
        if op.f == "believes" and client not in self._holders:
            self._holders[client] = op.time
            self._unasked.add(client)
        elif op.f == "doubts" and client in self._unasked:
            self._holders.pop(client, None)
            self._unasked.discard(client)

    def holder(self) -> int | None:
        """The holder that was granted last and has not begun its release; None if nobody holds."""
        # A copy, because the nemesis asks from a thread of its own.
        holders = dict(self._holders)
        return max(holders, key=lambda client: holders[client]) if holders else None

    def next_in_line(self) -> int | None:
        """The client that has been waiting longest; None if nobody waits."""
        waiting = {c: since for c, since in dict(self._waiting).items() if c not in self._holders}
        return min(waiting, key=lambda client: waiting[client]) if waiting else None
