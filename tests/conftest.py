"""What tests of several packages need: servers, simulated runs, and waiting for a condition."""

import functools
import os
import signal
import sys
import time
from contextlib import closing, contextmanager
from queue import SimpleQueue

import pytest

from rumpus.harness.docker.engine import connect
from rumpus.harness.docker.ensemble import DockerEnsemble
from rumpus.harness.ensemble import EnvironmentRefusal, serving
from rumpus.simulation.kernel.simulator import Simulator
from rumpus.simulation.network.network import Network
from rumpus.simulation.real_sockets import LOOPBACK, serve_in_thread
from rumpus.simulation.zookeeper.cluster import Cluster
from tests.harness.simulated_runs import SimulatedRuns
from tests.own_modules import forget_modules
from tests.processor_time import ProcessorTime
from tests.sampling import fewer_examples, take_sample, turn


@functools.cache
def why_no_docker():
    try:
        connect().close()
    except EnvironmentRefusal as refusal:
        return str(refusal)
    return None


@pytest.hookimpl(trylast=True)  # after Hypothesis has loaded its profile
def pytest_configure(config):
    fewer_examples()
    config.pluginmanager.register(ProcessorTime())
    # Signals do what they do in a shell: jobs in the background may ignore them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_report_header():
    return f"sample: RUMPUS_SAMPLE={turn()} (tests/sampling.py)"


def pytest_collection_modifyitems(config, items):
    """Put tests on real servers first, which take longest, and the many short ones last."""
    take_sample(config, items)
    items.sort(key=lambda item: (not _is_on_docker(item), "checker" in item.path.parts))


def _is_on_docker(item):
    return item.get_closest_marker("docker") is not None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from tests.distribution import Distribution  # noqa: PLC0415 - only where there is xdist

    return Distribution(config, log)


@pytest.fixture(autouse=True)
def _own_state(monkeypatch, tmp_path_factory, request):
    """What a test trusts, no other test does, and nobody outside of the tests."""
    home = tmp_path_factory.getbasetemp() / "state" / f"{hash(request.node.nodeid):x}"
    monkeypatch.setenv("XDG_STATE_HOME", str(home))


@pytest.fixture(autouse=True)
def _own_modules(monkeypatch, tmp_path_factory):
    """What a test imports from its own directories, no other test finds under the same name."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = len(sys.modules)
    yield
    if len(sys.modules) != before:
        forget_modules(tmp_path_factory.getbasetemp())


def pytest_runtest_setup(item):
    if not _is_on_docker(item) or why_no_docker() is None:
        return
    if os.environ.get("RUMPUS_REQUIRE_DOCKER") == "1":
        pytest.fail(f"RUMPUS_REQUIRE_DOCKER is set, but: {why_no_docker()}", pytrace=False)
    pytest.skip(why_no_docker())


@pytest.fixture(scope="session")
def eventually():
    """Wait until a condition holds, and give what it returned."""

    def wait(condition, *, within=120.0):
        deadline = time.monotonic() + within
        while not (held := condition()):
            assert time.monotonic() < deadline, f"not within {within:.0f} s"
            time.sleep(0.05)
        return held

    return wait


@pytest.fixture
def simulate(tmp_path):
    """Performs simulated runs; calls are those of ``SimulatedRuns``."""
    return SimulatedRuns(tmp_path)


@pytest.fixture
def file(tmp_path):
    """Writes a history, in whatever format, as text or bytes, and gives its path."""

    def write(content, name="history.edn"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


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


def mended(ensemble, eventually):
    """The ensemble, when all servers serve again, whatever was done to it."""
    if ensemble.grudge():
        ensemble.heal()
    for node in ensemble.nodes:
        ensemble.resume(node)
        ensemble.restart(node)
    eventually(lambda: serving(ensemble) == list(ensemble.nodes) and ensemble.leader())
    return ensemble


@pytest.fixture
def ensemble(session_ensemble, eventually):
    """Three real servers, whole and serving; what a test breaks is mended for the next one."""
    return mended(session_ensemble, eventually)


@pytest.fixture(scope="module")
def peaceful_ensemble(session_ensemble, eventually):
    """The same for a module whose tests break no servers: looked at once, which takes a while."""
    return mended(session_ensemble, eventually)


@contextmanager
def simulated_servers(eventually):
    """Three simulated servers on real sockets, all serving; where clients reach each of them."""
    clusters = []

    def build():
        simulator = Simulator(1)
        network = Network(simulator)
        cluster = Cluster(simulator, network, 3, tick_time=500)  # as that of the real ones
        cluster.start()
        clusters.append(cluster)
        return simulator, network, cluster.addresses

    with serve_in_thread(build) as server:
        (cluster,) = clusters

        def all_serve():
            answer = SimpleQueue()
            server.call(lambda: answer.put(all(map(cluster.serves, cluster.nodes))))
            return answer.get(timeout=20)

        eventually(all_serve)
        yield {
            node: (LOOPBACK, port) for node, port in zip(cluster.nodes, server.ports, strict=True)
        }


@pytest.fixture(scope="module", params=[pytest.param("docker", marks=pytest.mark.docker), "sim"])
def module_servers(request, eventually):
    """Three servers for tests that need no more of them than to be their clients.

    Each such test runs twice: with real servers, and with simulated ones, which need no Docker.
    Shape: where clients reach each node, a host and a port.
    """
    if request.param == "docker":
        ensemble = request.getfixturevalue("session_ensemble")
        yield {node: ensemble.client_address(node) for node in ensemble.nodes}
    else:
        with simulated_servers(eventually) as addresses:
            yield addresses


@pytest.fixture
def servers(request, module_servers):
    """The same, all of them serving: what tests of the real ensemble have broken is mended."""
    if request.node.get_closest_marker("docker") is not None:
        request.getfixturevalue("ensemble")
    return module_servers
