"""The disk of a real server that is full: seen by a try, mended, and gone with the run."""

import uuid
from contextlib import closing

import pytest

from rumpus.harness.docker.engine import connect
from rumpus.harness.docker.ensemble import DockerEnsemble
from rumpus.harness.docker.leftovers import find_leftovers
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.plan import VERSION, FaultPlan
from rumpus.nemesis.registry import prepare
from rumpus.nemesis.runner import Nemesis
from rumpus.nemesis.targets import Targets

pytestmark = pytest.mark.docker


def test_nothing_can_be_written_until_it_is_healed(make_world):
    world = make_world()
    ensemble = DockerEnsemble(f"tests-{uuid.uuid4().hex[:8]}", nodes=1)
    entry = Entry(id=1, at=1, kind="file-full", targets=Targets(names=("n1",)), duration=1)
    prepare([entry], ensemble)
    try:
        ensemble.start()
        nemesis = Nemesis(
            FaultPlan(version=VERSION, entries=(entry,)),
            ensemble,
            world.links,
            world.clients,
            world.lock,
            seed=0,
        )
        assert ensemble.disks.disk_trouble("n1") is None
        started = nemesis.invoke("start", {"id": 1})
        assert (started["verified"], started["detail"]) == (True, "by name; full")
        ensemble.kill("n1")
        assert ensemble.disks.disk_trouble("n1") == "full", "it stays while the server is dead"
        stopped = nemesis.invoke("stop", {"id": 1})
        assert stopped["verified"], stopped["detail"]
        assert ensemble.disks.disk_trouble("n1") is None
        assert nemesis.heal_all()["detail"] == "nothing was broken"
        with pytest.raises(ValueError, match="cannot be slow"):
            ensemble.disks.trouble_disk("n1", "slow")
    finally:
        ensemble.tear_down()
    with closing(connect()) as client:
        left = find_leftovers(client, everything=True)
    assert ensemble.run_id not in {each.run_id for each in left}


def test_other_runs_have_no_disks_that_can_be_filled(ensemble):
    assert {ensemble.disks.disk_trouble(node) for node in ensemble.nodes} == {None}
    ensemble.disks.mend_disk("n1")
