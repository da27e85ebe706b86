"""The links' proxy in a process of its own, and the control process's handle on it.

The control process is busy with the interpreter; the proxy, which every request passes, must
not wait for it. The two speak over a socket pair that keeps message boundaries, so that a call
cut short by Ctrl-C leaves no half message behind, only an answer that the next call skips.

The proxy ends when the control process does, however that ends. It learns so from its end of the
socket pair, or from a pid file descriptor where another process has inherited the other end.
"""

import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from io import RawIOBase
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.harness.links.link_proxy import LISTEN_ON, LinkProxy
from rumpus.harness.links.links import Cut, Refusal, WatchLeft, WatchSeen, WirePassed
from rumpus.harness.links.triggers import (
    FrameSeen,
    RequestTrigger,
    TriggerLinks,
    refuse_below_one,
    refuse_wrong,
)
from rumpus.harness.links.wire_tap import WireLog
from rumpus.recipes.servers import Servers

_PACKET = 1 << 17  # bytes; a Unix socket always takes packets of this size
_FRAMES_AT_ONCE = 1000
_EVENTS_AT_ONCE = 1 << 14  # bytes of paths in one answer
_PATIENCE = 30.0  # seconds to wait for an answer; it takes a fraction of a millisecond
_FAREWELL = 5.0  # seconds for the process to end

_T = TypeVar("_T")


class LinksError(RuntimeError):
    """The proxy has ended, or does not answer: no client reaches any server now."""


class _Setup(msgspec.Struct, array_like=True):
    servers: dict[str, tuple[str, int]]
    clients: int
    sessions: bool
    origin: int
    wire: str | None


class _Call(msgspec.Struct, array_like=True):
    number: int
    method: str
    arguments: list[Any]


class _Answer(msgspec.Struct, array_like=True):
    number: int
    value: Any = None
    refusal: str | None = None


class _Told(msgspec.Struct, array_like=True):
    """A trigger has acted: its number, and when, in monotonic nanoseconds."""

    number: int
    time: int


class RemoteTrigger:
    """A trigger that is armed in the proxy.

    Attributes:
        acted: when it acted, in monotonic nanoseconds; None: not yet, or not yet told.
        over: whether what is to be done then has been done.

    Args:
        then: what is to be done here when it acts; None: nothing.
        done: tells the proxy that it has been done.
        withdraw: disarms it there; when it acted.
    """

    def __init__(
        self,
        then: Callable[[], object] | None,
        done: Callable[[], None],
        withdraw: Callable[[], int | None],
    ) -> None:
        self.acted: int | None = None
        self.over = threading.Event()
        self._then = then
        self._done = done
        self._withdraw = withdraw
        self._failure: Exception | None = None

    def told(self, time: int) -> None:
        """It has acted: do what is to be done, and let the proxy go on."""
        self.acted = time
        try:
            if self._then is not None:
                self._then()
        except Exception as error:  # whoever withdraws it is told
            self._failure = error
        finally:
            if self._then is not None:
                with contextlib.suppress(LinksError):  # whoever asks the links next is told
                    self._done()
            self.over.set()

    def withdraw(self) -> None:
        """Disarm it; what is being done because of it is waited for.

        Raises:
            Exception: what ``then`` has raised.
            LinksError: the proxy died or hangs.
        """
        acted = self._withdraw()
        if acted is None:
            return
        if not self.over.wait(_PATIENCE):
            raise LinksError(f"What was to be done at a trigger takes more than {_PATIENCE:g} s.")
        if self._failure is not None:
            raise self._failure


class ProcessLinks:
    """All links of a run, carried by a process of their own. Safe to call from any thread.

    Implements ``harness.links.links.Links``. Also a context manager.

    Args:
        servers: node -> host and port on which the proxy reaches it; ``node:service`` for a
            further port of a node, which is cut and mended with the node.
        clients: how many clients, numbered from 0.
        sessions: whether they keep a connection with a session, as ZooKeeper's clients do.
        origin: what the monotonic clock shows when the run's clock is 0, in ns.
        wire: file for a record of every request that passes; None: they are not kept.

    Raises:
        EnvironmentRefusal: the process or a listener cannot be made here.
        LinksError: (from every method) the proxy died or hangs.
        ValueError: (from every method) there is no such client or node.
    """

    trigger_links: TriggerLinks | None

    def __init__(
        self,
        servers: Mapping[str, tuple[str, int]],
        clients: int,
        *,
        sessions: bool = True,
        origin: int = 0,
        wire: Path | None = None,
    ) -> None:
        self.sessions = sessions
        self.trigger_links = self if sessions else None
        self._armed: list[RemoteTrigger] = []
        self._places = tuple(servers)
        self._nodes = tuple(dict.fromkeys(place.partition(":")[0] for place in servers))
        self._clients = clients
        self._lock = threading.Lock()
        self._calls = 0
        self._closed = False
        self._afflicted: set[int] = set()
        self._failure: str | None = None
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(_PATIENCE)
        self._told, telling = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener = threading.Thread(target=self._listen, name="link-triggers", daemon=True)
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        with theirs, telling:
            try:
                self._process = _spawn(theirs, telling, self._complaints.fileno())
            except OSError as error:
                self._control.close()
                self._told.close()
                self._complaints.close()
                raise EnvironmentRefusal(
                    f"Cannot start the process that carries the clients' links: {error}."
                ) from error
        try:
            kept = None if wire is None else str(wire.absolute())
            setup = _Setup(dict(servers), clients, sessions, origin, kept)
            self._control.send(msgspec.msgpack.encode(setup))
            self._ports = self._answer(0, list[list[int]])
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The proxy's process id."""
        return self._process.pid

    def address(self, client: int, node: str) -> tuple[str, int]:
        """Host and port on which a client finds a server (``node``, or ``node:service``)."""
        self._known(client, [node.partition(":")[0]])
        return LISTEN_ON, self._ports[client][self._places.index(node)]

    def hosts(self, client: int) -> str:
        """A client's connection string: every port of every server by its link, in order."""
        addresses = (self.address(client, place) for place in self._places)
        return ",".join(f"{host}:{port}" for host, port in addresses)

    def places(self, client: int) -> str:
        """Every port of every server by its link, with names, as ``recipes.servers.Servers``."""
        return str(Servers({place: self.address(client, place) for place in self._places}))

    def cut(self, client: int, how: Cut, nodes: Iterable[str] | None = None) -> None:
        """Break a client's links to some servers (all by default)."""
        known = self._known(client, nodes)
        if how != "lost-reply":
            self._afflicted.add(client)
        self._call(None, "cut", client, how, known)

    def drop_reply(
        self, client: int, request: str, number: int = 1, session: int | None = None
    ) -> None:
        """Cut all of a client's links by ``lost-reply``, about the n-th request of a kind.

        Replaces an earlier cut. ``in_force`` names the cut until it has acted.

        Args:
            client: its number.
            request: a name of ``zookeeper_frames.REQUESTS``.
            number: which one from now on; 1: the next.
            session: only requests of this session count; None: all of the client's.
        """
        self._call(None, "drop_reply", client, request, number, session, self._known(client))

    def arm(
        self, client: int, trigger: RequestTrigger, nodes: Iterable[str] | None = None
    ) -> RemoteTrigger:
        """Arm a trigger for a client's n-th request of a kind; healing withdraws it, too."""
        refuse_wrong(trigger)
        known = self._known(client, nodes)
        fields = (trigger.action, trigger.request, trigger.number, trigger.milliseconds)
        return self._arm("arm", None, client, *fields, known)

    def arm_frame(
        self,
        client: int,
        number: int,
        then: Callable[[], object],
        *,
        passes: bool = True,
        resets: bool = False,
    ) -> RemoteTrigger:
        """Arm a trigger for a client's n-th frame from now on; healing withdraws it, too.

        ``then`` is called in a thread of the links' own. The frame, and what comes behind it on
        its connection, waits until it has returned.
        """
        self._known(client)
        refuse_below_one("frames", number)
        return self._arm("arm_frame", then, client, number, passes, resets)

    def frames(self) -> list[FrameSeen]:
        """The frames that have come since this was first called."""
        seen: list[FrameSeen] = []
        while more := self._call(list[FrameSeen], "frames", len(seen), _FRAMES_AT_ONCE):
            seen += more
        return seen

    def reset_session(self, client: int, session: int) -> bool:
        """Reset the client's connections that have a session; whether there was any."""
        return self._ask(bool, "reset_session", client, session)

    def refuse_session(self, session: int, how: Refusal = "lasting") -> None:
        """Refuse a session's traffic, heartbeats too, whichever client it is; it then expires."""
        self._call(None, "refuse_session", session, how)

    def delay(self, client: int, milliseconds: float, nodes: Iterable[str] | None = None) -> None:
        """Hold back every byte, each way, for this long."""
        if milliseconds < 0:
            raise ValueError(f"A delay cannot be negative: {milliseconds} ms.")
        self._call(None, "delay", client, milliseconds, self._known(client, nodes))

    def delays(self, client: int) -> dict[str, float]:
        """By how many milliseconds a client's links are slow."""
        return self._ask(dict[str, float], "delays", client)

    def heal(self, client: int | None = None) -> None:
        """Mend one client's links, or all."""
        if client is not None:
            self._known(client)
            self._afflicted.discard(client)
        else:
            self._afflicted.clear()
        self._call(None, "heal", client)

    def afflicted(self) -> frozenset[int]:
        """The clients whose links are cut, not counting ``lost-reply``."""
        return frozenset(self._afflicted)

    def in_force(self, client: int) -> dict[str, str]:
        """The cuts on a client's links, node -> how."""
        return self._ask(dict[str, str], "in_force", client)

    def swallowed(self, client: int) -> int:
        """Bytes and connections that a client's links have refused so far."""
        return self._ask(int, "swallowed", client)

    def connected_to(self, client: int) -> str | None:
        """The server to which the client has a connection with a session now."""
        return self._ask(str | None, "connected_to", client)  # type: ignore[arg-type]  # a union is no type to mypy

    def last_answer(self, client: int) -> int | None:
        """When a reply last passed to the client, in monotonic nanoseconds; None if never."""
        return self._ask(int | None, "last_answer", client)  # type: ignore[arg-type]  # as above

    def requests(self, client: int) -> dict[str, int]:
        """How many of a client's requests the links have carried so far, by kind."""
        return self._ask(dict[str, int], "requests", client)

    def shown(self, client: int) -> int:
        """The highest zxid in the header of a reply that has passed to the client; 0: none yet."""
        return self._ask(int, "shown", client)

    def recorded(self, client: int) -> WirePassed:
        """How much of a client is in the wire's record so far."""
        return self._ask(WirePassed, "recorded", client)

    def unimplemented(self, client: int) -> bool:
        """Whether a reply has passed to the client that refuses a request as unknown (-6)."""
        return self._ask(bool, "unimplemented", client)

    def watch_events(self) -> list[WatchSeen]:
        """Watch events that passed since the last call, in order."""
        return [each for each in self.watches() if isinstance(each, WatchSeen)]

    def watches(self) -> list[WatchSeen | WatchLeft]:
        """Watch events, and replies to reads that set watches, since the last call, in order."""
        events: list[WatchSeen | WatchLeft] = []
        while batch := self._call(list[WatchSeen | WatchLeft], "watches", _EVENTS_AT_ONCE):
            events += batch
        return events

    def close(self) -> None:
        """Stop carrying anything and free the ports. May be called more than once."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._control.close()  # this tells the proxy to end
        try:
            self._process.wait(_FAREWELL)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._listener.is_alive():
            self._listener.join()  # the proxy's end of its socket is closed
        self._told.close()
        self._complaints.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _arm(
        self, method: str, then: Callable[[], object] | None, client: int, *arguments: object
    ) -> RemoteTrigger:
        number = len(self._armed)
        armed = RemoteTrigger(
            then,
            done=partial(self._call, None, "done", number, client),
            withdraw=partial(self._call, int | None, "withdraw", number),  # type: ignore[arg-type]  # a union is no type to mypy
        )
        self._armed.append(armed)
        if not self._listener.ident:
            self._listener.start()
        self._call(None, method, number, client, *arguments)
        return armed

    def _listen(self) -> None:
        """Do what is to be done when triggers act, until the proxy ends."""
        while packet := self._told.recv(_PACKET):
            told = msgspec.msgpack.decode(packet, type=_Told)
            self._armed[told.number].told(told.time)

    def _known(self, client: int, nodes: Iterable[str] | None = None) -> list[str]:
        if not 0 <= client < self._clients:
            raise ValueError(f"There is no client {client}; they are 0 to {self._clients - 1}.")
        chosen = list(self._nodes if nodes is None else nodes)
        for node in chosen:
            if node not in self._nodes:
                raise ValueError(f"There is no node {node!r}; they are {', '.join(self._nodes)}.")
        return chosen

    def _ask(self, kind: type[_T], method: str, client: int, *arguments: object) -> _T:
        self._known(client)
        return self._call(kind, method, client, *arguments)

    def _call(self, kind: type[_T] | None, method: str, *arguments: object) -> _T:
        with self._lock:
            if self._closed:
                raise LinksError("The links are closed; nothing can be asked of them any more.")
            if self._failure:
                raise LinksError(self._failure)
            self._calls += 1
            call = _Call(self._calls, method, list(arguments))
            try:
                self._control.send(msgspec.msgpack.encode(call))
            except OSError:
                raise self._failed() from None
            return self._answer(call.number, kind)

    def _answer(self, number: int, kind: type[_T] | None) -> _T:
        while True:
            try:
                packet = self._control.recv(_PACKET)
            except OSError:
                packet = b""
            if not packet:
                raise self._failed()
            answer = msgspec.msgpack.decode(packet, type=_Answer)
            if answer.refusal is not None:
                raise EnvironmentRefusal(answer.refusal)
            if answer.number == number:  # an older answer is to an interrupted call
                return msgspec.convert(answer.value, kind)

    def _failed(self) -> LinksError:
        try:
            ended = f"ended with status {self._process.wait(_FAREWELL)}"
        except subprocess.TimeoutExpired:
            ended = f"has not answered for {_PATIENCE:.0f} s; it was killed"
            self._process.kill()
            self._process.wait()
        self._complaints.seek(0)
        said = self._complaints.read().decode(errors="replace").strip()[-2000:]
        self._failure = (
            f"The process that carries the clients' links (pid {self.pid}) {ended}, so no client "
            "reaches any server. The run cannot go on; start it again."
            + (f" Its last words:\n{said}" if said else "")
        )
        return LinksError(self._failure)


def _spawn(
    control: socket.socket, telling: socket.socket, complaints: int
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            *(sys.executable, "-P", "-m", "rumpus.harness.links.link_process"),
            *(str(control.fileno()), str(telling.fileno()), str(os.getpid())),
        ],
        pass_fds=[control.fileno(), telling.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=complaints,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        process_group=0,  # Ctrl-C goes to the foreground group; the control process decides
    )


def serve(control: socket.socket, telling: socket.socket, parent: int) -> None:
    """Run the proxy until the control process hangs up or dies.

    Args:
        control: this process's end of the socket pair.
        telling: this process's end of that on which it tells that triggers have acted.
        parent: process id of the control process.
    """
    setup = msgspec.msgpack.decode(control.recv(_PACKET), type=_Setup)
    with contextlib.ExitStack() as stack:
        try:
            wire = stack.enter_context(_wire_log(setup))
        except OSError as error:
            what = f"Cannot write {setup.wire}, what passes on the links: {error.strerror}."
            _reply(control, _Answer(0, refusal=what))
            return
        _carry(control, telling, parent, setup, wire)


@contextlib.contextmanager
def _wire_log(setup: _Setup) -> Iterator[WireLog]:
    """Where what passes is recorded: the file, or nowhere."""
    if setup.wire is None:
        yield WireLog(setup.origin, lambda _: None)
        return
    with open(setup.wire, "wb", buffering=0) as file:  # noqa: PTH123 - as it was given
        yield WireLog(setup.origin, _WhileItCan(file))


class _WhileItCan:
    """Writes to a file until that fails: a full disk must not cut the clients' connections.

    What is missing is told by the verdict: the history says how much had passed.
    """

    def __init__(self, file: RawIOBase) -> None:
        self._file: RawIOBase | None = file

    def __call__(self, lines: bytes) -> None:
        if self._file is None:
            return
        try:
            written = self._file.write(lines) or 0
        except OSError:
            written = 0
        if written < len(lines):
            self._file = None


def _carry(
    control: socket.socket, telling: socket.socket, parent: int, setup: _Setup, wire: WireLog
) -> None:
    """Carry connections until the control process hangs up or dies."""

    def tell(number: int, time: int) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # as in `_reply`
            telling.send(msgspec.msgpack.encode(_Told(number, time)))

    try:
        proxy = LinkProxy(
            setup.servers, setup.clients, sessions=setup.sessions, wire=wire, tell=tell
        )
    except OSError as error:
        _reply(control, _Answer(0, refusal=_refusal(setup, error)))
        return
    serving = True

    def end() -> None:
        nonlocal serving
        serving = False

    def take_call() -> None:
        packet = control.recv(_PACKET)
        if not packet:
            end()
            return
        call = msgspec.msgpack.decode(packet, type=_Call)
        value = getattr(proxy, call.method)(*call.arguments)
        _reply(control, _Answer(call.number, value))

    proxy.watch(control, take_call)
    try:
        proxy.watch(os.pidfd_open(parent), end)
    except ProcessLookupError:
        return  # it is dead already
    except OSError:
        pass  # an old kernel or a sandbox refuses: the end of the socket pair must do
    _reply(control, _Answer(0, proxy.ports()))
    # What exists now is never freed. The rest is freed by reference counting, except for a few
    # reference cycles per connection.
    gc.collect()
    gc.freeze()
    while serving:
        proxy.turn()
    proxy.close()


def _reply(control: socket.socket, answer: _Answer) -> None:
    # The control process is gone: the next thing to be read is the end of the stream.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        control.send(msgspec.msgpack.encode(answer))


def _refusal(setup: _Setup, error: OSError) -> str:
    if isinstance(error, socket.gaierror):
        hosts = ", ".join(sorted({host for host, _ in setup.servers.values()}))
        return f"Cannot resolve the servers' addresses ({hosts}): {error.strerror}."
    return (
        f"Cannot open the {setup.clients * len(setup.servers)} ports on {LISTEN_ON} that the links "
        f"of {setup.clients} clients to {len(setup.servers)} servers need: {error.strerror}. Use "
        "fewer clients, or raise the limit of open files (ulimit -n) or widen the range of ports "
        "(net.ipv4.ip_local_port_range)."
    )


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with (
        socket.socket(fileno=int(sys.argv[1])) as _control,
        socket.socket(fileno=int(sys.argv[2])) as _telling,
    ):
        serve(_control, _telling, parent=int(sys.argv[3]))
