"""docs/upstream/zookeeper: the test of each report fails as the report says, until it is mended."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rumpus

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "upstream" / "zookeeper"
REPORTS = sorted(FOLDER.glob("*.md"))


def test_each_report_has_a_test():
    tests = {f"test_zookeeper_{path.stem.replace('-', '_')}" for path in REPORTS}
    assert tests == {path.stem for path in FOLDER.glob("*.py")}
    assert REPORTS


@pytest.mark.parametrize("ensemble", ["sim", pytest.param("docker", marks=pytest.mark.docker)])
@pytest.mark.parametrize("report", REPORTS, ids=lambda path: path.stem)
def test_it_fails_as_reported(report, ensemble, tmp_path):
    """Simulated servers make the same mistake."""
    name = f"test_zookeeper_{report.stem.replace('-', '_')}.py"
    shutil.copy(FOLDER / name, tmp_path)
    with rumpus.zookeeper(nodes=1, ensemble=ensemble) as zk:
        ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        env = ours | {"ZOOKEEPER_HOSTS": zk.hosts, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        command = [sys.executable, "-m", "pytest", "-q", "--tb=short", name]
        done = subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=60
        )
    assert done.returncode == 1
    (said,) = [
        line for line in report.read_text().splitlines() if line.startswith("E   AssertionError")
    ]
    assert said in done.stdout
