"""The pipelines of examples/ci for GitHub: their form by its schema, their shell by doing it.

`rumpus` and pip are stand-ins here (`pipelines.py`): what they do is tested elsewhere.
"""

import json
import shutil

import pytest

from tests.examples.pipelines import CI, Machine, Workflow, git, loaded, said_of_form, simple
from tests.sampling import sampled

GITHUB = CI / "github" / "rumpus-nightly.yml"
SHARDED = CI / "github" / "rumpus-nightly-sharded.yml"


@pytest.mark.parametrize("path", [GITHUB, SHARDED], ids=lambda path: path.stem)
def test_the_form(path, tmp_path):
    done = said_of_form("github-workflows", path)
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(path.read_text().replace("runs-on: ubuntu-latest", "runs: on"))
    assert said_of_form("github-workflows", wrong).returncode == 1


@pytest.mark.parametrize("path", [GITHUB, SHARDED], ids=lambda path: path.stem)
def test_its_shell_is_short_and_nothing_untrusted_is_put_into_it(path):
    steps = [step for job in loaded(path)["jobs"].values() for step in job["steps"]]
    scripts = [step["run"] for step in steps if "run" in step]
    assert len(scripts) >= 5
    for script in scripts:
        assert simple(script), script
        assert "${{" not in script  # texts of others come by the environment alone


@pytest.mark.parametrize("path", [GITHUB, SHARDED], ids=lambda path: path.stem)
def test_it_may_read_and_no_more_except_for_the_badge(path):
    document = loaded(path)
    assert document["permissions"] == {"contents": "read"}
    asks = {name for name, job in document["jobs"].items() if "permissions" in job}
    assert asks <= {"badge"}
    for name, job in document["jobs"].items():
        checkouts = [s for s in job["steps"] if s.get("uses", "").startswith("actions/checkout")]
        for step in checkouts:
            kept = step.get("with", {}).get("persist-credentials", True)
            assert kept == (name == "badge")


@sampled("code", [0, 1, 3, 4, 5], of=5)
def test_a_night(machine, code, tmp_path):
    summary = tmp_path / "step summary"
    workflow = Workflow(GITHUB, machine, "schedule")
    green = workflow.perform("rumpus", NIGHT=str(code), GITHUB_STEP_SUMMARY=str(summary))
    assert green is (code == 0)
    assert machine.nights == [
        "rumpus nightly --budget 30m --output runs/night",
        "rumpus nights --html runs/night/pages",
    ]
    assert summary.read_text().startswith("# 1 new failure" if code else "# all is well")
    assert ("::error title=rumpus%3A new failure 0123456789::" in workflow.outputs[-1]) is (
        code != 0
    )
    (fetched,), (saved,) = (workflow.used(f"actions/cache/{step}") for step in ("restore", "save"))
    assert saved == {"path": "runs/nights.sqlite", "key": "rumpus-store-7-1"}
    assert fetched == {**saved, "restore-keys": "rumpus-store-"}
    assert (machine.project / saved["path"]).exists()
    (kept,) = workflow.used("actions/upload-artifact")
    assert (machine.project / kept["path"] / "night.json").exists()
    assert json.loads((machine.project / kept["path"] / "badge.json").read_text())["message"]


def test_a_night_that_did_not_begin_leaves_nothing_and_is_red(machine, tmp_path):
    machine.add("rumpus", "#!/bin/sh\nexit 2\n")
    workflow = Workflow(GITHUB, machine, "schedule")
    assert workflow.perform("rumpus", GITHUB_STEP_SUMMARY=str(tmp_path / "none")) is False
    assert not workflow.used("actions/cache/save")
    assert not (tmp_path / "none").exists()


def test_a_pull_request(machine, tmp_path):
    workflow = Workflow(GITHUB, machine, "pull_request")
    told = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary"), "GITHUB_BASE_REF": "a b"}
    assert workflow.perform("rumpus", NIGHT="1", **told) is False
    (asked,) = [words for words in machine.asked if words[0] == "rumpus"]
    assert asked[1:] == [
        *("nightly", "--changed", "--base", "origin/a b"),
        *("--budget", "5m", "--output", "runs/night"),
    ]
    assert "::error" in workflow.outputs[-1]
    assert not workflow.used("actions/cache/save")
    (checkout,) = workflow.used("actions/checkout")
    assert checkout["fetch-depth"] == 0
    assert workflow.perform("badge") is None


def test_one_night_at_a_time_and_the_last_push_of_a_pull_request(machine):
    night = Workflow(GITHUB, machine, "schedule").of_job("rumpus", "concurrency")
    assert night == {"group": "rumpus-store", "cancel-in-progress": False}
    change = Workflow(GITHUB, machine, "pull_request").of_job("rumpus", "concurrency")
    assert change == {"group": "rumpus-refs/heads/main", "cancel-in-progress": True}
    assert loaded(SHARDED)["concurrency"] == {"group": "rumpus-store"}


@pytest.mark.parametrize(
    ("event", "contexts", "installed"),
    [
        ("schedule", {}, "rumpus[docker]"),
        ("schedule", {"vars": {"RUMPUS_REQUIREMENT": "rumpus==1"}}, "rumpus==1"),
        (
            "workflow_dispatch",
            {"vars": {"RUMPUS_REQUIREMENT": "rumpus==1"}, "inputs": {"requirement": "a @ b"}},
            "a @ b",
        ),
    ],
)
def test_what_is_installed_as_rumpus(machine, event, contexts, installed):
    Workflow(GITHUB, machine, event, **contexts).perform("rumpus")
    assert machine.installed == [installed]


def test_the_badge_goes_to_a_branch_of_its_own(machine, tmp_path):
    origin = tmp_path / "origin.git"
    git(tmp_path, "init", "--quiet", "--bare", origin)
    git(machine.project, "init", "--quiet", "--initial-branch=main")
    git(machine.project, "commit", "--quiet", "--allow-empty", "--message=first")
    git(machine.project, "remote", "add", "origin", origin)
    git(machine.project, "push", "--quiet", "origin", "main")
    (machine.project / "night").mkdir()
    assert Workflow(GITHUB, machine, "schedule").perform("badge") is None
    workflow = Workflow(GITHUB, machine, "schedule", vars={"RUMPUS_BADGE": "true"})
    for message in ("first", "second"):
        (machine.project / "night" / "badge.json").write_text(message)
        assert workflow.perform("badge"), workflow.outputs
        assert git(origin, "show", "rumpus-badge:badge.json") == message
    assert git(origin, "log", "--format=%s", "rumpus-badge") == "The last night of rumpus\n"
    assert git(origin, "log", "--format=%s", "main") == "first\n"


def test_a_night_in_parts(machine, tmp_path):
    told = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary"), "GITHUB_RUN_NUMBER": "12"}
    parts = loaded(SHARDED)["jobs"]["part"]["strategy"]["matrix"]["part"]
    for part in parts:
        one = Machine(tmp_path / f"part {part}")
        workflow = Workflow(SHARDED, one, "schedule", matrix={"part": part})
        assert workflow.perform("part", NIGHT=str(int(part == 2)), **told) is (part != 2)
        options = f"--budget 30m --shard {part}/{len(parts)} --seed 12 --output runs/night"
        assert one.nights == [f"rumpus nightly {options}"]
        (kept,) = workflow.used("actions/upload-artifact")
        shutil.copytree(
            one.project / kept["path"], machine.project / "parts" / kept["name"], symlinks=True
        )
    workflow = Workflow(SHARDED, machine, "schedule")
    assert workflow.perform("night", NIGHT="1", **told) is False
    (fetched,) = workflow.used("actions/download-artifact")
    assert fetched == {"pattern": "rumpus-part-*", "path": "parts"}
    files = " ".join(f"parts/rumpus-part-{part}/night.json" for part in parts)
    assert machine.nights == [
        f"rumpus merge {files} --output runs/night --store runs/nights.sqlite",
        "rumpus nights --html runs/night/pages",
    ]
    assert len(workflow.used("actions/cache/save")) == 1
    assert "::error" in workflow.outputs[-1]
