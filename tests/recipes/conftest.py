"""Each test of a crowd runs twice: with real servers, and in a simulated world."""

import uuid

import pytest

from rumpus.harness.links.link_process import ProcessLinks
from tests.recipes.crowd import CLIENTS, Crowd
from tests.recipes.crowd import eventually as wait
from tests.recipes.simulated_crowd import play


@pytest.fixture(scope="module", params=[pytest.param("docker", marks=pytest.mark.docker), "sim"])
def world(request):
    """Where the test is played: with real servers and clocks, or simulated ones."""
    return request.param


@pytest.fixture(scope="module")
def links(world, peaceful_ensemble):  # noqa: ARG001 - every test of a crowd is to run in both
    servers = {node: peaceful_ensemble.client_address(node) for node in peaceful_ensemble.nodes}
    with ProcessLinks(servers, CLIENTS) as running:
        yield running


@pytest.fixture
def crowd(peaceful_ensemble, links):
    addresses = map(peaceful_ensemble.client_address, peaceful_ensemble.nodes)
    crowd = Crowd(",".join(f"{host}:{port}" for host, port in addresses), links)
    yield crowd
    crowd.close()


@pytest.fixture
def path():
    return f"/recipes-{uuid.uuid4().hex[:8]}/contest"


@pytest.fixture(scope="session")
def eventually():
    return wait


def _is_simulated(item):
    return hasattr(item, "callspec") and item.callspec.params.get("world") == "sim"


def pytest_itemcollected(item):
    if _is_simulated(item):
        item.fixturenames = []  # they are made in the simulated world


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if not _is_simulated(pyfuncitem):
        return None
    given = {name: v for name, v in pyfuncitem.callspec.params.items() if name != "world"}
    play(pyfuncitem.module.__name__, pyfuncitem.originalname, given)
    return True
