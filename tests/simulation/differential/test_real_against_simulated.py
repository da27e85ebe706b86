"""The simulated server answers random operations exactly as the real one does.

With ``RUMPUS_FULL_CHECKS`` more than 20,000 requests, otherwise some 1,100; each seed on fresh
servers.
"""

import os

import pytest

from rumpus.harness.zookeeper_versions import DEBIAN_RELEASES, USUAL_VERSION
from tests.conformance.docker_deployment import DockerDeployment
from tests.conformance.simulated_deployment import SimulatedDeployment
from tests.simulation.differential.comparison import compare, shrink
from tests.simulation.differential.steps import Generator
from tests.simulation.differential.versions import alike

FULL = bool(os.environ.get("RUMPUS_FULL_CHECKS"))
SEEDS = range(1, 37 if FULL else 3)
STEPS = 500
"""A batch counts once; with its parts it comes to some 590 requests a seed."""

PROPERTIES = {"znode.container.checkIntervalMs": "3600000", "preAllocSize": "256"}
"""No janitor: when it comes depends on how fast a server is."""


def real():
    return DockerDeployment(properties=PROPERTIES)


def simulated():
    return SimulatedDeployment(properties=PROPERTIES)


@pytest.mark.docker
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", SEEDS)
def test_they_answer_alike(seed):
    steps = Generator(seed, restarts=0.002).steps(STEPS)
    found = compare(steps, real, simulated)
    if found is not None:
        smallest = shrink(found, lambda fewer: compare(fewer, real, simulated), tries=40)
        pytest.fail(str(smallest), pytrace=False)


@pytest.mark.docker
@pytest.mark.skipif(not FULL, reason="set RUMPUS_FULL_CHECKS")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", sorted(set(DEBIAN_RELEASES) - {USUAL_VERSION}))
@pytest.mark.parametrize("seed", range(1, 5))
def test_other_versions_answer_alike_what_is_not_known_to_differ(seed, version):
    steps = alike(Generator(seed, restarts=0.002).steps(STEPS), version)

    def other():
        return DockerDeployment(properties=PROPERTIES, version=version)

    found = compare(steps, other, simulated)
    assert found is None, str(found)


@pytest.mark.docker
@pytest.mark.skipif(not FULL, reason="set RUMPUS_FULL_CHECKS")
def test_the_real_server_answers_itself_alike():
    steps = Generator(0, restarts=0.002).steps(STEPS)
    assert compare(steps, real, real) is None
