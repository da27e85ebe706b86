"""Real servers are upgraded one after the other, and keep what they hold."""

import os
import uuid

import pytest

from rumpus.checker.servers.txnlog import parse_log
from rumpus.harness.docker.engine import connect
from rumpus.harness.docker.ensemble import DockerEnsemble
from rumpus.harness.docker.leftovers import find_leftovers
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.plan import VERSION, FaultPlan
from rumpus.nemesis.registry import prepare
from rumpus.nemesis.runner import Nemesis
from rumpus.nemesis.targets import Targets

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not os.environ.get("RUMPUS_FULL_CHECKS"), reason="set RUMPUS_FULL_CHECKS"),
]


def test_to_3_9_and_back(make_world, tmp_path):
    world = make_world()
    ensemble = DockerEnsemble(f"tests-{uuid.uuid4().hex[:8]}")
    entries = [
        Entry(
            id=number,
            at=number,
            kind="rolling-upgrade",
            targets=Targets(role="all"),
            duration=0.1,
            options={"to": version},
        )
        for number, version in ((1, "3.9"), (2, "3.8"))
    ]
    prepare(entries, ensemble)
    try:
        ensemble.start()
        nemesis = Nemesis(
            FaultPlan(version=VERSION, entries=tuple(entries)),
            ensemble,
            world.links,
            world.clients,
            world.lock,
            seed=0,
        )
        with pytest.raises(RuntimeError, match="n1 is running: only a dead server"):
            ensemble.upgrade("n1", "3.9.6")
        for number, version in ((1, "3.9.6"), (2, "3.8.0")):
            last = ensemble.leader()
            started = nemesis.invoke("start", {"id": number})
            assert started["verified"], started["detail"]
            assert {ensemble.version(node) for node in ensemble.nodes} == {version}
            assert ensemble.leader() != last
            assert nemesis.invoke("stop", {"id": number})["verified"]
        ensemble.gather(tmp_path)
    finally:
        ensemble.tear_down()
    for node in ensemble.nodes:
        printed = (tmp_path / node / "node.log").read_text()
        versions = [line.partition("zookeeper.version=")[2] for line in printed.splitlines()]
        told = [version[:5] for version in versions if version]
        assert list(dict.fromkeys(told)) == ["3.8.0", "3.9.6"]
        assert told[-1] == "3.8.0"
        for log in (tmp_path / node / "version-2").glob("log.*"):
            parse_log(log.read_bytes(), log.name)
    assert not [each for each in find_leftovers(connect(), everything=True)
                if each.run_id == ensemble.run_id]  # fmt: skip
