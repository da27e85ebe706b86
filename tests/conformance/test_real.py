"""All checks hold of the real server: they say what it does, not what we would like."""

import os

import pytest

from rumpus.conformance.registry import CHECKS
from rumpus.conformance.visit import Visit
from tests.conformance.checks import PROPERTIES, perform, perform_alone
from tests.conformance.checks_ensemble import GENTLE
from tests.conformance.docker_deployment import DockerDeployment

pytestmark = pytest.mark.docker

FULL = bool(os.environ.get("RUMPUS_FULL_CHECKS"))
TICK_MS = 500

QUICK = {"znode.container.checkIntervalMs": "1000", "preAllocSize": "256"}
"""For those that would wait for the janitor, or copy padding again and again."""


@pytest.fixture(scope="module")
def standalone():
    deployment = DockerDeployment()
    try:
        deployment.start()
        Visit(deployment).await_service()
        yield deployment
    finally:
        deployment.tear_down()


def checks_that_need(needs, without=frozenset()):
    return [
        pytest.param(
            check,
            id=str(check.number),
            marks=pytest.mark.skipif(check.slow and not FULL, reason="set RUMPUS_FULL_CHECKS"),
        )
        for _, check in sorted(CHECKS.items())
        if check.needs == needs and check.number not in without
    ]


@pytest.mark.parametrize("check", checks_that_need("server"))
def test_a_standalone_server(check, standalone):
    perform(check, standalone)


@pytest.mark.parametrize("check", checks_that_need("files"))
def test_files_and_restarts(check):
    quick = QUICK if check.number in (80, 82) else {}
    perform_alone(check, DockerDeployment(properties=PROPERTIES.get(check.number, {}) | quick))


@pytest.fixture(scope="module")
def whole_ensemble():
    deployment = DockerDeployment(3, tick_ms=TICK_MS)
    yield deployment
    deployment.tear_down()


@pytest.mark.parametrize("number", sorted(GENTLE))
def test_an_ensemble_without_faults(number, whole_ensemble):
    perform(CHECKS[number], whole_ensemble)


@pytest.mark.parametrize("check", checks_that_need("ensemble", without=GENTLE))
def test_an_ensemble_under_faults(check):
    perform_alone(check, DockerDeployment(3, tick_ms=TICK_MS))
