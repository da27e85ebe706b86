"""docs/upstream/aiozk: each test fails as its report says, and passes with what would mend it."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import rumpus

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "upstream" / "aiozk"
REPORTS = {path.stem: path.read_text() for path in sorted(FOLDER.glob("*.md"))}
NEEDS_AIOZK = pytest.mark.skipif(
    find_spec("aiozk") is None, reason="needs an index: examples/pypi/requirements.txt"
)


def test_file(name):
    return FOLDER / f"test_aiozk_{name.replace('-', '_')}.py"


test_file.__test__ = False


def test_each_report_has_a_test():
    assert sorted(map(test_file, REPORTS)) == sorted(FOLDER.glob("*.py"))
    assert REPORTS


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_prints_the_line_that_fails(name):
    file = test_file(name)
    line, printed = re.search(rf"\n{file.name}:(\d+): in \w+\n(.*)\n", REPORTS[name]).groups()
    assert file.read_text().splitlines()[int(line) - 1] == printed


@NEEDS_AIOZK
@pytest.mark.parametrize("name", REPORTS)
def test_a_report_quotes_aiozk_as_it_is(name):
    (file,) = re.findall(r"\n`(aiozk/[\w/]+\.py)`", REPORTS[name])
    (quoted,) = re.findall(r"```python\n(.*?)```", REPORTS[name], re.DOTALL)
    assert quoted in (installed().parent / file).read_text()


@NEEDS_AIOZK
@pytest.mark.parametrize("name", REPORTS)
def test_it_fails_as_reported_and_passes_when_it_is_mended(name, tmp_path):
    shutil.copy(test_file(name), tmp_path)
    shutil.copytree(installed(), tmp_path / "aiozk")
    with rumpus.zookeeper(nodes=1, ensemble="sim") as zk:
        before = run_test(name, tmp_path, zk.hosts)
        (change,) = re.findall(r"```diff\n(.*?)```", REPORTS[name], re.DOTALL)
        subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=change, text=True, check=True)
        after = run_test(name, tmp_path, zk.hosts)

    told = re.findall(r"^E   AssertionError: .*", REPORTS[name], re.MULTILINE)
    assert re.findall(r"^E   AssertionError: .*", before.stdout, re.MULTILINE) == told
    assert before.returncode == 1
    assert after.returncode == 0, after.stdout


def installed():
    return Path(find_spec("aiozk").origin).parent


def run_test(name, folder, hosts):
    """A pytest without our configuration and plugins, by the aiozk of that folder."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    path = os.pathsep.join([str(folder), ours.get("PYTHONPATH", "")])
    env = ours | {"ZOOKEEPER_HOSTS": hosts, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", test_file(name).name]
    return subprocess.run(
        command,
        cwd=folder,
        env={**env, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
