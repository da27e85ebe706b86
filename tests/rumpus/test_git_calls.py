"""A repository cannot have Git run its programs through rumpus."""

import os
import shutil
import subprocess

import pytest

from rumpus.campaigns.commit_replays import Repository
from rumpus.git_calls import call_git
from rumpus.nights.revision import revision


def git(place, *words):
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", "-C", str(place), *identity, *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def hostile(tmp_path):
    """A repository that names a program wherever Git takes one, and the file that it writes."""
    place, ran = tmp_path / "repository", tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$@" >> {ran}\ncat\n')
    program.chmod(0o755)
    place.mkdir()
    git(place, "init", "--quiet")
    (place / "one.py").write_text("1\n")
    git(place, "add", ".")
    git(place, "commit", "--quiet", "-m", "it")
    for key in (
        *("core.fsmonitor", "core.pager", "diff.external", "diff.spy.command"),
        *("diff.spy.textconv", "filter.spy.clean", "filter.spy.smudge"),
        *("filter.a=b.clean", "filter.a=b.smudge"),
    ):
        git(place, "config", key, str(program))
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        (place / ".git" / "hooks" / hook).symlink_to(program)
    (place / ".git" / "info" / "attributes").write_text(
        "*.py filter=spy diff=spy\none.py filter=a=b\n"
    )
    (place / "one.py").write_text("2\n")  # longer ago, or as long: Git has to read it
    (place / "two.py").write_text("new\n")
    os.utime(place / "one.py", (1, 1))
    return place, ran


@pytest.mark.parametrize(
    "words", [("diff", "HEAD"), ("status",), ("worktree", "add", "--detach", "../tree")]
)
def test_git_itself_runs_what_the_repository_names(hostile, words):
    place, ran = hostile
    git(place, *words)
    assert ran.exists()


def test_names_may_be_any_bytes(tmp_path):
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "it")
    strange = tmp_path / os.fsdecode(b"\xff.py")
    strange.touch()
    with (tmp_path / ".git" / "config").open("ab") as config:
        config.write(b'[filter "\xfe"]\n\tclean = false\n')
    assert Repository(tmp_path).changed_since("HEAD") == {strange}


def test_rumpus_has_it_run_nothing(hostile, tmp_path):
    place, ran = hostile
    repository = Repository(place)
    assert repository.changed_since("HEAD") == {place / "one.py", place / "two.py"}
    assert repository.has("HEAD")
    assert repository.commits("HEAD", "HEAD") == [repository.fork_of("HEAD")]
    assert revision(place).commit
    with repository._worktree("HEAD", tmp_path / "tree") as tree:
        assert (tree / "one.py").read_text() == "1\n"
    assert not ran.exists(), ran.read_text()


def test_settings_that_the_user_has_put_into_the_environment_stay(hostile, monkeypatch):
    place, ran = hostile
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.name")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "the user's")
    asked = call_git(shutil.which("git"), place, "config", "user.name")
    assert asked.stdout.strip() == "the user's"
    assert call_git(shutil.which("git"), place, "config", "core.hooksPath").stdout == "/dev/null\n"
    assert not ran.exists()
