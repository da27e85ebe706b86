"""What a change touches: a small repository, changed in one place at a time."""

import subprocess
from dataclasses import replace

import pytest

from rumpus.nights.changes import Change
from rumpus.nights.kept_cases import kept_cases
from rumpus.nights.night_file import Command, NightFile
from rumpus.nights.planning import NightPlan
from rumpus.nights.sources import source_files
from rumpus.usage_error import UsageError
from tests.rumpus.nights.made import canary_of, case_of_kind, on

FILES = {
    "one.py": "import shared_paths\n",
    "two.py": "\n",
    "shared_paths.py": "\n",
    "other.py": "\n",
    "pyproject.toml": "\n",
    "nightly.toml": "\n",
}


def git(place, *words):
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(place), *identity, *words], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path):
    place = tmp_path / "repository"
    (place / "cases").mkdir(parents=True)
    for name, text in FILES.items():
        (place / name).write_text(text)
    for name in ("one", "two"):
        case = case_of_kind(recipe=f"{name}:Lock")
        (place / "cases" / f"{name}.case.json").write_bytes(case.to_json())
    git(place, "init", "--quiet", "-b", "main")
    git(place, "add", ".")
    git(place, "commit", "--quiet", "-m", "it")
    return place


@pytest.fixture
def plan(repository):
    subjects = [
        on(f"{name}:Lock", files=source_files(name, [repository])) for name in ("one", "two")
    ]
    return NightPlan(
        file=NightFile(commands=(Command(name="tests", run=("true",)),)),
        subjects=subjects,
        past={},
        cases=kept_cases([repository / "cases"])[0],
        to_show=(),
        canaries=[canary_of()],
        expected=(),
        worlds=["sim"],
    )


def touched(repository, plan, base="HEAD"):
    found = Change(repository, base).of(plan, repository / "nightly.toml")
    names = [each.settings.recipe.partition(":")[0] for each in found.subjects]
    return names, [each.name for each in found.cases], found


def test_a_module_that_is_gone_may_touch_everything(repository, plan):
    (repository / "shared_paths.py").unlink()
    assert touched(repository, plan)[:2] == (["one", "two"], ["one", "two"])


@pytest.mark.parametrize(
    ("name", "subjects", "cases"),
    [
        ("one.py", ["one"], ["one"]),
        ("shared_paths.py", ["one"], ["one"]),
        ("two.py", ["two"], ["two"]),
        ("cases/two.case.json", [], ["two"]),
        ("pyproject.toml", ["one", "two"], ["one", "two"]),
        ("nightly.toml", ["one", "two"], ["one", "two"]),
    ],
)
@pytest.mark.parametrize("committed", [False, True])
def test_what_a_file_touches_is_run(repository, plan, name, subjects, cases, committed):
    with (repository / name).open("a") as file:
        file.write("\n")
    if committed:
        git(repository, "commit", "--quiet", "-am", "change")
    found = touched(repository, plan, "HEAD~1" if committed else "HEAD")
    assert found[:2] == (subjects, cases)
    assert found[2].idle == ""
    assert found[2].canaries == plan.canaries
    assert found[2].commands == ()


@pytest.mark.parametrize("name", ["other.py", "new.py"])
def test_what_touches_nothing_leaves_nothing_to_do(repository, plan, name):
    (repository / name).write_text("changed = 1\n")
    subjects, cases, found = touched(repository, plan)
    assert (subjects, cases, found.canaries) == ([], [], [])
    assert "nothing that is on trial has changed since" in found.idle


def test_files_that_nobody_has_committed_count(repository, plan):
    new = repository / "new.py"
    new.write_text("\n")
    first = replace(plan.subjects[0], files=[new])
    subjects, _, _ = touched(repository, replace(plan, subjects=[first, plan.subjects[1]]))
    assert subjects == ["one"]


def test_what_the_base_did_meanwhile_does_not_count(repository, plan):
    git(repository, "checkout", "--quiet", "-b", "work")
    (repository / "two.py").write_text("changed = 1\n")
    git(repository, "commit", "--quiet", "-am", "work")
    git(repository, "checkout", "--quiet", "main")
    (repository / "one.py").write_text("changed = 1\n")
    git(repository, "commit", "--quiet", "-am", "meanwhile")
    git(repository, "checkout", "--quiet", "work")
    assert touched(repository, plan, "main")[0] == ["two"]
    assert touched(repository, plan, None)[0] == ["two"], "main is what is compared with usually"


def test_a_base_that_is_not_there_is_refused(repository):
    with pytest.raises(UsageError):
        Change(repository, "nowhere")
    git(repository, "branch", "-m", "main", "trunk")
    with pytest.raises(UsageError, match="--base"):
        Change(repository, None)


def test_outside_of_a_repository_there_is_no_change(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(UsageError):
        Change(tmp_path, None)
