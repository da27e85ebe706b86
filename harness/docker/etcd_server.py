"""etcd servers in containers."""

import json
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import PurePosixPath
from typing import ClassVar

from rumpus.checker.servers.lease_log import leases_of_etcd
from rumpus.harness.docker.server_kind import Addresses, Answer, LeaseLog, System

CLIENT_PORT, PEER_PORT = 2379, 2380
_PATIENCE_S = 1.0


class EtcdServer:
    """See ``harness.docker.server_kind.ServerKind``.

    Args:
        tick_ms: the interval of the leader's heartbeats; followers elect after five times that.
    """

    image = "etcd"
    ports: ClassVar[Mapping[str, int]] = {"": CLIENT_PORT}
    elects = True
    clock_command = ""
    lease_log = LeaseLog("data/events.log", leases_of_etcd, everywhere=True)

    def __init__(self, tick_ms: int) -> None:
        self._heartbeat_ms = tick_ms // 5
        self._election_ms = tick_ms

    def environment(self, names: Sequence[str], name: str) -> dict[str, str]:
        """Etcd's own variables."""
        return {
            "ETCD_NAME": name,
            "ETCD_DATA_DIR": "/data/etcd",
            "ETCD_LISTEN_PEER_URLS": f"http://0.0.0.0:{PEER_PORT}",
            "ETCD_LISTEN_CLIENT_URLS": f"http://0.0.0.0:{CLIENT_PORT}",
            "ETCD_INITIAL_ADVERTISE_PEER_URLS": f"http://{name}:{PEER_PORT}",
            "ETCD_ADVERTISE_CLIENT_URLS": f"http://{name}:{CLIENT_PORT}",
            "ETCD_INITIAL_CLUSTER": ",".join(f"{node}=http://{node}:{PEER_PORT}" for node in names),
            "ETCD_INITIAL_CLUSTER_STATE": "new",
            "ETCD_HEARTBEAT_INTERVAL": str(self._heartbeat_ms),
            "ETCD_ELECTION_TIMEOUT": str(self._election_ms),
            "ETCD_LOGGER": "zap",
        }

    def command(self, names: Sequence[str], name: str) -> list[str]:  # noqa: ARG002 - none
        """None: all is in the environment."""
        return []

    def wall_clock(self, addresses: Addresses) -> None:
        """None: it is the host's."""

    def ask(self, addresses: Addresses) -> Answer | None:
        """By the status of the member, through etcd's JSON gateway; its rank is the Raft term."""
        host, port = addresses[0]
        connection = HTTPConnection(host, port, timeout=_PATIENCE_S)
        try:
            connection.request("POST", "/v3/maintenance/status", body="{}")
            said = json.loads(connection.getresponse().read())
        except (OSError, HTTPException, ValueError):
            return None  # the server is dead, paused or cut off
        finally:
            connection.close()
        leader = said.get("leader", "0")
        if leader == "0":
            return Answer(serves=False)
        return Answer(True, leader == said["header"]["member_id"], int(said.get("raftTerm", 0)))

    def statistics(self, addresses: Addresses) -> dict[str, str]:  # noqa: ARG002 - as ServerKind says
        """None are kept."""
        return {}

    def data(self, environment: Mapping[str, str]) -> Mapping[PurePosixPath, str]:  # noqa: ARG002
        """Its log of writes, and the events that it has seen, with times."""
        return {
            PurePosixPath("/data/etcd/member/wal"): "wal",
            PurePosixPath("/data/events.log"): "data",
        }


SYSTEMS = {"etcd": System("a cluster of etcd", 3, EtcdServer)}
