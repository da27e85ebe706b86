"""The fixture in a pytest of its own, as users load it."""

import subprocess
import sys

import pytest

TESTS = """
import pytest
from kazoo.client import KazooClient

def test_three_servers(zookeeper):
    client = KazooClient(zookeeper.hosts)
    client.start(20)
    client.create("/a")
    client.stop()
    client.close()
    assert list(zookeeper.dump().znodes) == ["/a"]

@pytest.mark.zookeeper(nodes=1)
def test_each_test_has_servers_of_its_own(zookeeper):
    assert zookeeper.nodes == ("n1",)
    assert not zookeeper.dump().znodes

@pytest.mark.zookeeper(nodes=12)
def test_arguments_are_checked(zookeeper):
    pass

def test_mistakes_are_told_without_the_insides(zookeeper):
    zookeeper.kill("n4")
"""


@pytest.fixture
def outcome(tmp_path):
    """Run the tests above: what pytest says."""
    (tmp_path / "test_application.py").write_text(TESTS)

    def run(*options):
        words = [sys.executable, "-m", "pytest", "-p", "rumpus.pytest_plugin", "--strict-markers"]
        done = subprocess.run(
            [*words, "-p", "no:cacheprovider", "-W", "error", *options, "test_application.py"],
            check=False,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return done.stdout

    return run


def test_each_test_gets_the_servers_that_its_marker_asks_for(outcome):
    said = outcome("-q")
    assert "1 failed, 2 passed, 1 error" in said
    assert "nodes: 12 is not from 1 to 9" in said
    assert "no server is called 'n4'; there are n1, n2, n3" in said
    assert "zookeeper.py" not in said


def test_the_option_decides_where_the_servers_run(outcome, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    said = outcome("-q", "--rumpus-ensemble", "docker", "-k", "three_servers")
    assert "1 error" in said
    assert "docker" in said.lower()
