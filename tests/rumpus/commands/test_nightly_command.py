"""rumpus nightly, on real simulated runs: first and second nights, and how they end early."""

import contextlib
import json
import signal
import subprocess
import time
from xml.etree import ElementTree as ET

import msgspec
import pytest

from rumpus.nights import night as night_module
from rumpus.nights.memory.store import Store
from rumpus.nights.records import Trouble
from rumpus.results.store_error import StoreError
from rumpus.usage_error import UsageError
from tests.rumpus.campaigns.conftest import DEADLOCK
from tests.sampling import one_in, sampled

SOUND = """
from kazoo.exceptions import LockTimeout
from kazoo.recipe import lock


class Lock(lock.Lock):
    "A lock of this project."
"""
BROKEN = (
    SOUND
    + """
    def acquire(self, timeout=None):
        try:
            return super().acquire(timeout=0.1)
        except LockTimeout:
            return True
"""
)
FILE = """
[canaries]
share = {share}

[owners]
"{module}:Lock" = "@warehouse"

[[jobs]]
workloads = ["lock"]
recipes = ["{module}:Lock"]
kinds = ["usual"]
options = {{ session-timeout = 1, time-limit = 4, nemesis = ["client-pause"] }}
"""


@pytest.fixture
def project(tmp_path, monkeypatch, request):
    """A repository with one lock; returns what writes it, sound or broken."""
    monkeypatch.chdir(tmp_path)
    module = f"lock_{request.node.name.partition('[')[0]}"
    share = 0.1 if "canary" in request.node.name else 0
    (tmp_path / "nightly.toml").write_text(FILE.format(module=module, share=share))

    def write(text):
        (tmp_path / f"{module}.py").write_text(text)
        return tmp_path

    write(SOUND)
    return write


def night(place, name="latest"):
    return json.loads((place / "runs" / "nights" / name / "night.json").read_text())


@one_in(2)
def test_the_canary_of_the_lock_is_found(project, rumpus):
    place = project(SOUND)
    rumpus("nightly", "--budget", "1", "--jobs", "1", "--seed", "1")
    (canary,) = night(place)["canaries"]
    assert canary["name"].endswith("that grants without asking")
    assert (canary["state"], canary["runs"]) == ("found", 1)
    (module,) = (place / "runs" / "nights" / "latest" / "canaries").glob("*.py")
    assert "time.sleep(0.1)" in module.read_text()


def test_the_first_night_is_green(project, rumpus):
    place = project(SOUND)
    answer = rumpus("nightly", "--budget", "1", "--jobs", "1", "--seed", "1")
    assert answer.code == 0, answer
    first, *rest = answer.out.splitlines()
    assert " is green: " in first
    assert any(line.startswith("Ran: ") for line in rest)
    told = night(place)
    junit = ET.parse(place / "runs" / "nights" / "latest" / "junit.xml").getroot()
    assert {suite.get("name") for suite in junit} == {"rumpus.night", "rumpus.night.recipes"}
    assert not junit.findall(".//failure")
    with Store.opened(place / "runs" / "nights.sqlite") as store:
        (row,) = store.nights()
        assert row.headline == first
        assert len(store.runs(row.name)) == len(told["runs"])
    assert rumpus("nights", "--html", "site").code == 0
    page = (place / "site" / "index.html").read_text()
    assert f"<title>✔ {row.name} is green</title>" in page
    assert f"<dt>runs</dt><dd>{told['counts']['runs']:,} " in page


@one_in(2)
def test_a_lock_that_was_broken_since_is_said_first_and_can_be_expected(project, rumpus):
    place = project(SOUND)
    assert rumpus("nightly", "--budget", "1", "--jobs", "1").code == 0
    project(BROKEN)
    answer = rumpus("nightly", "--budget", "5", "--jobs", "2")
    assert answer.code == 1, answer
    first = answer.out.splitlines()[0]
    assert " is BROKEN: " in first
    assert "new failure" in first
    assert "@warehouse" in first
    told = night(place)
    assert told["runs"][0]["outcome"] == "violation", "what has changed comes first"
    failures = told["failures"]
    assert {each["state"] for each in failures} == {"new"}
    for each in failures:
        case = place / "runs" / "nights" / "latest" / each["case"]
        assert rumpus("replay", case).code == 1
        assert each["story"]
    entries = [
        f'[[expected]]\nfailure = "{each["id"]}"\nreason = "known"\nuntil = 2999-01-01\n'
        for each in failures
    ]
    (place / "expected-failures.toml").write_text("\n".join(entries))
    answer = rumpus("nightly", "--budget", "1", "--jobs", "1", "--json")
    again = json.loads(answer.out)
    seen = {each["id"]: each["state"] for each in again["failures"]}
    known = {each["id"] for each in failures}
    assert seen
    assert all(state == ("expected" if name in known else "new") for name, state in seen.items())
    if seen.keys() <= known:
        assert (answer.code, again["counts"]["broken"]) == (0, 0)


def begun(program, place):
    """A night as a process of its own, once it has noted a run."""
    started = program("nightly", "--budget", "60", "--jobs", "2", cwd=place)
    store = place / "runs" / "nights.sqlite"
    end = time.monotonic() + 60
    while time.monotonic() < end:
        time.sleep(0.2)
        # While the night makes its store nobody can read it.
        with contextlib.suppress(StoreError, UsageError), Store.opened(store) as there:
            if any(there.runs(each.name) for each in there.nights()):
                return started
    raise AssertionError(started.lines)


@sampled("number", [signal.SIGINT, signal.SIGTERM], of=2)
def test_a_night_that_is_ended_early_says_what_it_has_seen(project, program, number):
    place = project(BROKEN)
    started = begun(program, place)
    started.process.send_signal(number)
    assert started.end().code == 1
    assert not started.living()
    told = night(place)
    assert told["night"]["interrupted"] is True
    assert ", ended early: " in (place / "runs/nights/latest/summary.md").read_text()
    assert told["counts"]["runs"] >= 1


@one_in(2)
def test_a_night_that_is_killed_goes_on(project, program, rumpus):
    place = project(BROKEN)
    started = begun(program, place)
    started.process.kill()
    started.end()
    with Store.opened(place / "runs" / "nights.sqlite") as store:
        row = store.unfinished()
        noted = len(store.runs(row.name))
    with Store.opened(place / "runs" / "nights.sqlite", write=True) as store:
        met = Trouble(kind="unstable", what="performed twice, two runs")
        store.update_night(msgspec.structs.replace(row, troubles=(met,)))
    answer = rumpus("nightly", "--resume", "--budget", "0.001", "--jobs", "2")
    assert answer.code == 1, answer
    told = night(place)
    assert told["name"] == row.name
    assert [each["what"] for each in told["troubles"]] == [met.what]
    assert len(told["runs"]) >= noted
    assert [each["state"] for each in told["failures"]]
    assert rumpus("nightly", "--resume").code == 2


@one_in(2)
def test_parts_make_a_night(project, rumpus, tmp_path):
    project(BROKEN)
    for part in (0, 1):
        words = ("--shard", f"{part}/2", "--seed", "7", "--store", tmp_path / f"{part}.sqlite")
        rumpus("nightly", "--budget", "1", *words, "--output", tmp_path / f"part-{part}")
    files = [tmp_path / f"part-{part}" / "night.json" for part in (0, 1)]
    answer = rumpus("merge", *files)
    assert answer.code == 1, answer
    whole = night(tmp_path)
    parts = [json.loads(file.read_text()) for file in files]
    assert len(whole["runs"]) == sum(len(part["runs"]) for part in parts)
    assert "new failure" in whole["headline"]
    assert rumpus("merge", files[0]).err.count("parts are missing: 1/2") == 1


@one_in(3)
def test_what_a_change_does_not_touch_is_not_run(project, rumpus):
    place = project(SOUND)

    def git(*words):
        names = ("-c", "user.name=x", "-c", "user.email=x@example.com")
        subprocess.run(["git", *names, *words], cwd=place, check=True, capture_output=True)

    git("init", "--quiet", "--initial-branch=main")
    (place / ".gitignore").write_text("runs/\n__pycache__/\n")
    git("add", "--all")
    git("commit", "--quiet", "--message=one")
    (place / "README").write_text("words\n")
    answer = rumpus("nightly", "--changed", "--budget", "5")
    assert answer.code == 0, answer
    assert "nothing that is on trial has changed since" in answer.out.splitlines()[0]
    project(BROKEN)
    answer = rumpus("nightly", "--changed", "--budget", "1", "--jobs", "1")
    assert answer.code == 1, answer
    answer = rumpus("nightly", "--changed", "--budget", "1", "--jobs", "1")
    assert answer.code == 1, "that a night has seen it does not make the base any worse"
    git("commit", "--quiet", "--all", "--message=two")
    answer = rumpus("nightly", "--changed", "--base", "HEAD", "--budget", "1", "--jobs", "1")
    assert answer.code == 0, "it is as bad as its base"


def test_the_plan_is_printed_and_nothing_is_run(project, rumpus):
    place = project(SOUND)
    answer = rumpus("nightly", "--dry-run", "--budget", "90s", "--jobs", "3")
    assert answer.code == 0
    assert answer.out.startswith("as nightly.toml says: 90 s, 3 runs at once\n")
    assert "new or changed; usual" in answer.out
    document = json.loads(rumpus("nightly", "--dry-run", "--json").out)
    assert [each["why"] for each in document["subjects"]] == ["new or changed"]
    assert not (place / "runs").exists()


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ("[[jobs]]\nworkload = 1", (), "unknown field `workload`"),
        ("budget = 'soon'", (), "budget: 'soon' is not a number of seconds"),
        ("jobs = [{workloads = ['teapot']}]", (), "teapot"),
        ("version = 9", (), "has version 9; this program reads 1"),
        ("= 3", (), "not TOML"),
        (FILE.format(module="nowhere", share=0), ("--base", "x", "--changed"), "git"),
        (FILE.format(module="nowhere", share=0), ("--resume",), "leave --resume out"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(project, rumpus, text, words, said):
    place = project(SOUND)
    (place / "nightly.toml").write_text(text)
    answer = rumpus("nightly", *words)
    assert answer.code == 2
    assert said in answer.err
    assert len(answer.err.splitlines()) == 1


@pytest.mark.usefixtures("no_engine")
def test_a_project_that_names_nothing_is_told_what_to_do(tmp_path, monkeypatch, rumpus):
    monkeypatch.chdir(tmp_path)
    answer = rumpus("nightly")
    assert answer.code == 2
    assert "enter your recipe in pyproject.toml" in answer.err


@one_in(2)
def test_a_recipe_that_cannot_be_imported_is_trouble_and_the_night_says_so(project, rumpus):
    place = project("import nothing_of_that_name\n")
    answer = rumpus("nightly", "--budget", "20", "--jobs", "2")
    assert answer.code == 2
    assert " is IN TROUBLE: trouble: " in answer.out
    assert night(place)["counts"] | {"runs": 0} == night(place)["counts"] | {"runs": 0}
    assert not any(run.get("outcome") for run in night(place)["runs"])


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        ([], 3, "ended after 1 s: there was no more time"),
        (["--memory", "100M"], 4, "there is not enough memory: it may take "),
    ],
    ids=["time", "memory"],
)
def test_a_large_case_has_the_time_and_the_memory_of_the_night(
    tmp_path, monkeypatch, rumpus, words, code, why
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(night_module, "GRACE_S", 1.0)
    (tmp_path / "nightly.toml").write_text("[canaries]\nshare = 0\n")
    document = json.loads(DEADLOCK)
    document["settings"] |= {"recipe": "fair", "clients": 300, "time_limit": 1e6}
    path = tmp_path / "cases" / "large.case.json"
    path.parent.mkdir()
    path.write_text(json.dumps(document))
    answer = rumpus("nightly", "--budget", "2" if code == 3 else "200", "--jobs", "1", *words)
    assert answer.code == code, answer
    told = night(tmp_path)
    (case,) = told["cases"]
    assert (case["name"], case["state"]) == ("large", "unperformed")
    assert why in case["why"]
    assert "case large: " in told["troubles"][0]["what"]
