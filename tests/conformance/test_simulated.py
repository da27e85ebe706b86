"""All checks hold of the simulated server, in its own time."""

import pytest

from rumpus.conformance.registry import CHECKS
from rumpus.conformance.visit import Visit
from tests.conformance.checks import PROPERTIES, perform, perform_alone
from tests.conformance.simulated_deployment import SimulatedDeployment

TICK_MS = 500


@pytest.fixture(scope="module")
def standalone():
    deployment = SimulatedDeployment()
    deployment.start()
    Visit(deployment).await_service()
    yield deployment
    deployment.tear_down()


def checks_that_need(needs):
    return [
        pytest.param(check, id=str(check.number))
        for _, check in sorted(CHECKS.items())
        if check.needs == needs
    ]


def test_the_numbers_have_no_gaps():
    assert sorted(CHECKS) == list(range(1, len(CHECKS) + 1))


@pytest.mark.parametrize("check", checks_that_need("server"))
def test_a_standalone_server(check, standalone):
    perform(check, standalone)


@pytest.mark.parametrize("check", checks_that_need("files"))
def test_files_and_restarts(check):
    perform_alone(check, SimulatedDeployment(properties=PROPERTIES.get(check.number)))


@pytest.mark.parametrize("check", checks_that_need("ensemble"))
def test_an_ensemble(check):
    perform_alone(check, SimulatedDeployment(3, tick_ms=TICK_MS))
