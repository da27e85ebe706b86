"""Other versions of ZooKeeper differ from 3.8.0 exactly as it is written down."""

import os

import pytest

from rumpus.checker.servers.tree_digest import DigestedTree
from rumpus.checker.servers.txnlog import parse_log
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
        logs = [content for name, content in deployment.files("n1").items() if "log." in name]
    finally:
        deployment.tear_down()
    assert differing == set(DIFFERENCES[version])
    look_at_logs(logs, version)


def look_at_logs(logs: list[bytes], version: str) -> None:
    """Every transaction can be read; digests are those of the tree, and 3.4 writes none."""
    txns = [txn for log in logs for txn in parse_log(log).txns]
    assert len(txns) > 100
    tree = DigestedTree()
    for txn in txns:
        tree.apply(txn)
        if version.startswith("3.4."):
            assert txn.digest is None
        else:
            assert txn.digest in {None, tree.digest}
    assert version.startswith("3.4.") or sum(txn.digest is not None for txn in txns) > 100
