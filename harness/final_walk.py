"""At the end of a run every server is asked for its whole tree, through a link of its own.

What the servers answer is not looked at here: whoever records what passes on links has it. This
module has sockets, clocks and threads. In a simulated run it is loaded anew for the control
process, which waits, and for a process of each walk, whose host has the links.
"""

import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from rumpus.checker.history import session_hex
from rumpus.harness.driver import Driver
from rumpus.harness.tree_walk import TreeWalk

LONGEST_S = 5.0
"""How long a server is asked at most; then the walk ends where it is."""

PATIENCE_S = 1.0
"""How long a walk may take to end once it is to: the run was interrupted, or its time is up."""

MOMENT_S = 0.2
"""How long a walk waits before it looks again whether it is to end."""

Address = tuple[str, int]
Walk = Callable[[Address, float, Callable[[], bool]], dict[str, Any]]
"""``walk_server``, or the same in another process of a simulated world."""


def walk_servers(
    addresses: Mapping[str, Address],
    *,
    walk: Walk,
    driver: Driver,
    session_timeout: float,
    stop_requested: Callable[[], bool],
) -> None:
    """Walk all servers at once; a record ``walk`` of each goes into the history.

    The driver takes in meanwhile what clients report.

    Args:
        addresses: server -> where it is reached.
        walk: walks one server.
        driver: of the run, whose load is over.
        session_timeout: of the walks' sessions, in seconds.
        stop_requested: once true, all walks end within ``PATIENCE_S``.
    """
    told: dict[str, dict[str, Any]] = {}

    def tell(node: str, address: Address) -> None:
        told[node] = walk(address, session_timeout, stop_requested)

    threads = [
        threading.Thread(target=tell, args=each, name=f"walk-{each[0]}", daemon=True)
        for each in addresses.items()
    ]
    for thread in threads:
        thread.start()
    driver.attend(lambda: not any(thread.is_alive() for thread in threads))
    for node in addresses:
        driver.record("control", "walk", {"node": node, **told[node]})


def walk_server(
    address: Address, session_timeout: float, stop_requested: Callable[[], bool]
) -> dict[str, Any]:
    """Walk the tree of one server, in a session that is closed at the end.

    Args:
        address: host and port.
        session_timeout: that is asked for, in seconds.
        stop_requested: asked often.

    Returns:
        ``znodes`` that were seen, ``zxid`` (the highest that an answer showed), ``session`` (None
        if there was none), ``seconds`` that it took, and ``error``: None, or why not all was seen.
    """
    began = time.monotonic()
    walk = TreeWalk(round(session_timeout * 1000))
    try:
        error = _converse(address, walk, began + LONGEST_S, stop_requested)
    except (OSError, ValueError) as failure:
        error = str(failure)
    return {
        "znodes": walk.znodes,
        "zxid": walk.zxid,
        "session": session_hex(walk.session) if walk.session else None,
        "seconds": round(time.monotonic() - began, 6),
        "error": error,
    }


def _converse(
    address: Address, walk: TreeWalk, deadline: float, stop_requested: Callable[[], bool]
) -> str | None:
    """Let a walk talk to a server; why it was ended early, if it was.

    Raises:
        OSError: the connection failed.
        ValueError: what came is no answer.
    """
    cut_short = None
    with socket.create_connection(address, LONGEST_S) as connection:
        _send(connection, walk.begin())
        while not walk.over:
            now = time.monotonic()
            if cut_short is None and (now > deadline or stop_requested()):
                cut_short = _why(walk, late=now > deadline)
                deadline = now + PATIENCE_S
                _send(connection, walk.stop())
            elif now > deadline:
                raise TimeoutError(f"{cut_short}, and its session could not be closed")
            elif (data := _receive(connection)) is not None:
                _send(connection, walk.take(data))
    return cut_short


def _why(walk: TreeWalk, *, late: bool) -> str:
    """Why a walk is ended early."""
    if not late:
        return "the run was interrupted"
    return f"{'longer than' if walk.session else 'no session in'} {LONGEST_S:g} s"


def _send(connection: socket.socket, data: bytes) -> None:
    connection.settimeout(PATIENCE_S)
    connection.sendall(data)


def _receive(connection: socket.socket) -> bytes | None:
    """What comes next; None if nothing came for a moment.

    Raises:
        ConnectionResetError: the server hung up.
    """
    connection.settimeout(MOMENT_S)
    try:
        data = connection.recv(1 << 16)
    except TimeoutError:
        return None
    if not data:
        raise ConnectionResetError("it hung up")
    return data
