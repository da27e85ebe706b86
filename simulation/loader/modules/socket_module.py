"""``socket``: sockets on the simulated network. Hosts are known by name; addresses are names."""

import socket
from types import ModuleType
from typing import Any

from rumpus.simulation.loader.modules.refused_modules import refusing
from rumpus.simulation.loader.modules.simulated_module import simulated
from rumpus.simulation.loader.modules.simulated_socket import SimulatedSocket, pair
from rumpus.simulation.loader.runtime import Runtime

_UNSET: Any = socket._GLOBAL_DEFAULT_TIMEOUT  # type: ignore[attr-defined] # noqa: SLF001 - the default


def build(runtime: Runtime) -> ModuleType:
    """The ``socket`` of a process."""
    host_name = runtime.process.host
    kind: Any = type("socket", (SimulatedSocket,), {"_runtime": runtime, "__module__": "socket"})

    def create_connection(
        address: tuple[str, int],
        timeout: float | None = _UNSET,
        source_address: tuple[str, int] | None = None,
        *,
        all_errors: bool = False,
    ) -> SimulatedSocket:
        del all_errors  # every name has one address
        made: SimulatedSocket = kind()
        try:
            if timeout is not _UNSET:
                made.settimeout(timeout)
            if source_address is not None:
                made.bind(source_address)
            made.connect(address)
        except BaseException:
            made.close()
            raise
        return made

    def create_server(
        address: tuple[str, int],
        *,
        family: int = socket.AF_INET,
        backlog: int | None = None,
        reuse_port: bool = False,
        dualstack_ipv6: bool = False,
    ) -> SimulatedSocket:
        del backlog, reuse_port, dualstack_ipv6  # nothing of it exists here
        made: SimulatedSocket = kind(family)
        try:
            made.bind(address)
            made.listen()
        except BaseException:
            made.close()
            raise
        return made

    def socketpair(*_: Any, **__: Any) -> tuple[SimulatedSocket, SimulatedSocket]:
        return pair(kind)

    def address_of(host: str | bytes | None) -> str:
        text = host.decode() if isinstance(host, bytes) else host
        if text and (" " in text or len(text) > 253):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return text or "localhost"

    def getaddrinfo(
        host: str | bytes | None,
        port: str | int | None,
        family: int = 0,
        type: int = 0,  # noqa: A002 - as in socket.getaddrinfo
        proto: int = 0,
        flags: int = 0,
    ) -> list[tuple[Any, ...]]:
        del family, type, proto, flags  # every name has one address, for TCP
        place = address_of(host), int(port or 0)
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", place)]

    def setdefaulttimeout(timeout: float | None) -> None:
        kind.default_timeout = timeout

    refused = {
        name: refusing(runtime, f"socket.{name}")
        for name in ("fromfd", "fromshare", "send_fds", "recv_fds", "sethostname", "if_nameindex")
        if hasattr(socket, name)
    }
    return simulated(
        socket,
        SocketType=kind,
        create_connection=create_connection,
        create_server=create_server,
        getaddrinfo=getaddrinfo,
        getdefaulttimeout=lambda: kind.default_timeout,
        getfqdn=lambda name="": name or host_name,
        gethostbyaddr=lambda name: (name, [], [name]),
        gethostbyname=address_of,
        gethostbyname_ex=lambda name: (address_of(name), [], [address_of(name)]),
        gethostname=lambda: host_name,
        getnameinfo=lambda address, _flags: (address[0], str(address[1])),
        has_dualstack_ipv6=lambda: False,
        has_ipv6=False,
        setdefaulttimeout=setdefaulttimeout,
        socket=kind,
        socketpair=socketpair,
        **refused,
    )
