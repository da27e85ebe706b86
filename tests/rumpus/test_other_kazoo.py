"""Runs whose clients have another kazoo than the installed one, from the command line to the files.

The copy's lock has a mistake, so that the verdict tells which kazoo's code has run.
"""

import json
import os
import subprocess
import sys
from importlib.metadata import version

import pytest

from rumpus.trial import TrialFailed, run
from tests.copied_kazoo import NO_QUEUE, copied_kazoo
from tests.rumpus.conftest import latest
from tests.sampling import one_in

INSTALLED = version("kazoo")
SHORT = ["--recipe", "kazoo-bare", "--ensemble", "sim", "--seed", 1, "--nemesis", "none"]
SHORT += ["--time-limit", 1, "--clients", 3, "--preemption", "none"]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def broken(tmp_path):
    return copied_kazoo(tmp_path / "broken", **NO_QUEUE)


def kinds(document):
    return {each["kind"] for each in document["anomalies"] if each["promised"]}


def test_the_clients_run_the_copy_and_every_result_names_its_version(rumpus, broken, runs):
    answer = rumpus("run", "lock", *SHORT, "--kazoo", broken, "--json", "--runs", runs)
    document = json.loads(answer.out)
    assert (answer.code, "split-brain" in kinds(document)) == (1, True)
    assert document["versions"]["kazoo"] == "2.99.1"
    directory = latest(runs)
    record = directory.read_record()
    assert record.versions["kazoo"] == "2.99.1"
    assert record.options["kazoo"] == str(broken)
    assert f"--kazoo {broken}" in record.command_line()
    assert 'name="version.kazoo" value="2.99.1"' in (directory.path / "junit.xml").read_text()
    assert "2.99.1" in directory.report.read_text()
    shown = rumpus("check", directory.path).err
    assert "kazoo 2.99.1" in " ".join(shown.split())


@one_in(2)
def test_runs_with_different_versions_in_one_process_do_not_mix(rumpus, broken, tmp_path):
    good = copied_kazoo(tmp_path / "good", "2.99.2")

    def ran(*words):
        answer = rumpus("run", "lock", *SHORT, *words, "--json", "--runs", tmp_path / "runs")
        document = json.loads(answer.out)
        return answer.code, document["versions"]["kazoo"], document["digest"]

    first = ran()
    assert first[:2] == (0, INSTALLED)
    assert ran("--kazoo", broken)[:2] == (1, "2.99.1")
    other = ran("--kazoo", good)
    assert other[:2] == (0, "2.99.2")
    assert ran("--kazoo", broken)[:2] == (1, "2.99.1")
    assert ran("--kazoo", good) == other
    assert ran() == first


IMPORTS = "from kazoo.exceptions import OwnError\nfrom kazoo.protocol.states import OwnState\n\n"
OWN_ERRORS_AND_STATES = {
    "exceptions": (
        "class KazooException(",
        "class OwnError(Exception):\n    pass\n\nclass KazooException(",
    ),
    "protocol__states": ("class KazooState(", "class OwnState:\n    pass\n\nclass KazooState("),
    "client": (
        "class KazooClient(",
        f"{IMPORTS}class KazooClient(",
    ),
}


def test_errors_and_states_are_those_of_the_clients_own_kazoo(rumpus, tmp_path, runs):
    """Recipes catch kazoo's errors: those of another copy would escape, and end sessions."""
    copy = copied_kazoo(tmp_path / "copy", **OWN_ERRORS_AND_STATES)
    words = ["--seed", 2, "--time-limit", 6, "--nemesis", "client-partition,client-kill"]
    answer = rumpus(
        "run", "lock", *SHORT, *words, "--recipe", "fair", "--kazoo", copy, "--json", "--runs", runs
    )
    assert answer.code == 0, answer
    logs = "".join(log.read_text() for log in latest(runs).clients.glob("c*.log"))
    assert "failed" not in logs
    assert "Traceback" not in logs


@pytest.mark.parametrize(
    ("file", "source", "told"),
    [
        ("client.py", "async = 1\n", "cannot import this kazoo (SyntaxError: invalid syntax"),
        ("client.py", "import unheard_of\n", "install unheard_of where rumpus is installed"),
        ("recipe/cache.py", "", "cannot import what runs with kazoo 2.99.1 (ImportError: cannot"),
    ],
)
def test_what_cannot_run_is_refused_with_the_reason(rumpus, broken, runs, file, source, told):
    (broken / "kazoo" / file).write_text(source)
    words = ["--ensemble", "sim", "--recipe", "kazoo-tree-cache", "--kazoo", broken, "--runs", runs]
    answer = rumpus("run", "view", *words)
    assert answer.code == 2
    said = " ".join(answer.err.split())
    assert f"view / kazoo-tree-cache cannot run with --kazoo {broken}: Python 3." in said
    assert told in said
    assert not runs.exists()


def test_a_directory_without_kazoo_is_refused(rumpus, tmp_path, runs):
    answer = rumpus("run", "lock", *SHORT, "--kazoo", tmp_path, "--runs", runs)
    assert answer.code == 2
    assert "nor a directory with the package kazoo in it" in " ".join(answer.err.split())


def test_a_trial_takes_a_directory_and_tells_the_version(broken, tmp_path):
    result = run(
        "lock", "kazoo-bare", kazoo=broken, nemesis=[], time_limit=1, runs=tmp_path / "runs"
    )
    assert (result.valid, result.versions["kazoo"]) == (False, "2.99.1")
    assert f"--kazoo {broken}" in result.command
    with pytest.raises(TrialFailed, match=r"versions: kazoo 2\.99\.1, "):
        result.assert_valid()


TEST = """
def test_lock(rumpus):
    result = rumpus.run("lock", "kazoo-bare", nemesis=[], time_limit=1)
    assert result.outcome == "violation"
"""


@one_in(2)
def test_the_pytest_plugin_takes_it_from_the_command_line(broken, tmp_path):
    (tmp_path / "test_it.py").write_text(TEST)
    words = ["-p", "rumpus.pytest_plugin", "-p", "no:cacheprovider", "--rumpus-kazoo", str(broken)]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *words, "--junitxml", "junit.xml", "test_it.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout
    assert 'name="rumpus_kazoo" value="2.99.1"' in (tmp_path / "junit.xml").read_text()


LEFT_NODES = ["election", "--recipe", "kazoo", "--ensemble", "sim", "--seed", 1, "--time-limit", 15]


@pytest.mark.skipif("RUMPUS_FULL_CHECKS" not in os.environ, reason="needs an index: make test-full")
@pytest.mark.parametrize(
    ("asked", "code", "broken"),
    [("2.6.1", 1, {"orphan-node", "leaderless"}), ("2.7.0", 0, set())],
)
def test_a_flaw_that_went_with_a_version(rumpus, runs, asked, code, broken):
    """docs/track-record/findings.md tells of it."""
    answer = rumpus("run", *LEFT_NODES, "--kazoo", asked, "--json", "--runs", runs)
    if "pip cannot install" in answer.err:
        pytest.skip(answer.err)
    document = json.loads(answer.out)
    assert (answer.code, kinds(document)) == (code, broken)
    assert document["versions"]["kazoo"] == asked
