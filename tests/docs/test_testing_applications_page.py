"""The page on tests of applications: what it prints runs, and its tables miss nothing."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import rumpus
from rumpus.conformance.server_checks import CHECKS
from rumpus.testing.control_server import Control

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "testing-applications.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

SERVICE = """
import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss


class Service:
    def __init__(self, hosts):
        self.client = KazooClient(hosts)
        self.client.start(20)

    def register(self):
        try:
            self.client.create("/me", ephemeral=True)
        except ConnectionLoss:
            assert self.is_registered()

    def is_registered(self):
        return self.client.retry(self.client.exists, "/me") is not None


@pytest.fixture
def service(zookeeper):
    service = Service(zookeeper.hosts)
    yield service
    service.client.stop()
    service.client.close()
"""


def test_the_first_example_runs():
    exec(compile(EXAMPLES[0], "the page", "exec"), {})


def test_the_tests_pass(tmp_path):
    (tmp_path / "conftest.py").write_text(SERVICE)
    (tmp_path / "test_service.py").write_text(EXAMPLES[1])
    words = [sys.executable, "-m", "pytest", "-q", "-p", "rumpus.pytest_plugin", "."]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert "2 passed" in done.stdout, done.stdout


def members():
    return [name for name in vars(rumpus.ZooKeeper) if not name.startswith("_")]


@pytest.mark.parametrize("name", members())
def test_every_member_stands_in_the_table(name):
    assert re.search(rf"^\|.*`{name}[`(]", PAGE, re.MULTILINE)


@pytest.mark.parametrize("kind", ["queries", "actions"])
def test_every_request_stands_in_the_table(kind):
    method = {"queries": "GET", "actions": "POST"}[kind]
    with rumpus.zookeeper(nodes=1) as zk:
        told = set(re.findall(rf"`{method} (/[a-z-]+)`", PAGE))
        assert told - {"/state"} == getattr(Control(zk), kind).keys() - {"/state"}


def test_the_number_of_checks_is_right():
    assert f"{sum(check.needs == 'server' for check in CHECKS.values())} checks" in PAGE
