"""ZooKeeper servers in containers, configured as the official ``zookeeper`` image is."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import ClassVar

from rumpus.harness import srvr
from rumpus.harness.docker.server_kind import Addresses, Answer, System

CLIENT_PORT = 2181
DATA = "/data"
"""Where images of ZooKeeper have snapshots and epochs, if nobody says another place."""
LOGS = "/datalog"
"""Where images of ZooKeeper have their transaction logs, if nobody says another place."""

JVM_FLAGS = (
    # Small servers that are up quickly.
    "-Xms32m -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData "
    # Transaction logs grow by 256 KB instead of 64 MB at a time: each run's logs are copied.
    "-Dzookeeper.preAllocSize=256"
)
WHERE_TESTED = "-Dzookeeper.extendedTypesEnabled=true -Dznode.container.checkIntervalMs=1000"
"""Flags of servers that are tested themselves: znodes with a time to live can be made, and what
servers remove by themselves goes within a second, not a minute."""
FOUR_LETTER_WORDS = "srvr,ruok,mntr,stat,cons,dump,wchs,isro,conf"


class ZooKeeperServer:
    """See ``harness.docker.server_kind.ServerKind``.

    Args:
        tick_ms: ``tickTime`` in milliseconds; a leader gives up a follower after 5 ticks, session
            timeouts can be between 2 and 20 ticks.
    """

    image = "zookeeper"
    ports: ClassVar[Mapping[str, int]] = {"": CLIENT_PORT}
    elects = True
    clock_command = ""
    lease_log = None

    def __init__(self, tick_ms: int) -> None:
        self._tick_ms = tick_ms

    def environment(self, names: Sequence[str], name: str) -> dict[str, str]:
        """The variables of the official image."""
        servers = (
            f"server.{server_id}={node}:2888:3888;{CLIENT_PORT}"
            for server_id, node in enumerate(names, start=1)
        )
        return {
            "ZOO_MY_ID": str(names.index(name) + 1),
            "ZOO_SERVERS": " ".join(servers),
            "ZOO_TICK_TIME": str(self._tick_ms),
            "ZOO_INIT_LIMIT": "10",
            "ZOO_SYNC_LIMIT": "5",
            "ZOO_MAX_CLIENT_CNXNS": "0",
            "ZOO_4LW_COMMANDS_WHITELIST": FOUR_LETTER_WORDS,
            "ZOO_STANDALONE_ENABLED": str(len(names) == 1).lower(),
            "ZOO_ADMINSERVER_ENABLED": "false",
            # In an election a server connects to its peers one after the other. The default
            # timeout of 5 s is ten ticks: for so long one cut-off peer would delay an election.
            "JVMFLAGS": f"{JVM_FLAGS} -Dzookeeper.cnxTimeout={2 * self._tick_ms}",
        }

    def command(self, names: Sequence[str], name: str) -> list[str]:  # noqa: ARG002 - the image's
        """The image's own."""
        return []

    def wall_clock(self, addresses: Addresses) -> None:
        """None: it is the host's."""

    def ask(self, addresses: Addresses) -> Answer | None:
        """By ``srvr``; a leader's rank is the last zxid that it has applied."""
        found = srvr.ask(addresses[0])
        if found is None:
            return None
        leads = found.mode in ("leader", "standalone")
        return Answer(found.mode != "read-only", leads, found.zxid)

    def statistics(self, addresses: Addresses) -> dict[str, str]:
        """``mntr.txt``: the answer to the four-letter word."""
        answer = srvr.answer_to("mntr", addresses[0])
        return {} if answer is None else {"mntr.txt": answer}

    def data(self, environment: Mapping[str, str]) -> Mapping[PurePosixPath, str]:
        """Logs and snapshots, in one folder. Their places have variables in the official image."""
        places = {
            environment.get("ZOO_DATA_DIR") or DATA,
            environment.get("ZOO_DATA_LOG_DIR") or LOGS,
        }
        return {PurePosixPath(place) / "version-2": "version-2" for place in sorted(places)}


SYSTEMS = {"zookeeper": System("an ensemble of ZooKeeper", 3, ZooKeeperServer)}
