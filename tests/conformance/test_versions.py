"""Other versions of ZooKeeper differ from 3.8.0 exactly as it is written down."""

import os
from typing import Any

import pytest

from rumpus.checker.servers.tree_digest import DigestedTree
from rumpus.checker.servers.txnlog import parse_log
from rumpus.conformance.registry import CHECKS, Check, Inapplicable
from rumpus.conformance.version_differences import DIFFERENCES
from rumpus.conformance.visit import Visit
from rumpus.harness.zookeeper_versions import DEBIAN_RELEASES, USUAL_VERSION
from tests.conformance.checks import PROPERTIES, perform
from tests.conformance.docker_deployment import DockerDeployment

FULL = bool(os.environ.get("RUMPUS_FULL_CHECKS"))


def full(test: Any) -> Any:
    """Mark a test as one of real servers that takes a while."""
    for mark in (
        pytest.mark.docker,
        pytest.mark.skipif(not FULL, reason="set RUMPUS_FULL_CHECKS"),
        pytest.mark.timeout(900),
    ):
        test = mark(test)
    return test


def test_every_other_version_has_its_differences_written_down():
    assert set(DIFFERENCES) == set(DEBIAN_RELEASES) - {USUAL_VERSION}
    assert {number for known in DIFFERENCES.values() for number in known} <= set(CHECKS)


def differs(check: Check, deployment: DockerDeployment) -> bool:
    """Whether a check does not hold of servers."""
    try:
        perform(check, deployment)
    except (AssertionError, LookupError, TypeError):
        # What a check takes for granted may not be there at all.
        return True
    except Inapplicable as why:
        pytest.fail(f"check {check.number}: {why}")
    return False


def quick_checks(needs: str) -> list[Check]:
    return [each for _, each in sorted(CHECKS.items()) if each.needs == needs and not each.slow]


def known(version: str, needs: str) -> set[int]:
    return {number for number in DIFFERENCES[version] if CHECKS[number].needs == needs}


@full
@pytest.mark.parametrize("version", DIFFERENCES)
def test_a_standalone_server_differs_in_these_checks_and_no_others(version):
    deployment = DockerDeployment(version=version)
    try:
        deployment.start()
        Visit(deployment).await_service()
        checks = quick_checks("server")
        differing = {each.number for each in checks if differs(each, deployment)}
        logs = [content for name, content in deployment.files("n1").items() if "log." in name]
    finally:
        deployment.tear_down()
    assert differing == known(version, "server")
    look_at_logs(logs, version)


@full
@pytest.mark.parametrize("version", DIFFERENCES)
def test_files_differ_in_these_checks_and_no_others(version):
    assert differing_alone(version, quick_checks("files"), nodes=1) == known(version, "files")


@full
@pytest.mark.parametrize("version", DIFFERENCES)
def test_an_ensemble_differs_in_these_checks_and_no_others(version):
    checks = quick_checks("ensemble")
    assert differing_alone(version, checks, nodes=3) == known(version, "ensemble")


def differing_alone(version: str, checks: list[Check], nodes: int) -> set[int]:
    """The checks that do not hold of servers, each on servers of its own."""
    differing = set()
    for check in checks:
        properties = PROPERTIES.get(check.number)
        deployment = DockerDeployment(
            nodes, tick_ms=500 if nodes > 1 else 2000, properties=properties, version=version
        )
        try:
            if differs(check, deployment):
                differing.add(check.number)
        finally:
            deployment.tear_down()
    return differing


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
