"""The plugin in a pytest of its own, as in somebody else's repository."""

import json
import os
import re
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from rumpus.harness.run_limits import RUN_S
from rumpus.pytest_plugin import _kazoo
from tests.rumpus.campaigns.conftest import DEADLOCK
from tests.sampling import one_in

ROOT = Path(__file__).parents[2]
LOCKS = (Path(__file__).parent / "trials" / "outsiders_locks.py").read_text()
LIMITS = (Path(__file__).parent / "trials" / "limits.py").read_text()


@pytest.fixture
def pytest_in(tmp_path):
    (tmp_path / "mylocks.py").write_text(LOCKS)

    def call(test, *options):
        (tmp_path / "test_mine.py").write_text(textwrap.dedent(test))
        return subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-p", "rumpus.pytest_plugin"),
                *("--rootdir", str(tmp_path), "-p", "no:cacheprovider", *options),
            ],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )

    return call


WRONG = """
    from mylocks import WrongLock

    def test_my_lock(rumpus):
        options = {"seeds": 20, "time_limit": 3, "clients": 3, "session_timeout": 1.0}
        rumpus.run("lock", recipe=WrongLock, nemesis=["client-partition"], **options).assert_valid()
    """


def test_a_failure_shows_the_verdict_and_no_traceback_of_ours(pytest_in, tmp_path):
    done = pytest_in(WRONG, "--junitxml", "junit.xml")
    assert done.returncode == 1
    for part in ("violation: seed", "split-brain", "what happened:", "again:  "):
        assert part in done.stdout
    assert "rumpus run lock --recipe mylocks:WrongLock" in done.stdout
    for part in ("Traceback", "trial.py", "assert_valid"):
        assert part not in done.stdout
    case = ET.parse(tmp_path / "junit.xml").find(".//testcase")
    told = {each.get("name"): each.get("value") for each in case.iter("property")}
    assert told["rumpus_outcome"] == "violation"
    assert told["rumpus_seed"].isdigit()
    assert (tmp_path / told["rumpus_report"]).exists()


@one_in(2)
def test_with_v_lines_tell_where_a_trial_is(pytest_in, tmp_path):
    quick = "from rumpus.testing import trial_watch\n\ntrial_watch.VERBOSE_S = 0.1\n"
    quick += "trial_watch.LOOK_S = 0.02\n"
    (tmp_path / "conftest.py").write_text(quick)
    test = """
        def test_my_lock(rumpus):
            rumpus.run("lock", time_limit=1, clients=2, nemesis=[], seed=0)
        """
    done = pytest_in(test, "-vv")
    assert done.returncode == 0, done.stdout
    assert re.search(r"test_my_lock \nlock(, run 1)?: ", done.stdout)
    assert "\nlock, run 1: " in done.stdout
    assert " of 1 virtual s" in done.stdout
    assert done.stderr == ""


def test_workers_of_xdist_tell_where_their_trials_are(pytest_in, tmp_path):
    quick = "from rumpus.testing import trial_watch\n\ntrial_watch.WORKER_S = 0.1\n"
    (tmp_path / "conftest.py").write_text(f"{quick}trial_watch.LOOK_S = 0.02\n")
    test = """
        def test_my_lock(rumpus):
            rumpus.run("lock", time_limit=1, clients=2, nemesis=[], seed=0)
        """
    done = pytest_in(test, "-v", "-n", "1")
    assert done.returncode == 0, done.stdout
    assert "\n[gw0] lock, run 1: " in done.stderr


@pytest.mark.docker
def test_with_v_lines_tell_what_becomes_of_real_servers(pytest_in, tmp_path):
    quick = "from rumpus.testing import trial_watch\n\ntrial_watch.VERBOSE_S = 0.1\n"
    (tmp_path / "conftest.py").write_text(f"{quick}trial_watch.LOOK_S = 0.02\n")
    test = """
        import pytest

        @pytest.mark.zookeeper(nodes=1, ensemble="docker")
        def test_my_service(zookeeper):
            pass
        """
    done = pytest_in(test, "-vv")
    assert done.returncode == 0, done.stdout
    assert re.search(r"\nzookeeper: +[0-9.]+ s  starting 1 servers\n", done.stdout)
    assert re.search(r"\nzookeeper: +[0-9.]+ s  tearing down\n", done.stdout)


@one_in(2)
def test_properties_make_no_warning(pytest_in, tmp_path):
    test = """
        def test_my_lock(rumpus):
            rumpus.run("lock", time_limit=1, clients=2, nemesis=[], seed=0)
        """
    done = pytest_in(test, "-W", "error", "--junitxml", "junit.xml")
    assert done.returncode == 0, done.stdout
    case = ET.parse(tmp_path / "junit.xml").find(".//testcase")
    assert "rumpus_command" in {each.get("name") for each in case.iter("property")}


@one_in(2)
def test_hazards_are_printed_although_the_test_passes(pytest_in, tmp_path):
    (tmp_path / "mylimits.py").write_text(LIMITS)
    test = """
        from mylimits import HazardousLimits

        def test_my_limiter(rumpus):
            options = {"time_limit": 1, "clients": 4, "nemesis": [], "session_timeout": 1.0}
            rumpus.run(HazardousLimits, "limits-nothing", **options).assert_valid()
        """
    done = pytest_in(test)
    assert done.returncode == 0, done.stdout
    section = done.stdout.partition("rumpus: hazards")[2]
    assert "test_mine.py::test_my_limiter\n  hazard, not promised: over-limit: " in section
    assert "the first: 3 clients were inside" in section


@one_in(2)
def test_the_marker_and_the_command_line_set_options(pytest_in, tmp_path):
    test = """
        import pytest
        from mylocks import MendedLock

        @pytest.mark.rumpus(time_limit=3, session_timeout=1.0, nemesis=["client-pause"], seeds=7)
        def test_my_lock(rumpus):
            result = rumpus.run("lock", recipe=MendedLock)
            result.assert_valid()
            assert [run.seed for run in result.runs] == [5, 6]
            assert "--time-limit 3" in result.command
        """
    done = pytest_in(test, "--rumpus-seeds", "2", "--rumpus-seed", "5", "--strict-markers")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert not (tmp_path / "runs").exists()


def test_what_is_refused_is_one_line(pytest_in):
    test = """
        def test_my_lock(rumpus):
            rumpus.run("lock", recipe=lambda client, path: None)
        """
    done = pytest_in(test)
    assert done.returncode == 1
    assert "is defined inside a function, so clients' processes cannot import it" in done.stdout
    assert "Traceback" not in done.stdout
    assert "references_of_objects.py" not in done.stdout


@one_in(2)
def test_what_the_host_does_not_allow_is_told_by_its_message(pytest_in, monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    (tmp_path / "plan.json").write_text("{}")
    (tmp_path / "full").write_text("a file is in the way")
    test = """
        import pytest
        from mylocks import WrongLock

        def test_in_a_trial(rumpus):
            rumpus.run("lock", recipe=WrongLock, ensemble="docker")

        @pytest.mark.zookeeper(ensemble="docker")
        def test_as_a_fixture(zookeeper):
            pass

        def test_a_plan(rumpus):
            rumpus.run("lock", recipe=WrongLock, plan="plan.json")

        def test_files(rumpus):
            rumpus.run("lock", recipe=WrongLock, runs="full", keep=True, time_limit=1, nemesis=[])
        """
    done = pytest_in(test, "-rN")
    assert "3 failed, 1 error" in done.stdout
    assert done.stdout.count("unix:///nonexistent/docker.sock") == 2
    assert "plan.json: " in done.stdout
    assert "a file stands where a directory is needed" in done.stdout
    for part in ("Traceback", "trial.py", "docker_servers.py", "engine.py", "rumpus.run("):
        assert part not in done.stdout


@one_in(3)
def test_a_lock_in_the_test_module_itself_is_found_in_every_import_mode(pytest_in):
    test = """
        from mylocks import MendedLock

        class Mine(MendedLock):
            pass

        def test_my_lock(rumpus):
            result = rumpus.run("lock", recipe=Mine, time_limit=1, nemesis=[])
            assert result.outcome == "valid", str(result)
        """
    for mode in ("prepend", "importlib"):
        done = pytest_in(test, "--import-mode", mode)
        assert done.returncode == 0, done.stdout


@one_in(2)
def test_cases_are_tests(pytest_in, tmp_path):
    for name, recipe, more in (
        ("fails", "kazoo-bare", {}),
        ("holds", "fair", {}),
        ("known", "kazoo-bare", {"known": True, "upstream": "https://example.org/7"}),
        ("mended", "fair", {"known": True}),
        ("wrong", "none", {}),
    ):
        document = json.loads(DEADLOCK)
        document["settings"]["recipe"] = recipe
        (tmp_path / f"{name}.case.json").write_text(json.dumps({**document, **more}))
    done = pytest_in("", "-rA")
    outcomes = {
        name: word
        for word, name in re.findall(
            r"^(PASSED|FAILED|XFAIL|ERROR) (\w+)\.case\.json", done.stdout, re.MULTILINE
        )
    }
    assert outcomes == {
        "fails": "FAILED",
        "holds": "PASSED",
        "known": "XFAIL",
        "mended": "FAILED",
        "wrong": "FAILED",
    }
    assert "reproduced: deadlock of acquire after pause" in done.stdout
    assert "unknown recipe 'none'" in done.stdout
    assert "https://example.org/7" in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize("known", [False, True])
def test_a_case_that_asks_for_a_huge_run_is_ended(pytest_in, tmp_path, known):
    document = json.loads(DEADLOCK) | {"known": known}
    document["settings"] |= {"recipe": "fair", "time_limit": 600_000}
    (tmp_path / "long.case.json").write_text(json.dumps(document))
    done = pytest_in("", "--rumpus-budget", "2", "-rA")
    assert re.search(r"^FAILED long\.case\.json", done.stdout, re.MULTILINE)
    words = "ended after 2 s: there was no more time for it (--rumpus-budget gives more)"
    assert words in done.stdout
    assert "Traceback" not in done.stdout
    assert "run.py" not in done.stdout


def test_without_the_option_a_case_may_take_as_long_as_when_it_is_replayed(pytest_in, tmp_path):
    (tmp_path / "fast.case.json").write_text(DEADLOCK)
    conftest = """
        from rumpus.campaigns import replaying
        from rumpus.harness.run_limits import longest

        def replay(case, **given):
            raise AssertionError(f"{longest()} s")

        replaying.replay = replay
        """
    (tmp_path / "conftest.py").write_text(textwrap.dedent(conftest))
    assert f"{RUN_S} s" in pytest_in("").stdout
    assert "7.0 s" in pytest_in("", "--rumpus-budget", "7s").stdout


def test_a_trial_without_kazoo_has_no_property_of_it():
    assert _kazoo({"kazoo": "2.10.0"}) == [("rumpus_kazoo", "2.10.0")]
    assert _kazoo({"redis": "5.0"}) == []
