"""Ensembles, real and simulated, keep their promises under the same faults; a mutant does not."""

import os

import pytest

from rumpus.conformance.visit import Visit
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from tests.conformance.docker_deployment import DockerDeployment
from tests.conformance.promises import FAULTS, try_promises
from tests.conformance.simulated_deployment import SimulatedDeployment

TICK_MS = 500


@pytest.mark.docker
@pytest.mark.skipif("RUMPUS_FULL_CHECKS" not in os.environ, reason="make test-full runs it")
def test_real_servers():
    deployment = DockerDeployment(3, tick_ms=TICK_MS, properties={"preAllocSize": "256"})
    visit = Visit(deployment)
    try:
        writers = try_promises(visit, 0, FAULTS[:3], writes=10)
        assert all(len(writer.acknowledged) > 20 for writer in writers)
        assert any(writer.unknown for writer in writers)
        visit.end()
    finally:
        deployment.tear_down()


def simulated(seed):
    deployment = SimulatedDeployment(3, tick_ms=TICK_MS, seed=seed)
    visit = Visit(deployment)
    try:
        return try_promises(visit, seed, FAULTS, writes=10)
    finally:
        deployment.tear_down()


@pytest.mark.parametrize("seed", range(10))
def test_simulated_servers(seed):
    writers = simulated(seed)
    assert all(len(writer.acknowledged) > 20 for writer in writers)
    assert any(writer.unknown for writer in writers)


def test_servers_that_lose_a_write_are_caught(monkeypatch):
    create = DataTree._create

    def forgetful(self, txn, *arguments):
        error = create(self, txn, *arguments)
        if txn.path == "/b-000007":
            self.nodes.pop(txn.path)
            self.nodes[""].remove_child("b-000007")
        return error

    monkeypatch.setattr(DataTree, "_create", forgetful)
    with pytest.raises(AssertionError, match="lost acknowledged writes \\[7\\] of b"):
        simulated(0)
