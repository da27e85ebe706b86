import json
import subprocess
from pathlib import Path

import pytest

from rumpus.campaigns.case import load_case
from rumpus.campaigns.commit_replays import Repository
from rumpus.command_line import main
from rumpus.usage_error import UsageError
from tests.rumpus.campaigns.conftest import DEADLOCK
from tests.sampling import one_in

SOUND = """
from rumpus.recipes.lock.catalogue import LOCKS

class MyLock(LOCKS["fair"].recipe):
    pass
"""
BROKEN = SOUND.replace(
    "    pass", "    held = True\n\n    def acquire(self, timeout=None): return True"
)
UNREADABLE = "class MyLock(\n"


def git(place, *words):
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", "-C", str(place), *identity, *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    """A repository whose lock is sound, then cannot be read, then is broken."""
    place = tmp_path / "repository"
    place.mkdir()
    git(place, "init", "--quiet")
    for text in (SOUND, UNREADABLE, BROKEN):
        (place / "locks_of_commits.py").write_text(text)
        git(place, "add", ".")
        git(place, "commit", "--quiet", "-m", "it")
    return place


@pytest.fixture
def case(tmp_path):
    document = json.loads(DEADLOCK)
    document["settings"] |= {"recipe": "locks_of_commits:MyLock", "preemption": "none"}
    document["plan"]["entries"] = []
    document["expects"] = {"kind": "split-brain"}
    path = tmp_path / "it.case.json"
    path.write_text(json.dumps(document))
    return path


@one_in(2)
def test_the_commit_is_found_and_nothing_is_left(repository, case, capsys):
    words = ["bisect", case, "--commits", "HEAD~2..HEAD", "--repository", repository, "--trust"]
    code = main([*map(str, words), "--seeds", "1", "--json"])
    told = json.loads(capsys.readouterr().out)
    names = [git(repository, "rev-parse", "--short", f"HEAD~{n}") for n in (2, 1, 0)]
    assert code == 1
    assert [each["version"] for each in told["versions"]] == names
    assert [each["reproduced"] for each in told["versions"]] == [False, "unknown", True]
    assert told["versions"][1]["verdict"] == "cannot run"
    (change,) = told["changes"]
    assert change == {
        "what": "came",
        "before": names[0],
        "after": names[2],
        "cannot_tell": [names[1]],
    }
    assert git(repository, "worktree", "list").count("\n") == 0
    assert git(repository, "status", "--porcelain") == ""


def test_a_folder_that_the_commit_lacks_is_said(repository, case):
    (repository / "later").mkdir()
    (ran,) = Repository(repository / "later").replay("HEAD", [load_case(case)], jobs=1)
    assert ran.reproduced == "unknown"
    assert "no folder later" in ran.error


@pytest.mark.parametrize(
    ("ends", "words"),
    [(("HEAD", "HEAD~1"), "no ancestor"), (("nowhere", "HEAD"), "nowhere")],
)
def test_commits_that_are_no_range_are_refused(repository, ends, words):
    with pytest.raises(UsageError, match=words):
        Repository(repository).commits(*ends)


def test_one_commit_is_a_range(repository):
    assert Repository(repository).commits("HEAD", "HEAD") == [
        git(repository, "rev-parse", "--short", "HEAD")
    ]


def test_what_is_no_repository_is_refused(tmp_path):
    with pytest.raises(UsageError, match="not a git repository"):
        Repository(Path(tmp_path))
