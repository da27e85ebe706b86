"""TCP sockets, and pairs of connected ones, with the interface of ``socket.socket``."""
# ruff: noqa: SLF001 - the two sockets of a pair, and those that are accepted, are of this file

import errno
import io
import socket
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Self

from rumpus.simulation.kernel.errors import ProcessKilled
from rumpus.simulation.loader.modules.descriptor import READ, WRITE, Descriptor
from rumpus.simulation.loader.modules.pipes import broken
from rumpus.simulation.loader.modules.refused_modules import refusing
from rumpus.simulation.loader.runtime import Runtime

if TYPE_CHECKING:
    from rumpus.simulation.network.transport import Transport

RECEIVE_BUFFER: Final = 256 * 1024
"""Bytes that are taken in before the program reads them."""
# As plain integers: operators of flags are slow.
_PEEK: Final = int(socket.MSG_PEEK)
_DONTWAIT: Final = int(socket.MSG_DONTWAIT)
PAIR_BUFFER: Final = 212_992
"""Bytes on their way to the other socket of a pair; ``net.core.wmem_default``."""
_LOCAL_NAMES: Final = ("", "0.0.0.0", "127.0.0.1", "localhost", "::", "::1")  # noqa: S104 - names


class SimulatedSocket(Descriptor):
    """A stream socket of a process, which is that of its class; also receives for its transport.

    Whatever the options say, small writes are sent at once (``TCP_NODELAY``).
    """

    default_timeout: float | None = None
    _runtime: Runtime

    def __init__(
        self,
        family: int = -1,
        type: int = -1,  # noqa: A002 - as in socket.socket
        proto: int = -1,
        fileno: int | None = None,
    ) -> None:
        kind = socket.SOCK_STREAM if type == -1 else type
        if fileno is not None:
            raise broken(errno.ENOTSOCK)
        if family == socket.AF_UNIX or kind & 0xF != socket.SOCK_STREAM:
            refusing(self._runtime, "socket.socket for another protocol than TCP")()
        if family not in (-1, socket.AF_INET):
            raise broken(errno.EAFNOSUPPORT)
        super().__init__(self._runtime.files)
        self._begin(socket.AF_INET, max(proto, 0))
        self.settimeout(0 if kind & socket.SOCK_NONBLOCK else self.default_timeout)

    def _begin(self, family: int, proto: int) -> None:
        self.family = socket.AddressFamily(family)
        self.type = socket.SOCK_STREAM
        self.proto = proto
        self._timeout: float | None = None
        self._transport: Transport | None = None
        self._peer: SimulatedSocket | None = None  # the other one of a pair
        self._held = bytearray()
        self._paused = False
        self._eof = False  # the other side sends nothing more
        self._error: OSError | None = None  # to be raised once
        self._lost = False  # the connection is over
        self._shut = False  # this side sends nothing more
        self._attempt: Any = None
        self._connected = False
        self._bound: tuple[str, int] | None = None
        self._listener: Any = None
        self._backlog: deque[SimulatedSocket] = deque()
        self._files = 0  # made by makefile, and open
        self._close_due = False

    @classmethod
    def _made(cls) -> Self:
        """One that is made by the system, not by the program."""
        made = cls.__new__(cls)
        Descriptor.__init__(made, cls._runtime.files)
        made._begin(socket.AF_INET, 0)
        return made

    # -- what the network tells -----------------------------------------------------------

    def data_received(self, data: Any) -> None:
        """Bytes have arrived."""
        self._held += data
        if len(self._held) > RECEIVE_BUFFER and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        if not self.ready_to_read:
            self.ready_to_read = True
            self.wake()

    def eof_received(self) -> None:
        """The other side sends nothing more."""
        self._eof = True
        self.ready_to_read = True
        self.wake()

    def connection_lost(self, error: OSError | None) -> None:
        """The connection is over."""
        self._error = error
        self._lost = self._eof = True
        self.ready_to_read = self.ready_to_write = True
        self.wake()

    def writable(self) -> None:
        """There is room again."""
        self.ready_to_write = True
        self.wake()

    # -- receiving ------------------------------------------------------------------------

    def recv(self, bufsize: int, flags: int = 0) -> bytes:
        """As ``socket.recv``; of the flags, ``MSG_PEEK`` is known."""
        simulator = self._simulator
        if simulator.interrupts is not None:
            simulator.interrupts.at_primitive(simulator)
        if self._runtime.process.dead:
            raise ProcessKilled
        held = self._held
        if not held and not self._wait_for_data(flags):
            return b""
        if flags & _PEEK:
            return bytes(held[:bufsize])
        if len(held) <= bufsize:
            taken = bytes(held)
            held.clear()
            self.ready_to_read = self._eof
        else:
            taken = bytes(held[:bufsize])
            del held[:bufsize]
        if self._paused or self._peer is not None:
            self._make_room()
        return taken

    def _wait_for_data(self, flags: int) -> bool:
        """Whether there is data; False: the other side sends nothing more."""
        if self.number < 0:
            raise broken(errno.EBADF)
        while not self._held:
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            if self._eof:
                return False
            if not self._connected:
                raise broken(errno.ENOTCONN)
            if self._timeout == 0 or flags & _DONTWAIT:
                raise broken(errno.EAGAIN)
            if not self.wait(READ, self._timeout, "data"):
                raise TimeoutError("timed out")
        return True

    def _make_room(self) -> None:
        if self._paused and len(self._held) <= RECEIVE_BUFFER // 2 and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        peer = self._peer
        if peer is not None and not peer.ready_to_write and len(self._held) < PAIR_BUFFER:
            peer.writable()

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        """As ``socket.recv_into``."""
        view = memoryview(buffer).cast("B")
        data = self.recv(nbytes or len(view), flags)
        view[: len(data)] = data
        return len(data)

    def recvfrom(self, bufsize: int, flags: int = 0) -> tuple[bytes, Any]:
        """As ``socket.recvfrom``: a stream names no sender."""
        return self.recv(bufsize, flags), None

    def recvfrom_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> tuple[int, Any]:
        """As ``socket.recvfrom_into``: a stream names no sender."""
        return self.recv_into(buffer, nbytes, flags), None

    def recvmsg(
        self, bufsize: int, ancbufsize: int = 0, flags: int = 0
    ) -> tuple[bytes, list[Any], int, Any]:
        """As ``socket.recvmsg``: there is no ancillary data."""
        del ancbufsize
        return self.recv(bufsize, flags), [], 0, None

    # -- sending --------------------------------------------------------------------------

    def send(self, data: Any, flags: int = 0) -> int:
        """As ``socket.send``."""
        simulator = self._simulator
        if simulator.interrupts is not None:
            simulator.interrupts.at_primitive(simulator)
        if self._runtime.process.dead:
            raise ProcessKilled
        if not self.ready_to_write or self._lost or self._shut:
            self._wait_for_room(flags)
        data = bytes(data)
        transport = self._transport
        if transport is not None:
            transport.write(data)
            if transport.unsent():
                self.ready_to_write = False
                transport.wait_writable()
            return len(data)
        peer = self._peer
        if peer is None:
            raise broken(errno.EPIPE)
        peer.data_received(data)
        if len(peer._held) >= PAIR_BUFFER:
            self.ready_to_write = False
        return len(data)

    def _wait_for_room(self, flags: int) -> None:
        while True:
            if self.number < 0:
                raise broken(errno.EBADF)
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            if self._shut or self._lost:
                raise broken(errno.EPIPE)
            if not self._connected:
                raise broken(errno.ENOTCONN if self._attempt is None else errno.EAGAIN)
            if self.ready_to_write:
                return
            if self._timeout == 0 or flags & _DONTWAIT:
                raise broken(errno.EAGAIN)
            if not self.wait(WRITE, self._timeout, "room to send"):
                raise TimeoutError("timed out")

    def sendall(self, data: Any, flags: int = 0) -> None:
        """As ``socket.sendall``."""
        self.send(data, flags)

    def recvmsg_into(
        self, buffers: Iterable[Any], ancbufsize: int = 0, flags: int = 0
    ) -> tuple[int, list[Any], int, Any]:
        """As ``socket.recvmsg_into``, into the first of the buffers that has room."""
        del ancbufsize
        for buffer in buffers:
            if memoryview(buffer):
                return self.recv_into(buffer, 0, flags), [], 0, None
        return 0, [], 0, None

    def sendto(self, data: Any, *flags_and_address: Any) -> int:
        """As ``socket.sendto``: a stream has its peer, whatever the address."""
        return self.send(data, flags_and_address[0] if len(flags_and_address) > 1 else 0)

    def sendmsg(self, buffers: Iterable[Any]) -> int:
        """As ``socket.sendmsg``, without ancillary data."""
        return self.send(b"".join(buffers))

    # -- opening --------------------------------------------------------------------------

    def connect(self, address: tuple[Any, ...]) -> None:
        """As ``socket.connect``."""
        number = self._start_to_connect(address)
        if number:
            raise broken(number)
        if self._timeout == 0:
            raise broken(errno.EINPROGRESS)
        if not self.wait(WRITE, self._timeout, f"a connection to {address[0]}:{address[1]}"):
            self._attempt.cancel()
            self._attempt = None
            raise TimeoutError("timed out")
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def connect_ex(self, address: tuple[Any, ...]) -> int:
        """As ``socket.connect_ex``: the error's number."""
        number = self._start_to_connect(address)
        if number:
            return number
        if self._timeout == 0:
            return errno.EINPROGRESS
        if not self.wait(WRITE, self._timeout, f"a connection to {address[0]}:{address[1]}"):
            return errno.EAGAIN
        return self.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)

    def _start_to_connect(self, address: tuple[Any, ...]) -> int:
        self.primitive()
        if self.number < 0:
            raise broken(errno.EBADF)
        if self._connected:
            return errno.EISCONN
        if self._attempt is not None:
            return errno.EALREADY
        self.ready_to_read = self.ready_to_write = False
        self._eof = self._lost = False
        runtime = self._runtime
        host = str(address[0])
        self._attempt = runtime.network.connect(
            runtime.process,
            (runtime.process.host if host in _LOCAL_NAMES else host, int(address[1])),
            self._opened,
            self._failed,
        )
        return 0

    def _opened(self, transport: "Transport") -> Self:
        self._transport = transport
        self._attempt = None
        self._connected = True
        if self.number < 0:
            transport.close()
        self.ready_to_write = True
        self.wake()
        return self

    def _failed(self, error: OSError) -> None:
        self._attempt = None
        self.connection_lost(error)

    def bind(self, address: tuple[Any, ...]) -> None:
        """As ``socket.bind``; whether the port is free is found by ``listen``."""
        host = str(address[0])
        process_host = self._runtime.process.host
        if host not in _LOCAL_NAMES and host != process_host:
            raise broken(errno.EADDRNOTAVAIL)
        port = int(address[1]) or self._runtime.network.ephemeral_port(process_host)
        self._bound = (process_host, port)

    def listen(self, backlog: int = 128, /) -> None:
        """As ``socket.listen``; the backlog has no limit."""
        del backlog
        self.primitive()
        if self._listener is None:
            port = self._bound[1] if self._bound else 0
            self._listener = self._runtime.network.listen(
                self._runtime.process, port, self._arrived
            )
            self._bound = self._listener.address

    def _arrived(self, transport: "Transport") -> "SimulatedSocket":
        made = self._made()
        made._opened(transport)
        self._backlog.append(made)
        self.ready_to_read = True
        self.wake()
        return made

    def accept(self) -> "tuple[SimulatedSocket, tuple[str, int]]":
        """As ``socket.accept``."""
        self.primitive()
        while not self._backlog:
            if self.number < 0:
                raise broken(errno.EBADF)
            if self._listener is None:
                raise broken(errno.EINVAL)
            if self._timeout == 0:
                raise broken(errno.EAGAIN)
            if not self.wait(READ, self._timeout, "a client to connect"):
                raise TimeoutError("timed out")
        made = self._backlog.popleft()
        self.ready_to_read = bool(self._backlog)
        made._timeout = self.default_timeout
        assert made._transport is not None, "it has arrived on one"
        return made, made._transport.remote  # known even if the connection is lost already

    # -- ending ---------------------------------------------------------------------------

    def shutdown(self, how: int) -> None:
        """As ``socket.shutdown``."""
        self.primitive()
        if not self._connected or self._lost:
            raise broken(errno.ENOTCONN)
        if how in (socket.SHUT_RD, socket.SHUT_RDWR):
            self.eof_received()
        if how in (socket.SHUT_WR, socket.SHUT_RDWR) and not self._shut:
            self._shut = True
            if self._transport is not None:
                self._transport.write_eof()
            elif self._peer is not None:
                self._peer.eof_received()

    def close(self) -> None:
        """As ``socket.close``: when the files made of it are closed, too."""
        self._close_due = True
        if self._files <= 0 and self.number >= 0:
            self._close()

    def _close(self) -> None:
        if self._attempt is not None:
            self._attempt.cancel()
            self._attempt = None
        if self._listener is not None:
            self._listener.close()
            for waiting in self._backlog:
                waiting.close()
        if self._transport is not None and not self._lost:
            # The system resets a connection whose data was not read.
            if self._held:
                self._transport.abort()
            else:
                self._transport.close()
        peer, self._peer = self._peer, None
        if peer is not None:
            peer._peer = None
            peer._lost = True
            peer.eof_received()
            peer.writable()
        self._held.clear()
        self.release()

    def detach(self) -> int:
        """As ``socket.detach``; no other socket can take the descriptor over."""
        raise broken(errno.EOPNOTSUPP)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- what it is, and how it behaves ---------------------------------------------------

    def fileno(self) -> int:
        """As ``socket.fileno``: -1 once it is closed."""
        return self.number

    def setblocking(self, flag: Any) -> None:
        """As ``socket.setblocking``."""
        self._timeout = None if flag else 0.0

    def getblocking(self) -> bool:
        """As ``socket.getblocking``."""
        return self._timeout != 0

    def settimeout(self, value: float | None) -> None:
        """As ``socket.settimeout``.

        Raises:
            ValueError: negative.
        """
        if value is not None and value < 0:
            raise ValueError("Timeout value out of range")
        self._timeout = None if value is None else float(value)

    def gettimeout(self) -> float | None:
        """As ``socket.gettimeout``."""
        return self._timeout

    timeout = property(gettimeout)

    def setsockopt(self, *_: Any) -> None:
        """As ``socket.setsockopt``: options change nothing here."""
        if self.number < 0:
            raise broken(errno.EBADF)

    def getsockopt(self, level: int, optname: int, buflen: int = 0) -> int:
        """As ``socket.getsockopt``: the error of the connection; of other options, 0."""
        del buflen
        if self.number < 0:
            raise broken(errno.EBADF)
        if (level, optname) == (socket.SOL_SOCKET, socket.SO_ERROR) and self._error is not None:
            error, self._error = self._error, None
            return error.errno or errno.EIO
        return 0

    def getsockname(self) -> tuple[str, int]:
        """As ``socket.getsockname``."""
        if self._transport is not None:
            return self._transport.local
        return self._bound or ("0.0.0.0", 0)  # noqa: S104 - what an unbound socket says

    def getpeername(self) -> tuple[str, int]:
        """As ``socket.getpeername``."""
        if self._transport is None or self._lost:
            raise broken(errno.ENOTCONN)
        return self._transport.remote

    def get_inheritable(self) -> bool:
        """As ``socket.get_inheritable``: there is no child that could inherit."""
        return False

    def set_inheritable(self, inheritable: bool, /) -> None:
        """As ``socket.set_inheritable``."""

    # -- files ----------------------------------------------------------------------------

    def makefile(
        self,
        mode: str = "r",
        buffering: int | None = None,
        *,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> Any:
        """As ``socket.makefile``."""
        if set(mode) - {"r", "w", "b"}:
            raise ValueError(f"invalid mode {mode!r} (only r, w, b allowed)")
        writing = "w" in mode
        reading = "r" in mode or not writing
        raw = _Raw(self, reading=reading, writing=writing)
        self._files += 1
        size = io.DEFAULT_BUFFER_SIZE if buffering is None or buffering < 0 else buffering
        if size == 0:
            if "b" not in mode:
                raise ValueError("unbuffered streams must be binary")
            return raw
        buffer: Any
        if reading and writing:
            buffer = io.BufferedRWPair(raw, raw, size)
        elif reading:
            buffer = io.BufferedReader(raw, size)
        else:
            buffer = io.BufferedWriter(raw, size)
        return buffer if "b" in mode else io.TextIOWrapper(buffer, encoding, errors, newline)

    def file_closed(self) -> None:
        """A file made of it has been closed."""
        self._files -= 1
        if self._close_due:
            self.close()

    def __repr__(self) -> str:
        state = "closed" if self.number < 0 else "connected" if self._connected else "open"
        return f"<simulated socket {self.number} of {self._runtime.process.name}, {state}>"


class _Raw(io.RawIOBase):
    """A socket as a file."""

    def __init__(self, socket_: SimulatedSocket, *, reading: bool, writing: bool) -> None:
        self._socket: SimulatedSocket | None = socket_
        self._reading = reading
        self._writing = writing

    def _open(self) -> SimulatedSocket:
        if self._socket is None:
            raise ValueError("I/O operation on closed file.")
        return self._socket

    def readable(self) -> bool:
        return self._reading

    def writable(self) -> bool:
        return self._writing

    def readinto(self, buffer: Any) -> int | None:
        try:
            return self._open().recv_into(buffer)
        except BlockingIOError:
            return None

    def write(self, data: Any) -> int | None:
        try:
            return self._open().send(data)
        except BlockingIOError:
            return None

    def fileno(self) -> int:
        return self._open().fileno()

    def close(self) -> None:
        if not self.closed:
            super().close()
            file, self._socket = self._open(), None
            file.file_closed()


def pair(kind: type[SimulatedSocket]) -> tuple[SimulatedSocket, SimulatedSocket]:
    """Two sockets of a process that are connected with each other; nothing delays their bytes."""
    first, second = kind._made(), kind._made()
    for one, other in ((first, second), (second, first)):
        one.family = socket.AF_UNIX
        one._peer = other
        one._connected = one.ready_to_write = True
    return first, second
