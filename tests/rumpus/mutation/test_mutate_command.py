"""``rumpus mutate`` on a lock of the user's own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rumpus.mutation.fates import FateFile, fate_of
from rumpus.mutation.source_mutants import SourceMutant
from tests.sampling import one_in

LOCK = """
class StockLock:
    def __init__(self, client, path):
        self._lock = client.Lock(path)

    def acquire(self, timeout=None):
        return self._lock.acquire(timeout=timeout)

    def release(self):
        self._lock.release()

    def forget(self):
        self._lock = None
"""


@pytest.fixture
def mutate(tmp_path):
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "__init__.py").touch()
    (shop / "locks.py").write_text(LOCK)

    def call(*words):
        command = [sys.executable, "-m", "rumpus.program", "mutate", "lock"]
        command += ["--recipe", "shop.locks:StockLock", "--time-limit", "8", *map(str, words)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return call


@one_in(4)
def test_what_a_trial_notices_is_told_kept_and_explained(mutate, tmp_path):
    first = mutate("--budget", 0.1, "--jobs", 2, "--json")
    told = json.loads(first.stdout)
    states = {each["function"]: each["state"] for each in told["mutants"]}
    assert first.returncode == 1, first.stderr
    assert states["StockLock.forget"] == "unreached"
    assert states["StockLock.release"] == states["StockLock.__init__"] == "killed"
    assert states["StockLock.acquire"] == "survived", "nobody has promised that it heeds a timeout"
    (survivor,) = tmp_path.glob("mutants/lock-shop.locks-StockLock/*.diff")
    assert "-        return self._lock.acquire(timeout=timeout)" in survivor.read_text()
    assert (tmp_path / "shop" / "locks.py").read_text() == LOCK

    again = mutate("--budget", 0.1, "--least", 60)
    assert again.returncode == 0, again.stderr
    assert "mutants, noticed" not in again.stderr, "all is known"
    assert f"{survivor.stem}  shop.locks:7 (StockLock.acquire)" in again.stdout
    assert "shop.locks, StockLock.forget: line 13" in again.stdout

    run = [sys.executable, "-m", "rumpus.program", "run", "lock", "--ensemble", "sim"]
    run += ["--recipe", "shop.locks:StockLock", "--time-limit", "8", "--patch", survivor]
    assert subprocess.run(run, cwd=tmp_path, capture_output=True, check=False).returncode in (0, 3)

    stub = survivor.read_text().partition("[[equivalent]]")[2].partition("--- a/")[0]
    why = stub.replace('why = ""', 'why = "an example: nobody says so in earnest"')
    Path(tmp_path, "shop", "equivalents.toml").write_text(f"[[equivalent]]{why}")
    explained = mutate("--budget", 0.1)
    assert explained.returncode == 0, explained.stdout
    assert not list(tmp_path.glob("mutants/lock-shop.locks-StockLock/*.diff"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--patch", "x.diff"], "there is no option --patch"),
        (["--recipe", "curator-mutex"], "there is nothing in it that could be mutated"),
        (["--recipe", "redlock"], "redlock as it is cannot be run"),
        (["--sample", "0"], "--sample"),
        (["--least", "101"], "--least"),
        (["--time-limit", "3"], "cannot be run: 7 kinds of fault need at least 7 s"),
        (["--kazoo", "2.9.0/"], "cannot be run: --kazoo 2.9.0/: it is neither a version"),
    ],
)
def test_what_makes_no_sense_is_refused(mutate, words, said):
    refused = mutate(*words)
    assert refused.returncode == 2
    assert said in refused.stderr


def test_a_module_that_is_not_in_utf_8_is_refused_by_its_name(mutate, tmp_path):
    text = "# coding: latin-1\n# \xe4\n" + LOCK
    Path(tmp_path, "shop", "locks.py").write_bytes(text.encode("latin-1"))
    refused = mutate()
    assert refused.returncode == 2
    assert "locks.py cannot be mutated" in refused.stderr


def test_mutants_to_which_no_run_comes_decide_nothing(mutate, tmp_path):
    idle = "class StockLock(Lock):\n    def forget(self):\n        self.gone = True\n"
    locks = Path(tmp_path, "shop", "locks.py")
    locks.write_text(f"from kazoo.recipe.lock import Lock\n\n\n{idle}")
    told = mutate("--jobs", 2)
    assert told.returncode == 3, told.stderr
    assert "shop.locks, StockLock.forget: line 6" in told.stdout


def test_fates_that_were_not_found_here_are_none(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "maker"))
    mutant = SourceMutant(
        module="shop",
        operator="drop",
        function="f",
        line=1,
        statement=1,
        before="x",
        after="",
        diff="",
    )
    FateFile(tmp_path / "a.jsonl", "basis").note(fate_of(mutant, "killed"))
    assert [*FateFile(tmp_path / "a.jsonl", "basis").fates] == [mutant.id]
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    given = FateFile(tmp_path / "a.jsonl", "basis")
    assert (given.fates, given.forgotten) == ({}, 1)
