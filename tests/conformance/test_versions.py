"""Other versions of ZooKeeper differ from 3.8.0 exactly as it is written down."""

import os

import pytest

from rumpus.conformance.registry import CHECKS, Inapplicable
from rumpus.conformance.version_differences import DIFFERENCES
from rumpus.conformance.visit import Visit
from rumpus.harness.zookeeper_versions import DEBIAN_RELEASES, USUAL_VERSION
from tests.conformance.checks import perform
from tests.conformance.docker_deployment import DockerDeployment

FULL = bool(os.environ.get("RUMPUS_FULL_CHECKS"))


def test_every_other_version_has_its_differences_written_down():
    assert set(DIFFERENCES) == set(DEBIAN_RELEASES) - {USUAL_VERSION}
    assert all(CHECKS[n].needs == "server" for known in DIFFERENCES.values() for n in known)


@pytest.mark.docker
@pytest.mark.skipif(not FULL, reason="set RUMPUS_FULL_CHECKS")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", DIFFERENCES)
def test_a_standalone_server_differs_in_these_checks_and_no_others(version):
    deployment = DockerDeployment(version=version)
    differing = set()
    try:
        deployment.start()
        Visit(deployment).await_service()
        for number, check in sorted(CHECKS.items()):
            if check.needs == "server":
                try:
                    perform(check, deployment)
                except AssertionError:
                    differing.add(number)
                except Inapplicable as why:
                    pytest.fail(f"check {number}: {why}")
    finally:
        deployment.tear_down()
    assert differing == set(DIFFERENCES[version])
