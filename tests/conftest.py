"""What tests of several packages need: real servers, and waiting for them."""

import functools
import os
import time
from contextlib import closing

import pytest

from harness.docker_engine import connect
from harness.docker_ensemble import DockerEnsemble
from harness.ensemble import EnvironmentRefusal, serving


@functools.cache
def why_no_docker():
    try:
        connect().close()
    except EnvironmentRefusal as refusal:
        return str(refusal)
    return None


def pytest_runtest_setup(item):
    if item.get_closest_marker("docker") is None or why_no_docker() is None:
        return
    if os.environ.get("RUMPUS_REQUIRE_DOCKER") == "1":
        pytest.fail(f"RUMPUS_REQUIRE_DOCKER is set, but: {why_no_docker()}", pytrace=False)
    pytest.skip(why_no_docker())


@pytest.fixture(scope="session")
def eventually():
    """Wait until a condition holds, and give what it returned."""

    def wait(condition, *, within=60.0):
        deadline = time.monotonic() + within
        while not (held := condition()):
            assert time.monotonic() < deadline, f"not within {within:.0f} s"
            time.sleep(0.05)
        return held

    return wait


@pytest.fixture
def engine():
    with closing(connect()) as client:
        yield client


@pytest.fixture(scope="session")
def session_ensemble():
    ensemble = DockerEnsemble(f"tests-{os.getpid()}")
    ensemble.start()
    try:
        yield ensemble
    finally:
        ensemble.tear_down()


@pytest.fixture
def ensemble(session_ensemble, eventually):
    """Three real servers, whole and serving; what a test breaks is mended for the next one."""
    if session_ensemble.grudge():
        session_ensemble.heal()
    for node in session_ensemble.nodes:
        session_ensemble.resume(node)
        session_ensemble.restart(node)
    eventually(
        lambda: (
            serving(session_ensemble) == list(session_ensemble.nodes) and session_ensemble.leader()
        )
    )
    return session_ensemble
