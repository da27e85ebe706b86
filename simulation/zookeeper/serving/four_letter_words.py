"""The answers to four-letter words.

Source: ``org.apache.zookeeper.server.command`` of ZooKeeper 3.8.0.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from rumpus.simulation.zookeeper.serving.client_connection import ClientConnection
from rumpus.simulation.zookeeper.serving.server import ZooKeeperServer
from rumpus.simulation.zookeeper.serving.server_statistics import ServerStatistics
from rumpus.simulation.zookeeper.serving.session_ids import unsigned
from rumpus.simulation.zookeeper.serving.session_tracker import java_date
from rumpus.simulation.zookeeper.wire import opcodes

VERSION = "3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f, built on 2022-02-25 08:49 UTC"
NOT_SERVING = "This ZooKeeper instance is not currently serving requests\n"

MILLISECOND = 1_000_000

NAMES = {
    opcodes.CREATE_SESSION: "SESS",
    opcodes.PING: "PING",
    opcodes.CREATE: "CREA",
    opcodes.CREATE2: "CREA",
    opcodes.CREATE_CONTAINER: "CREA",
    opcodes.CREATE_TTL: "CREA",
    opcodes.DELETE: "DELE",
    opcodes.DELETE_CONTAINER: "DELC",
    opcodes.SET_DATA: "SETD",
    opcodes.GET_DATA: "GETD",
    opcodes.EXISTS: "EXIS",
    opcodes.GET_CHILDREN: "GETC",
    opcodes.GET_CHILDREN2: "GETC",
    opcodes.SET_ACL: "SETA",
    opcodes.GET_ACL: "GETA",
    opcodes.MULTI: "MULT",
    opcodes.MULTI_READ: "MLTR",
    opcodes.SYNC: "SYNC",
    opcodes.CLOSE_SESSION: "CLOS",
    opcodes.SET_WATCHES: "SETW",
    opcodes.SET_WATCHES2: "STW2",
    opcodes.ADD_WATCH: "ADDW",
    opcodes.CHECK_WATCHES: "CHKW",
    opcodes.REMOVE_WATCHES: "REMW",
    opcodes.WHO_AM_I: "HOMI",
    opcodes.GET_EPHEMERALS: "GETE",
    opcodes.GET_ALL_CHILDREN_NUMBER: "GETACN",
    opcodes.RECONFIG: "RECO",
    opcodes.CHECK: "CHEC",
}
"""Names of request types in ``cons``, which shows a connection's last request ("lop")."""


def answer(word: str, server: ZooKeeperServer) -> str:
    """The whole answer to one of the ``WORDS``; the connection is closed after it."""
    settings = server.settings
    listed = word in settings.four_letter_words or (word == "isro" and settings.read_only_mode)
    command = _COMMANDS.get(word)
    if not listed or command is None:
        return f"{word} is not executed because it is not in the whitelist."
    if server.role is None and word != "ruok":
        return "null" if word == "isro" else NOT_SERVING
    return command(server)


def _ruok(_: ZooKeeperServer) -> str:
    return "imok"


def _isro(server: ZooKeeperServer) -> str:
    return "ro" if server.mode == "read-only" else "rw"


def _srvr(server: ZooKeeperServer) -> str:
    return f"Zookeeper version: {VERSION}\n" + _summary(server)


def _stat(server: ZooKeeperServer) -> str:
    notice = (
        "READ-ONLY mode; serving only read-only clients\n" if server.mode == "read-only" else ""
    )
    clients = "".join(_client(connection) + ")\n" for connection in server.connections)
    version = f"Zookeeper version: {VERSION}\n"
    return f"{version}{notice}Clients:\n{clients}\n{_summary(server)}"


def _cons(server: ZooKeeperServer) -> str:
    lines = [
        _client(connection) + _details(server, connection) + ")\n"
        for connection in server.connections
    ]
    return "".join(lines) + "\n"


def _summary(server: ZooKeeperServer) -> str:
    statistics = server.statistics
    database = server.database
    assert server.role is not None
    extra = server.role.statistics()
    sizes = ""
    if server.mode == "leader":
        shown = (extra.get(f"{which}_proposal_size", -1) for which in ("last", "min", "max"))
        sizes = f"Proposal sizes last/min/max: {'/'.join(str(size) for size in shown)}\n"
    return (
        f"Latency min/avg/max: {statistics.shortest}/{statistics.average}/{statistics.longest}\n"
        f"Received: {statistics.received}\n"
        f"Sent: {statistics.sent}\n"
        f"Connections: {len(server.connections)}\n"
        f"Outstanding: {server.in_process}\n"
        f"Zxid: 0x{unsigned(database.last_processed):x}\n"
        f"Mode: {server.mode}\n{sizes}"
        f"Node count: {len(database.tree.nodes)}\n"
    )


def _client(connection: ClientConnection) -> str:
    host, port = connection.transport.remote
    statistics = connection.statistics
    return (
        f" /{host}:{port}[{int(connection.reading)}](queued={connection.outstanding},"
        f"recved={statistics.received},sent={statistics.sent}"
    )


def _details(server: ZooKeeperServer, connection: ClientConnection) -> str:
    if not connection.session:
        return ""
    statistics: ServerStatistics = connection.statistics
    last = connection.last_answered
    clock = server.process.clock
    ahead = clock.wall() - server.simulator.now
    since_boot = clock.monotonic() - server.simulator.now
    parts = [f",sid=0x{unsigned(connection.session):x},lop={_name(last.type) if last else 'NA'}"]
    parts.append(f",est={(connection.opened + ahead) // MILLISECOND},to={connection.timeout}")
    if last is None:
        parts.append(",lzxid=0xffffffffffffffff,lresp=0,llat=0")
    else:
        if last.cxid >= 0:
            parts.append(f",lcxid=0x{last.cxid:x}")
        parts.append(f",lzxid=0x{unsigned(connection.last_zxid):x}")
        parts.append(f",lresp={(connection.last_time + since_boot) // MILLISECOND}")
        parts.append(f",llat={(connection.last_time - last.arrived) // MILLISECOND}")
    average = int(statistics.average)
    parts.append(f",minlat={statistics.shortest},avglat={average},maxlat={statistics.longest}")
    return "".join(parts)


def _name(kind: int) -> str:
    return NAMES.get(kind, "NA")


def _mntr(server: ZooKeeperServer) -> str:
    assert server.role is not None
    statistics = server.statistics
    tree = server.database.tree
    values: dict[str, object] = {
        "version": VERSION,
        "server_state": server.mode,
        "avg_latency": statistics.average,
        "min_latency": statistics.shortest,
        "max_latency": statistics.longest,
        "packets_received": statistics.received,
        "packets_sent": statistics.sent,
        "num_alive_connections": len(server.connections),
        "outstanding_requests": server.in_process,
        "znode_count": len(tree.nodes),
        "watch_count": server.watches.count(),
        "ephemerals_count": tree.ephemerals_count(),
        "approximate_data_size": tree.approximate_data_size(),
        "global_sessions": len(server.database.sessions),
        **server.role.statistics(),
    }
    return "".join(f"zk_{name}\t{value}\n" for name, value in values.items())


def _dump(server: ZooKeeperServer) -> str:
    assert server.role is not None
    lines = ["SessionTracker dump:\n", server.role.sessions.dump(), "ephemeral nodes dump:\n"]
    ephemerals = {s: list(paths) for s, paths in server.database.tree.ephemerals.items() if paths}
    lines.append(f"Sessions with Ephemerals ({len(ephemerals)}):\n")
    for session, paths in ephemerals.items():
        lines.append(f"0x{unsigned(session):x}:\n")
        lines += [f"\t{path}\n" for path in paths]
    buckets = server.idle.buckets()
    count = sum(len(members) for _, members in buckets)
    lines.append(f"Connections dump:\nConnections Sets ({len(buckets)})/({count}):\n")
    ahead = server.process.clock.wall() - server.process.clock.monotonic()
    for time, members in buckets:
        moment = java_date(time * MILLISECOND + ahead)
        lines.append(f"{len(members)} expire at {moment}:\n")
        for connection in members:
            host, port = connection.transport.remote
            lines.append(f"\tip: /{host}:{port} sessionId: 0x{unsigned(connection.session):x}\n")
    return "".join(lines)


def _wchs(server: ZooKeeperServer) -> str:
    connections, paths, watches = server.watches.data_summary()
    return f"{connections} connections watching {paths} paths\nTotal watches:{watches}\n"


def _wchc(server: ZooKeeperServer) -> str:
    lines = []
    for connection in server.connections:
        paths = server.watches.data.by_watcher.get(connection)
        if paths:
            lines.append(f"0x{unsigned(connection.session):x}\n")
            lines += [f"\t{path}\n" for path in paths]
    return "".join(lines) + "\n"


def _wchp(server: ZooKeeperServer) -> str:
    watching: dict[str, list[int]] = {}
    for connection in server.connections:
        for path in server.watches.data.by_watcher.get(connection, ()):
            watching.setdefault(path, []).append(connection.session)
    lines = []
    for path, sessions in watching.items():
        lines.append(f"{path}\n")
        lines += [f"\t0x{unsigned(session):x}\n" for session in sessions]
    return "".join(lines) + "\n"


def _crst(server: ZooKeeperServer) -> str:
    for connection in server.connections:
        connection.statistics = ServerStatistics()
        connection.last_answered = None
    return "Connection stats reset.\n"


def _srst(server: ZooKeeperServer) -> str:
    server.statistics = ServerStatistics()
    return "Server stats reset.\n"


def _conf(server: ZooKeeperServer) -> str:
    settings = server.settings
    values: dict[str, object] = {
        "clientPort": server.client_port,
        "tickTime": settings.tick_time,
        "maxClientCnxns": settings.max_client_connections,
        "minSessionTimeout": settings.shortest_session,
        "maxSessionTimeout": settings.longest_session,
        "serverId": settings.server_id if settings.members else 0,
    }
    if settings.members:
        values |= {"initLimit": settings.init_limit, "syncLimit": settings.sync_limit}
    return "".join(f"{name}={value}\n" for name, value in values.items())


def _envi(server: ZooKeeperServer) -> str:
    """A simulated machine has no Java: values that describe it are empty."""
    values = {
        "zookeeper.version": VERSION,
        "host.name": server.settings.host,
        **{f"java.{name}": "" for name in ("version", "vendor", "home", "class.path")},
        **{f"java.{name}": "" for name in ("library.path", "io.tmpdir", "compiler")},
        **{f"os.{name}": "" for name in ("name", "arch", "version")},
        **{f"user.{name}": "" for name in ("name", "home", "dir")},
        **{f"os.memory.{name}": "" for name in ("free", "max", "total")},
    }
    return "Environment:\n" + "".join(f"{name}={value}\n" for name, value in values.items())


_COMMANDS: dict[str, Callable[[ZooKeeperServer], str]] = {
    "conf": _conf,
    "cons": _cons,
    "crst": _crst,
    "dump": _dump,
    "envi": _envi,
    "isro": _isro,
    "mntr": _mntr,
    "ruok": _ruok,
    "srst": _srst,
    "srvr": _srvr,
    "stat": _stat,
    "wchc": _wchc,
    "wchp": _wchp,
    "wchs": _wchs,
}

_REFUSED: Final = ("dirs", "gtmk", "hash", "stmk")
"""Words about the Java process and its files. They are refused even if they are whitelisted."""

WORDS: Final = {word.encode(): partial(answer, word) for word in (*_COMMANDS, *_REFUSED)}
"""Each word that a connection may begin with, and the function that answers it."""
