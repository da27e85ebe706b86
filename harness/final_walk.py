"""At the end of a run every server is asked for its whole tree, through a link of its own.

Where servers themselves are tested, one of them is asked more (`harness.probes`). What they answer
is not looked at here: whoever records what passes on links has it. This module has sockets, clocks
and threads. In a simulated run it is loaded anew for the control process, which waits, and for a
process of each walk, whose host has the links.
"""

import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Self

from rumpus.checker.history import session_hex
from rumpus.harness import probes
from rumpus.harness.driver import Driver
from rumpus.harness.links.zookeeper_frames import (
    FrameReader,
    connect_request,
    reply_header,
    request,
    session_granted,
    session_password,
    session_timeout,
)
from rumpus.harness.tree_walk import TreeWalk

LONGEST_S = 5.0
"""How long a server is asked at most; then the walk ends where it is."""

PATIENCE_S = 1.0
"""How long a walk may take to end once it is to: the run was interrupted, or its time is up."""

MOMENT_S = 0.2
"""How long a walk waits before it looks again whether it is to end."""

CROWD = 6
"""How many sessions a probe opens one after the other: each must be another. The first ask for
timeouts that no server grants."""

ATTEMPTS = 2
"""How often a server is asked for something long that it must read: a connection may break once."""

OVERSLEPT = 1.75
"""After how many of its timeouts without a sign of life a session must be over, and a second more:
a server's clock ticks at least twice in the shortest timeout that it grants."""

Address = tuple[str, int]
Walk = Callable[[Address, float, Callable[[], bool], Address | None], dict[str, Any]]
"""``walk_server``, or the same in another process of a simulated world."""


def walk_servers(
    addresses: Mapping[str, Address],
    *,
    walk: Walk,
    driver: Driver,
    session_timeout: float,
    stop_requested: Callable[[], bool],
    probing: bool = False,
) -> None:
    """Walk all servers at once; a record ``walk`` of each goes into the history.

    The driver takes in meanwhile what clients report.

    Args:
        addresses: server -> where it is reached.
        walk: walks one server.
        driver: of the run, whose load is over.
        session_timeout: of the walks' sessions, in seconds.
        stop_requested: once true, all walks end within ``PATIENCE_S``.
        probing: whether one of the servers is probed first; another one each time.
    """
    told: dict[str, dict[str, Any]] = {}
    nodes = list(addresses)
    if not nodes:
        return
    first = driver.now() // 1_000 % len(nodes)
    probed, elsewhere = nodes[first], nodes[(first + 1) % len(nodes)]

    def tell(node: str) -> None:
        other = addresses[elsewhere] if probing and node == probed else None
        told[node] = walk(addresses[node], session_timeout, stop_requested, other)

    threads = [
        threading.Thread(target=tell, args=(node,), name=f"walk-{node}", daemon=True)
        for node in nodes
    ]
    for thread in threads:
        thread.start()
    driver.attend(lambda: not any(thread.is_alive() for thread in threads))
    for node in addresses:
        driver.record("control", "walk", {"node": node, **told[node]})


def walk_server(
    address: Address,
    session_timeout: float,
    stop_requested: Callable[[], bool],
    elsewhere: Address | None = None,
) -> dict[str, Any]:
    """Walk the tree of one server, in a session that is closed at the end.

    Args:
        address: host and port.
        session_timeout: that is asked for, in seconds.
        stop_requested: asked often.
        elsewhere: another server, where probes go on; None: the server is not probed.

    Returns:
        ``znodes`` that were seen, ``zxid`` (the highest that an answer showed), ``session`` (None
        if there was none), ``seconds`` that it took, and ``error``: None, or why not all was seen.
        Where the server was probed, ``probes`` are the sessions of that, and ``unanswered`` counts
        the requests of the greatest length that it did not answer.
    """
    began = time.monotonic()
    walk = TreeWalk(round(session_timeout * 1000))
    probed: dict[str, Any] = {}
    failures = []
    if elsewhere is not None:
        probed = {"probes": [], "unanswered": 0}
        try:
            _probe(address, elsewhere, session_timeout, probed, stop_requested)
        except (OSError, ValueError) as failure:
            failures.append(f"while it was probed: {failure}")
    try:
        cut_short = _converse(address, walk, time.monotonic() + LONGEST_S, stop_requested)
        failures += filter(None, [cut_short])
    except (OSError, ValueError) as failure:
        failures.append(str(failure))
    return {
        "znodes": walk.znodes,
        "zxid": walk.zxid,
        "session": session_hex(walk.session) if walk.session else None,
        "seconds": round(time.monotonic() - began, 6),
        "error": "; ".join(failures) or None,
        **probed,
    }


def _probe(
    address: Address,
    elsewhere: Address,
    session_timeout: float,
    found: dict[str, Any],
    stop_requested: Callable[[], bool],
) -> None:
    """Ask a server what it must refuse, and what follows when a session moves.

    Args:
        address: the server.
        elsewhere: where the session moves to.
        session_timeout: that is asked for, in seconds.
        found: takes the probes' sessions, and what was not answered.
        stop_requested: once true, nobody waits until a session must be over.

    Raises:
        OSError: a connection failed.
        ValueError: what came is no answer.
    """
    timeout = round(session_timeout * 1000)
    sessions = found["probes"]
    with Conversation(address) as first, Conversation(address) as sleeper:
        first.greet(timeout)
        sessions.append(session_hex(first.session))
        root = f"/audit-{first.session & 0xFFFF_FFFF_FFFF_FFFF:x}"
        first.ask(probes.all_of(root))
        sleeper.greet(timeout)
        sessions.append(session_hex(sleeper.session))
        sleeper.ask(probes.of_a_session_that_sleeps(root))
        asleep = time.monotonic()
        _ask_long(address, timeout, root, found)
        with ExitStack() as crowd:
            for number in range(CROWD):
                one = crowd.enter_context(Conversation(address))
                one.greet((*probes.OUT_OF_BOUNDS, *[timeout] * CROWD)[number])
                crowd.callback(one.ask, [(probes.CLOSE, b"")])
        with Conversation(elsewhere) as second:
            second.greet(timeout, first.session, first.password)
            second.sent = first.sent
            second.ask(probes.of_a_connection_that_follows(root, first.zxid))
            first.ask([probes.set_data(root)], within=MOMENT_S)
            with Conversation(address) as thief:  # a server hangs up on who had the session there
                thief.greet(timeout, first.session, bytes(16))
            second.ask([(probes.CLOSE, b"")])
        over = asleep + sleeper.timeout * OVERSLEPT / 1000 + PATIENCE_S + MOMENT_S
        while time.monotonic() < over:
            if stop_requested():
                return
            time.sleep(MOMENT_S)
        with Conversation(elsewhere) as again:
            again.greet(timeout, sleeper.session, sleeper.password)
            again.sent = sleeper.sent
            again.ask(probes.of_a_session_that_sleeps(root))
        sleeper.ask(probes.of_a_session_that_sleeps(root), within=MOMENT_S)
    with Conversation(address) as last:
        last.greet(timeout)
        sessions.append(session_hex(last.session))
        last.ask([*probes.of_the_end(root), *probes.of_members(), (probes.CLOSE, b"")])


def _ask_long(address: Address, timeout: int, root: str, found: dict[str, Any]) -> None:
    """Send a request of the greatest length that a server reads, and one beyond it."""

    def answered(asked: Sequence[probes.Asked]) -> bool:
        with Conversation(address) as one:
            one.greet(timeout)
            found["probes"].append(session_hex(one.session))
            return one.ask([*asked, (probes.CLOSE, b"")])

    while found["unanswered"] < ATTEMPTS and not answered(probes.of_length(root)):
        found["unanswered"] += 1
    answered(probes.too_long(root))


class Conversation:
    """A connection to a server, on which one thing is asked after the other.

    Attributes:
        session: its id; 0 if none was granted.
        password: of the session.
        timeout: that was granted, in ms.
        sent: the number of the last request.
        zxid: the highest that an answer showed.
    """

    def __init__(self, address: Address) -> None:
        self.session = 0
        self.password = b""
        self.timeout = 0
        self.sent = 0
        self.zxid = 0
        self._socket = socket.create_connection(address, LONGEST_S)
        self._reader = FrameReader()
        self._frames: list[bytes] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def greet(self, timeout: int, session: int = 0, password: bytes = bytes(16)) -> None:
        """Ask for a session (0: a new one), with a timeout in ms. A refusal is an answer, too."""
        _send(self._socket, connect_request(timeout, session, password))
        frame = self._next(time.monotonic() + LONGEST_S)
        if frame is None:
            raise ValueError("it neither granted nor refused a session")
        self.timeout = session_timeout(frame)
        if self.timeout > 0:
            self.session, self.password = session_granted(frame), session_password(frame)

    def ask(self, requests: Sequence[probes.Asked], within: float = LONGEST_S) -> bool:
        """Send requests at once, and wait for their answers, or for the end of the connection.

        Returns:
            Whether all were answered.
        """
        if not self.session:
            return False
        packets = []
        for opcode, body in requests:
            self.sent += 1
            packets.append(request(self.sent, opcode, body))
        try:
            _send(self._socket, b"".join(packets), within)
        except ConnectionError:  # the server hung up on what was sent so far
            return False
        deadline = time.monotonic() + within
        left = len(packets)
        while left and (frame := self._next(deadline)) is not None:
            header = reply_header(frame)
            if header is not None and header.xid > 0:
                left -= 1
                self.zxid = max(self.zxid, header.zxid)
        return not left

    def _next(self, deadline: float) -> bytes | None:
        """The next frame; None if the server hangs up, or it takes too long."""
        while not self._frames:
            if time.monotonic() > deadline:
                return None
            try:
                data = _receive(self._socket)
            except ConnectionResetError:
                return None
            if data is not None:
                self._frames += self._reader.feed(data)
        return self._frames.pop(0)


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


def _send(connection: socket.socket, data: bytes, within: float = PATIENCE_S) -> None:
    connection.settimeout(within)
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
