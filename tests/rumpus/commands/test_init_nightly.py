"""rumpus init --nightly: the files of a scheduler, which work as they are."""

import os
import re
from pathlib import Path

import pytest

from rumpus.nights.night_file import load_night_file
from rumpus.nights.schedulers.schedulers import SCHEDULERS, files_for
from rumpus.usage_error import UsageError

CI = Path(__file__).resolve().parents[3] / "examples" / "ci"
FILES = {
    "github": {".github/workflows/rumpus-nightly.yml": "github/rumpus-nightly.yml"},
    "gitlab": {".gitlab-ci.rumpus-nightly.yml": "gitlab/rumpus-nightly.gitlab-ci.yml"},
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository whose pyproject.toml, one folder above, names what a night runs."""
    place = tmp_path / "my project"
    (place / ".git").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.rumpus.recipes.mine]\nworkload = "lock"\nrecipe = "my_lock:MyLock"\n'
    )
    monkeypatch.chdir(place)
    return place


LOCK = "class MyLock:\n"
LOCK += "    def __init__(self, client, path): pass\n"
LOCK += "    def acquire(self): pass\n    def release(self): pass\n"


def test_a_project_that_names_nothing_gets_a_file_of_what_looks_like_a_recipe(project, rumpus):
    (project.parent / "pyproject.toml").unlink()
    (project / "shop").mkdir()
    (project / "shop" / "locks.py").write_text(LOCK)
    answer = rumpus("init", "--nightly", "github")
    assert answer.code == 0, answer
    assert "see whether shop.locks:MyLock is a lock" in answer.out
    file = load_night_file(project / "nightly.toml")
    assert [(job.workloads, job.recipes) for job in file.jobs] == [
        (("lock",), ("shop.locks:MyLock",))
    ]


def test_the_recipe_that_is_named_goes_into_the_file(project, rumpus):
    words = ("init", "--nightly", "gitlab", "--workload", "queue", "--recipe", "q:Queue")
    assert rumpus(*words).code == 0
    (job,) = load_night_file(project / "nightly.toml").jobs
    assert (job.workloads, job.recipes) == (("queue",), ("q:Queue",))


def test_without_anything_like_a_recipe_it_asks_for_one(project, rumpus):
    (project.parent / "pyproject.toml").unlink()
    answer = rumpus("init", "--nightly", "github")
    assert answer.code == 2
    assert "name your recipe, rumpus init --nightly" in answer.err
    assert written(project) == set()


def written(project):
    return {str(path.relative_to(project)) for path in project.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", FILES)
def test_it_writes_the_example(project, rumpus, name):
    answer = rumpus("init", "--nightly", name)
    assert answer.code == 0, answer
    assert written(project) == set(FILES[name])
    for place, example in FILES[name].items():
        assert (project / place).read_text() == (CI / example).read_text()
        assert answer.out.startswith(f"{place}: written. Next:\n")
    assert "move to the root" not in answer.out


def test_gitlab_has_to_include_it(project, rumpus):
    answer = rumpus("init", "--nightly", "gitlab")
    assert "  include:\n    - local: .gitlab-ci.rumpus-nightly.yml\n" in answer.out
    assert "include:\n#     - local" in (project / ".gitlab-ci.rumpus-nightly.yml").read_text()


def test_units_name_this_project_and_this_program(project, rumpus, monkeypatch):
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(project / ".venv" / "bin"))
    monkeypatch.setenv("PATH", "/nonexistent")
    answer = rumpus("init", "--nightly", "cron")
    assert answer.code == 0, answer
    names = {"rumpus-nightly.service", "rumpus-nightly.timer", "rumpus-notify.sh"}
    assert written(project) == names
    unit = (project / "rumpus-nightly.service").read_text()
    assert f"\nWorkingDirectory={project}\n" in unit
    assert f'\nExecStart="{project}/.venv/bin/rumpus" nightly ' in unit
    assert not any("/srv/" in (project / name).read_text() for name in names)
    assert os.access(project / "rumpus-notify.sh", os.X_OK)
    assert f"link '{project}'/rumpus-nightly.service" in answer.out


def test_the_installed_program_is_found_on_the_path(project, rumpus, monkeypatch):
    program = project / "bin" / "rumpus"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr("sysconfig.get_path", lambda _: "/nonexistent")
    monkeypatch.setenv("PATH", "bin")
    assert rumpus("init", "--nightly", "cron").code == 0
    assert f'ExecStart="{program}" ' in (project / "rumpus-nightly.service").read_text()


def test_the_example_is_what_is_written_for_its_own_paths():
    files = files_for("cron", Path("/srv/project"), Path("/srv/project/.venv/bin/rumpus"))
    assert files == {name: (CI / "cron" / name).read_text() for name in SCHEDULERS["cron"].files}


def test_a_path_below_that_of_the_example_is_put_in_once():
    files = files_for("cron", Path("/srv/project/a%b"), Path("/srv/project/rumpus"))
    unit = files["rumpus-nightly.service"]
    assert re.findall("^(?:WorkingDirectory|ExecStart)=(.*)$", unit, re.MULTILINE) == [
        "/srv/project/a%%b",
        '"/srv/project/rumpus" nightly --budget 30m --notify ./rumpus-notify.sh',
    ]


@pytest.mark.parametrize("name", ["a\nExecStart=/bin/true", "a\\", "a\x1b", "a'b", 'a"b'])
def test_a_path_that_a_unit_cannot_have_is_refused(name):
    with pytest.raises(UsageError, match="give it another name"):
        files_for("cron", Path("/srv") / name, Path("/bin/rumpus"))


@pytest.mark.parametrize("name", SCHEDULERS)
def test_nothing_is_overwritten_and_then_nothing_is_written(project, rumpus, name):
    taken = list(SCHEDULERS[name].files)[-1]
    (project / taken).parent.mkdir(parents=True, exist_ok=True)
    (project / taken).symlink_to("nowhere")
    answer = rumpus("init", "--nightly", name)
    assert answer.code == 2
    assert f"{taken} exists, and nothing is overwritten: move it away first" in answer.err
    assert written(project) == set()


def test_it_is_a_test_or_a_schedule(project, rumpus):
    answer = rumpus("init", "a.py", "--nightly", "github")
    assert answer.code == 2
    assert "leave FILE out" in answer.err
    assert written(project) == set()


def test_elsewhere_than_in_the_root_it_says_so(project, rumpus):
    (project / ".git").rmdir()
    assert "move to the root of the repository" in rumpus("init", "--nightly", "github").out
