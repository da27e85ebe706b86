"""docs/upstream/zookeeper: the test of each report fails as the report says, until it is mended."""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

import rumpus
from rumpus.harness.docker.engine import connect
from rumpus.harness.docker.guard import guarded
from rumpus.harness.docker.image import ensure_node_image
from rumpus.harness.docker.leftovers import labels, remove_run
from tests.sampling import sampled

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "upstream" / "zookeeper"
REPORTS = sorted(FOLDER.glob("*.md"))

STARTS_SERVERS = ("epoch-not-accepted", "sync-taken-for-write")
"""The reports whose tests start their own servers."""
JARS = ("zookeeper", "slf4j-api", "slf4j-log4j12", "log4j-1.2")
MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"


def test_each_report_has_a_test():
    tests = {f"test_zookeeper_{path.stem.replace('-', '_')}" for path in REPORTS}
    assert tests == {path.stem for path in FOLDER.glob("*.py")}
    assert REPORTS


@pytest.mark.parametrize("ensemble", ["sim", pytest.param("docker", marks=pytest.mark.docker)])
def test_requests_after_a_set_acl(ensemble, tmp_path):
    """Simulated servers make the same mistake."""
    with rumpus.zookeeper(nodes=1, ensemble=ensemble) as zk:
        fails_as_reported("set-acl-under-way", tmp_path, {"ZOOKEEPER_HOSTS": zk.hosts})


@pytest.mark.docker
@sampled("report", STARTS_SERVERS, of=2)
def test_servers_of_its_own(report, tmp_path):
    """Each server is a container on the host's network, which the test ends by SIGTERM."""
    run_id = f"upstream-{uuid.uuid4().hex[:8]}"
    with contextlib.closing(connect()) as client, guarded(run_id):
        server = ["docker", "run", "--rm", "--network", "host"]
        server += ["--user", f"{os.getuid()}:{os.getgid()}", "--volume", f"{tmp_path}:{tmp_path}"]
        for label in labels(run_id).items():
            server += ["--label", "=".join(label)]
        jars = ":".join(f"/usr/share/java/{jar}.jar" for jar in JARS)
        server += ["--entrypoint", "java", ensure_node_image(client), "-cp", jars, MAIN]
        variables = {
            "ZOOKEEPER_SERVER": shlex.join(server),
            "PYTEST_ADDOPTS": f"--basetemp={tmp_path}/servers",
        }
        try:
            fails_as_reported(report, tmp_path, variables)
        finally:
            remove_run(client, run_id)


def fails_as_reported(report, place, variables):
    name = f"test_zookeeper_{report.replace('-', '_')}.py"
    shutil.copy(FOLDER / name, place)
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env = ours | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | variables
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", name]
    done = subprocess.run(
        command, cwd=place, env=env, capture_output=True, text=True, check=False, timeout=180
    )
    assert done.returncode == 1, done.stdout
    words = (FOLDER / f"{report}.md").read_text().splitlines()
    (said,) = [line for line in words if line.startswith("E   ")]
    # How many elections there were, and so the epochs, is a matter of the host.
    assert re.search(re.sub(r"\d+", r"\\d+", re.escape(said)), done.stdout), done.stdout
