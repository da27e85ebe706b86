"""What a run leaves may be shown: no password, no variable of the environment, no user's home."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rumpus.results.home_paths import hide_home, without_home

ROOT = Path(__file__).resolve().parents[2]
PASSWORD, VARIABLE, TOKEN = "correct-horse", "SHOP_API_TOKEN", "tok-en-of-the-shop"
LOCK = f"""\
import os

from kazoo.exceptions import NodeExistsError, NoNodeError
from kazoo.security import make_digest_acl


class ClerksLock:
    def __init__(self, client, path):
        self.client, self.path, self.calls = client, path, 0
        self.token = os.environ["{VARIABLE}"]
        self.acl = [make_digest_acl("clerk", "{PASSWORD}", all=True)]

    def acquire(self, timeout=10.0):
        self.client.add_auth("digest", "clerk:{PASSWORD}")
        self.calls += 1
        if self.calls == 3:
            raise RuntimeError("the clerk has stumbled")
        try:
            self.client.create(self.path, ephemeral=True, makepath=True, acl=self.acl)
        except NodeExistsError:
            return False
        return True

    def release(self):
        try:
            self.client.delete(self.path)
        except NoNodeError:
            pass
"""


def rumpus(home, *words):
    environment = {**os.environ, "HOME": str(home), VARIABLE: TOKEN, "PYTHONPATH": str(ROOT)}
    environment.pop("XDG_STATE_HOME", None)
    command = [sys.executable, "-m", "rumpus.program", *map(str, words)]
    return subprocess.run(
        command, cwd=home, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("ensemble", ["sim", pytest.param("docker", marks=pytest.mark.docker)])
def test_a_run_has_neither_passwords_nor_the_environment_nor_the_users_home(tmp_path, ensemble):
    home = tmp_path / "home" / "clerk"
    (home / "shop").mkdir(parents=True)
    (home / "shop/__init__.py").touch()
    (home / "shop/locks.py").write_text(LOCK)
    words = (
        "run lock --recipe shop.locks:ClerksLock --nodes 1 --clients 2 --time-limit 2 --seed 206"
    )
    words += f" --nemesis none --ensemble {ensemble} --runs"
    done = rumpus(home, *words.split(), home / "runs")
    assert done.returncode in (0, 1, 3), done.stderr
    latest = home / "runs/latest"
    found = {path: path.read_bytes() for path in latest.rglob("*") if path.is_file()}
    assert {"report.html", "history.jsonl", "results.json"} <= {path.name for path in found}
    for what in (PASSWORD, VARIABLE, TOKEN, str(home)):
        assert [path for path, content in found.items() if what.encode() in content] == []
    assert b'File "~/shop/locks.py"' in found[latest / "clients/c0.log"]
    again = re.search(r"^again: +rumpus (.*)$", done.stderr, re.MULTILINE)[1]
    assert "--runs '~/runs'" in again


def test_a_path_that_begins_with_the_home_is_the_homes(tmp_path, monkeypatch):
    home = tmp_path / "home"
    (home / "runs").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    words = "run lock --ensemble sim --nemesis none --time-limit 2 --recipe fair --runs ~/runs"
    done = rumpus(home, *words.split())
    assert done.returncode == 0, done.stderr
    assert rumpus(home, "check", "~/runs/latest").returncode == 0
    assert without_home(f"{home} {home}/runs {home}less") == f"~ ~/runs {home}less"
    assert without_home(str(home)) == "~"


def test_a_log_is_changed_only_where_it_names_the_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/home/clerk")
    (tmp_path / "c0.log").write_bytes(b'File "/home/clerk/a.py" \xff /home/clerks in /home/clerk\n')
    (tmp_path / "c1.log").write_bytes(b"nothing")
    before = (tmp_path / "c1.log").stat().st_ino
    hide_home(tmp_path)
    assert (tmp_path / "c0.log").read_bytes() == b'File "~/a.py" \xff /home/clerks in ~\n'
    assert (tmp_path / "c1.log").stat().st_ino == before
    monkeypatch.setenv("HOME", "/")
    hide_home(tmp_path)
    assert without_home("/tmp") == "/tmp"
