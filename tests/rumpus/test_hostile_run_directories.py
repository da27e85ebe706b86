"""Whatever stands in place of a run's files, `check` ends soon, in words, and is never green."""

import json
import os
import socket
from pathlib import Path

import pytest

from rumpus.checker.servers.node_files import read_node_directory
from rumpus.checker.untrusted_file import UnfitFile, open_regular
from rumpus.results import seal as seals
from rumpus.results.store_error import StoreError
from tests.checker.txnlog_encoder import log, txn
from tests.rumpus.conftest import turns
from tests.sampling import sampled

LOG = "nodes/n1/version-2/log.1"
FILES = {
    "test.json": None,
    "seal.json": None,
    "history.jsonl": None,
    "plan.json": b"{}",
    "clients/c0.log": b"",
    "nodes/true-times.json": b'{"1": 1000}',
    "nodes/n1/node.log": b"",
    "nodes/n1/version-2/currentEpoch": b"1",
    "nodes/n1/version-2/acceptedEpoch": b"1\n",
    "nodes/n1/version-2/snapshot.0": b"ZKSN...\0\0\0\x01/",
    LOG: log(txn("createSession", 1, timeout=2000)) + bytes(4096),
}
LARGE = 12 << 30


def socket_at(path):
    listener = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path may not be long
    listener.bind(path.name)
    os.chdir(here)
    listener.close()


def sparse(path):
    with path.open("wb") as file:
        file.truncate(LARGE)


THINGS = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "socket": socket_at,
    "directory": Path.mkdir,
    "loop": lambda path: path.symlink_to(path.name),
    "link to nothing": lambda path: path.symlink_to("nothing"),
    "12 GiB of zeros": sparse,
    "unreadable": lambda path: path.touch(0o000),
    "garbage": lambda path: path.write_bytes(b"\xff\x00garbage"),
}


@pytest.fixture
def run(recorded_run):
    made = recorded_run(turns(), clock_anchors=[{"monotonic": 0, "wall": 10**18}])
    for name, content in FILES.items():
        if content is not None:
            (made.path / name).parent.mkdir(parents=True, exist_ok=True)
            (made.path / name).write_bytes(content)
    made.seal()
    return made


def replaced(run, name, thing):
    path = run.path / name
    path.rename(run.path.parent / "was there")
    THINGS[thing](path)


def verdict(rumpus, run):
    answer = rumpus("check", run.path, "--json")
    assert answer.code in (1, 2, 3), answer
    assert "defect" not in answer.err
    return answer


@pytest.mark.parametrize(
    "name",
    [
        "test.json",
        "seal.json",
        "history.jsonl",
        "nodes/true-times.json",
        LOG,
        "nodes/n1/version-2",
        "nodes",
    ],
)
@sampled("thing", THINGS, of=4)
def test_what_stands_in_place_of_a_file_is_told(rumpus, run, name, thing):
    replaced(run, name, thing)
    answer = verdict(rumpus, run)
    if name not in ("test.json", "seal.json", "history.jsonl"):
        assert (answer.code, json.loads(answer.out)["outcome"]) == (3, "unknown")


@pytest.mark.parametrize("thing", ["pipe", "device", "socket", "loop", "12 GiB of zeros"])
def test_what_is_no_file_of_a_run_is_not_sealed(run, thing):
    replaced(run, "clients/c0.log", thing)
    with pytest.raises(StoreError, match=r"c0\.log|No such device"):
        run.seal()


@pytest.mark.parametrize("thing", THINGS)
@pytest.mark.parametrize("name", [name for name in FILES if "version-2" in name])
def test_a_servers_file_is_opened_by_the_guard(run, name, thing):
    """Whatever the seal says, for a file can be exchanged after it was compared."""
    replaced(run, name, thing)
    if thing in ("garbage", "12 GiB of zeros", "unreadable") and "log" in name:
        (damage,) = read_node_directory(run.nodes / "n1").damage
        assert "transaction log log.1, byte 0" in damage
    elif thing in ("link to nothing", "loop") and "Epoch" in name:
        assert read_node_directory(run.nodes / "n1").logs
    elif thing in ("garbage", "12 GiB of zeros", "unreadable") and "snapshot" in name:
        assert not read_node_directory(run.nodes / "n1").snapshots
    else:
        with pytest.raises((UnfitFile, OSError, ValueError)):
            read_node_directory(run.nodes / "n1")


def test_of_a_large_log_no_more_is_read_than_its_records(run):
    path = run.path / LOG
    with path.open("r+b") as file:
        file.truncate(LARGE)
    found = read_node_directory(run.nodes / "n1")
    assert [(len(each.txns), each.end) for each in found.logs] == [(1, "padding")]


def test_records_beyond_all_bounds_are_left_and_told(run):
    records = [txn("createSession", number, timeout=2000) for number in range(1, 9)]
    (run.path / LOG).write_bytes(log(*records[:6]))
    (run.path / LOG).with_name("log.7").write_bytes(log(*records[6:]))
    most = len(log(*records[:6])) + len(log(*records[:1]))
    found = read_node_directory(run.nodes / "n1", most=most)
    assert [len(each.txns) for each in found.logs] == [6, 1]
    (damage,) = found.damage
    assert "log.7" in damage
    assert "all that is read" in damage


def test_files_that_were_sealed_and_cannot_be_read_leave_the_verdict_open(rumpus, run):
    (run.nodes / "n1/version-2/currentEpoch").write_text("garbage")
    run.seal()
    answer = verdict(rumpus, run)
    (reason,) = [each for each in json.loads(answer.out)["reasons"] if "cannot be read" in each]
    assert reason.startswith("evidence: the logs of n1 cannot be read: ")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage\xff",
        b"[]",
        b"[" * 100_000,
        b'{"1": "x"}',
        b'{"x": 1}',
        b'{"1": 1e99}',
        b'{"1": -5}',
        b'{"1": 123456789012345678901234567890}',
        b'{"1": null}',
    ],
)
def test_true_times_that_are_none_are_refused(rumpus, run, content):
    (run.nodes / "true-times.json").write_bytes(content)
    run.seal()
    answer = verdict(rumpus, run)
    assert answer.code == 2
    assert "true-times.json: no times of transactions" in answer.err


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("clients", 2**63),
        ("clients", -1),
        ("nodes", 10**30),
        ("session_timeout", 1e308),
        ("seed", 10**30),
        ("clock_anchors", [{"monotonic": 10**30, "wall": 1}]),
        ("promises", {"prevents": [], "wakeups": -1}),
        ("promises", {"prevents": [], "lock_delay": 1e308}),
        ("promises", {"prevents": [], "time_boundary": -1.0}),
        ("argv", [1]),
        ("notes", "x" * (9 << 20)),
    ],
)
def test_a_description_beyond_all_bounds_is_refused(rumpus, run, field, value):
    document = json.loads(run.record.read_text())
    run.record.write_text(json.dumps({**document, field: value}))
    run.seal()
    answer = verdict(rumpus, run)
    assert (answer.code, str(run.record) in answer.err) == (2, True)


def test_options_of_another_type_are_passed_over_or_were_not_asked_for(rumpus, run):
    before = verdict(rumpus, run)
    document = json.loads(run.record.read_text())
    document["options"] = {"preemption": [10**30], "server_mutant": {"a": 1}}
    run.record.write_text(json.dumps(document))
    run.seal()
    answer = verdict(rumpus, run)
    assert answer.code == before.code == 3
    (reason,) = json.loads(answer.out)["reasons"]
    assert "the run's server_mutant is {'a': 1}, but its command line asked for None" in reason


def test_a_name_that_is_not_utf8_is_told(rumpus, run):
    node = run.nodes / os.fsdecode(b"n\xff\x1b[31m")
    (node / "version-2").mkdir(parents=True)
    (node / "version-2/currentEpoch").write_text("garbage")
    run.seal()
    answer = verdict(rumpus, run)
    assert any("the logs of n\\xff" in each for each in json.loads(answer.out)["reasons"])
    assert "\x1b" not in answer.err


def test_directories_nested_beyond_all_bounds_are_told(rumpus, run):
    here, depth = Path.cwd(), 1500
    os.chdir(run.path)
    try:
        for _ in range(depth):
            Path("deep").mkdir()
            os.chdir("deep")
        Path("file").touch()
        assert verdict(rumpus, run).code == 3
    finally:
        Path("file").unlink()
        for _ in range(depth):  # pytest could not remove it
            os.chdir("..")
            Path("deep").rmdir()
        os.chdir(here)


def test_files_too_large_to_compare_are_told(monkeypatch, run):
    monkeypatch.setattr(seals, "MOST_EVIDENCE", 100)
    told = seals.changes(run.path)
    assert "history.jsonl would be too large to be compared" in told
    with pytest.raises(StoreError, match="such a file has at most"):
        run.seal()


def test_the_guard_gives_a_file_as_it_is(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"\xef\xbb\xbfabc")
    with open_regular(path, 6) as file:
        assert file.read() == b"\xef\xbb\xbfabc"
    with pytest.raises(UnfitFile, match="it has 6 bytes, and such a file has at most 5"):
        open_regular(path, 5).__enter__()
