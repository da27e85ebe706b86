"""The pages on recipes and workloads of one's own: what they print runs."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

from kazoo.client import KazooClient

import rumpus
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded

DOCS = Path(__file__).resolve().parents[2] / "docs" / "how-to"
FULL = "RUMPUS_FULL_CHECKS" in os.environ


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)


SMALLER = """
import rumpus
whole = rumpus.run
rumpus.run = lambda *words, **options: whole(*words, **{**options, "seeds": 1, "time_limit": 10})
"""


def test_the_tests_of_a_recipe_pass(tmp_path):
    begin = "import pytest\nfrom rumpus.recipes.lock import FairLock as MyLock\n"
    for number, test in enumerate(blocks("own-recipes.md")[:2]):
        (tmp_path / f"test_{number}.py").write_text(begin + test)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "rumpus.pytest_plugin", "."]
    if not FULL:
        (tmp_path / "conftest.py").write_text(SMALLER)
        words += ["--rumpus-seeds", "1"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "2 passed" in done.stdout, done.stdout


class Mutex:
    """A lock of somebody else, with methods of other names."""

    def __init__(self, client, path):
        self._lock = client.Lock(path)

    def lock(self, wait):
        return self._lock.acquire(timeout=wait)

    def unlock(self):
        self._lock.release()


class Service:
    """A program that is given addresses, and makes a client of its own."""

    def __init__(self, zookeeper, root):
        self.client = KazooClient(zookeeper)
        self.client.start()
        self.root = self.client.create(root)
        self.client.stop()
        self.client.close()


class Shelf:
    pass


class ForgetfulShelf(Shelf):
    pass


def test_the_parts_of_a_recipe_are_what_they_are_to_be():
    given = (Mutex, Service, Shelf, ForgetfulShelf)
    names = {"rumpus": rumpus, **{each.__name__: each for each in given}}
    names["psycopg"] = SimpleNamespace(Error=RuntimeError)
    for part in blocks("own-recipes.md")[2:]:
        exec(compile(part, "the page", "exec"), names)
    assert names["MyLock"].line("/a") == rumpus.Line("sequential", "/a/queue", mark="lock-")
    assert names["catalogue"]["forgetful"].expected == {"lost-number"}
    with rumpus.zookeeper(nodes=1) as zk:
        client = KazooClient(zk.hosts)
        client.start()
        for lock in (
            names["ReadWrite"](client, "/read-write").write_lock,
            names["MutexLock"](client, "/mutex"),
            names["semaphore"](client, "/permits", 2),
        ):
            assert lock.acquire(timeout=5)
            lock.release()
        assert names["MyService"](client, "/service", zk.hosts).service.root == "/service"
        client.stop()
        client.close()
    books = names["BookLock"](None, "/books", {"postgresql": "127.0.0.1:4321"})
    assert (books.host, books.port, books.outcome_unknown) == ("127.0.0.1", "4321", RuntimeError)


def test_the_script_of_a_load_runs(tmp_path, monkeypatch):
    load, *_ = blocks("own-workloads.md")
    (tmp_path / "scripted_lock.py").write_text(
        "from rumpus.workloads.contests.lock import LockWorkload\n\n\n"
        'class Scripted(LockWorkload):\n    name = "scripted"\n\n' + textwrap.indent(load, "    ")
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    run = rumpus.run(
        "scripted_lock:Scripted",
        recipe="rumpus.recipes.lock:FairLock",
        time_limit=10,
        nemesis=["client-pause"],
        clients=3,
    )
    assert run.outcome == "valid", run


def test_the_check_tells_who_was_early():
    code = "from __future__ import annotations\nfrom rumpus import anomaly_of\n"
    names = {}
    exec(compile(code + blocks("own-workloads.md")[1], "the page", "exec"), names)
    for raised, found in ((5, []), (15, ["early-entry"])):
        recorded = Recorded().add(1, 1, "invoke", "wait", {"key": 1})
        records = [
            (raised, 0, "invoke", "raise_"),
            (raised + 1, 0, "ok", "raise_"),
            (10, 1, "ok", "wait"),
        ]
        for record in sorted(records):
            recorded.add(*record, {"key": 1})
        anomalies = names["_nobody_was_early"](laid_out(recorded.history()))
        assert [each.kind for each in anomalies] == found


def test_the_kinds_of_a_workload_are_declared():
    names = {"rumpus": rumpus}
    exec(compile(blocks("own-workloads.md")[2], "the page", "exec"), names)
    assert set(names["Limits"].hazards) < set(names["Limits"].anomalies)
