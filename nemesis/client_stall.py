"""The fault ``client-stall``: one thread of a client does not run, the others do.

This happens on a busy machine, when another thread holds the interpreter lock, or while a page is
swapped in. The thread that learns of a lost session may then be late while another one acts.
"""

from rumpus.nemesis.client_fault import ClientFault
from rumpus.nemesis.fault_context import Finding


class ClientStall(ClientFault):
    """Stall one thread of each client chosen."""

    kind = "client-stall"
    summary = "one thread of a client does not run, the others do"
    works_on = "the clients' threads"
    needs = "stall"
    usual = False

    def inject(self) -> None:
        """Stall a random thread of each client chosen."""
        for client in self.chosen:
            self.context.client_threads.stall(client, self.rng.random())

    def in_force(self) -> Finding:
        """Whether each of the clients has a stalled thread."""
        threads = {c: self.context.client_threads.stalled(c) for c in self.chosen}
        seen = ", ".join(f"c{client}: {thread}" for client, thread in threads.items())
        return Finding(bool(threads) and all(threads.values()), seen or "nothing was chosen")

    def heal(self) -> None:
        """Let the stalled threads run."""
        for client in self.chosen:
            self.context.client_threads.unstall(client)

    def healed(self, timeout: float) -> Finding:
        """All threads run, and the clients are connected."""
        if left := self.still_wrong(self.context.client_threads.stalled, None):
            return Finding(False, f"still stalled: {left}")
        return super().healed(timeout)
