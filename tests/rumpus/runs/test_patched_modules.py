"""A change of a recipe is tried without being made: by ``--patch``."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import rumpus.recipes.contests.fair_contest as changed_module
from rumpus.mutation.source_text import whole_diff
from rumpus.runs.patched_modules import patched_modules
from rumpus.usage_error import UsageError

PATH = "rumpus/recipes/contests/fair_contest.py"
FIRST = "return nodes[: nodes.index(entry.node)]"
SOURCE = Path(changed_module.__file__).read_text("utf-8")

OWN = """
class StockLock:
    def __init__(self, client, path):
        self._lock = client.Lock(path)
        self.held = False

    def acquire(self, timeout=None):
        self.held = self._lock.acquire(timeout=timeout)
        return self.held

    def release(self):
        self._lock.release()
        self.held = False
"""


@pytest.fixture
def patch(tmp_path):
    """Write a patch; its path."""

    def written(text, name="weaker.diff"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return written


def weaker(instead):
    return whole_diff(PATH, SOURCE, SOURCE.replace(FIRST, instead))


def test_clients_load_what_a_patch_makes_of_a_module_and_no_file_changes(rumpus, patch, tmp_path):
    words = ["run", "lock", "--recipe", "fair", "--ensemble", "sim", "--seed", 1]
    words += ["--time-limit", 10, "--runs", tmp_path / "runs", "--json"]
    usual = rumpus(*words)
    weak = rumpus(*words, "--patch", patch(weaker(f"{FIRST}[1:]")))
    assert usual.code == 0, usual.err
    assert weak.code == 1, weak.err
    kinds = {each["kind"] for each in json.loads(weak.out)["anomalies"]}
    assert "split-brain" in kinds
    versions = [json.loads(each.out)["versions"] for each in (usual, weak)]
    assert "patch" not in versions[0]
    assert len(versions[1]["patch"]) == 12
    assert Path(changed_module.__file__).read_text("utf-8") == SOURCE


def test_a_recipe_of_the_users_own_is_patched(patch, tmp_path):
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "locks.py").write_text(OWN)  # a package needs no __init__.py
    changed = OWN.replace("self.held = self._lock.acquire(timeout=timeout)", "self.held = True")
    change = patch(whole_diff("shop/locks.py", OWN, changed))
    command = [sys.executable, "-m", "rumpus.program", "run", "lock", "--ensemble", "sim"]
    command += ["--recipe", "shop.locks:StockLock", "--time-limit", "3", "--nemesis", "none"]
    codes = [
        subprocess.run([*command, *more], cwd=tmp_path, capture_output=True, check=False).returncode
        for more in ([], ["--patch", str(change)])
    ]
    assert codes == [0, 1]
    assert (shop / "locks.py").read_text() == OWN


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nothing\n", "no unified diff"),
        ("--- a/x.py\n+++ b/../x.py\n", "which is no module"),
        ("--- a/x\n+++ b//etc/passwd\n", "which is no module"),
        ("--- a/x.py\n+++ b/nowhere/x.py\n", "no directory of Python's path has that file"),
        ("--- a/rumpus/checker/check.py\n+++ b/rumpus/checker/check.py\n", "share"),
        ("--- a/rumpus/recipes/promises.py\n+++ b/rumpus/recipes/promises.py\n", "share"),
        (weaker("return nodes[: nodes.index(entry.node"), "makes no Python"),
        (weaker(FIRST[:-1] + ", 2]").replace(FIRST, "gone"), "does not fit"),
    ],
)
def test_what_is_no_patch_of_clients_modules_is_refused(patch, text, words):
    with pytest.raises(UsageError, match=words):
        patched_modules(patch(text))


def test_a_patch_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        patched_modules(tmp_path / "none.diff")


def test_real_clients_load_their_modules_themselves(rumpus, patch):
    change = patch(weaker(f"{FIRST}[1:]"))
    refused = rumpus("run", "lock", "--ensemble", "docker", "--patch", change)
    assert refused.code == 2
    assert "--ensemble sim" in refused.err


def test_a_case_does_not_bring_a_patch_with_it(rumpus, patch, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    change = patch(weaker(f"{FIRST}[1:]"))
    document = json.loads(Path("cases/mutants/lock/no-recheck.case.json").read_text())
    document["settings"] |= {"recipe": "fair", "patch": str(change)}
    case = tmp_path / "cases" / "given.case.json"
    case.parent.mkdir()
    case.write_text(json.dumps(document))
    refused = rumpus("replay", case)
    assert refused.code == 2
    assert "not imported just because a file names it" in refused.err
    assert "weaker.diff" in refused.err


def test_a_kazoo_that_is_not_the_installed_one_is_changed_in_another_way(patch):
    change = patch("--- a/kazoo/client.py\n+++ b/kazoo/client.py\n")
    with pytest.raises(UsageError, match=r"--kazoo 2\.9\.0\+.*weaker\.diff"):
        patched_modules(change, "2.9.0")
