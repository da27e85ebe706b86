"""What a run says of its servers."""

import pytest

from rumpus.checker.wire.settings import ServerSettings
from rumpus.harness.docker.zookeeper_server import WHERE_TESTED, ZooKeeperServer
from rumpus.harness.simulated.run import REMOVAL_INTERVAL_MS
from rumpus.runs.docker_world import DockerWorld
from rumpus.runs.performing import server_settings
from rumpus.runs.run_settings import RunSettings


@pytest.mark.parametrize(
    ("given", "system", "known"),
    [
        ({}, "zookeeper", True),
        ({"image": "somebody/zookeeper"}, "zookeeper", False),
        ({"image": "rumpus/zookeeper:3.9.3", "zookeeper": "3.9"}, "zookeeper", True),
        ({}, "etcd", False),
    ],
)
def test_the_servers_settings_are_known_where_nobody_else_can_set_them(given, system, known):
    found = server_settings(RunSettings(workload="znode", argv=(), **given), system)
    assert found == (ServerSettings(1_000, 10_000, 0xFFFFF) if known else None)


def test_servers_in_containers_are_told_nothing_else():
    told = ZooKeeperServer(500).environment(["n1"], "n1")
    assert told["ZOO_TICK_TIME"] == "500"
    words = " ".join(f"{name}={value}" for name, value in told.items()).lower()
    for each in ("sessiontimeout", "session_timeout", "maxbuffer", "reconfig", "neverused"):
        assert each not in words


@pytest.mark.parametrize(
    ("probing", "system", "told"),
    [(True, "zookeeper", True), (False, "zookeeper", False), (True, "etcd", False)],
)
def test_servers_remove_soon_where_they_are_tested_themselves(probing, system, told):
    world = DockerWorld(
        "r1", nodes=1, image=None, tick_ms=500, say=print, system=system, probing=probing
    )
    flags = world._ensemble._environment("n1").get("JVMFLAGS", "")
    assert flags.endswith(WHERE_TESTED) == told


def test_simulated_servers_remove_as_soon_as_real_ones():
    assert f"checkIntervalMs={REMOVAL_INTERVAL_MS}" in WHERE_TESTED
