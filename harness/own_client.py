"""A kazoo client of the control process: faults read and change znodes with it.

In a simulated run this module and kazoo are loaded anew for the simulated control process.
"""

from collections.abc import Callable

from kazoo.client import KazooClient

SESSION_S = 10.0
"""The timeout of its sessions."""
START_S = 5.0


def open_client(
    hosts: str, note_session: Callable[[int], None], patience: float = START_S
) -> KazooClient:
    """A client that is connected to the servers directly, not through links.

    Args:
        hosts: a connection string.
        note_session: called with the id of each session that the client has. It may be called
            more than once with the same id, and from another thread.
        patience: seconds within which the first connection must be made.

    Raises:
        kazoo.handlers.threading.KazooTimeoutError: no server answered in time; nothing is left.
    """
    client = KazooClient(hosts, timeout=SESSION_S)

    def note(_state: str) -> None:
        if client.connected and client.client_id is not None:
            note_session(client.client_id[0])

    client.add_listener(note)
    client.start(patience)
    note("")  # the listener may not have been called yet
    return client
