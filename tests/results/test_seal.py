"""A run's seal: what was changed, came or went since is named; what is made of the run is not."""

import json
import os

import pytest

from rumpus.results.seal import SEAL, changes, seal
from rumpus.results.store_error import UnreadableRun


@pytest.fixture
def sealed(tmp_path):
    run = tmp_path / "run"
    (run / "nodes/n1/version-2").mkdir(parents=True)
    (run / "clients").mkdir()
    for name in ("test.json", "history.jsonl", "nodes/n1/version-2/log.1", "clients/c0.log"):
        (run / name).write_text(f"content of {name}")
    (run / "harness.log").write_text("checking")
    seal(run)
    return run


def test_what_was_not_touched_is_whole(sealed):
    assert changes(sealed) == []


def test_empty_folders_are_sealed_and_may_be_lost_on_the_way(sealed):
    (sealed / "nodes/n2").mkdir()
    seal(sealed)
    assert changes(sealed) == []
    (sealed / "nodes/n2").rmdir()
    assert changes(sealed) == []


def test_a_seal_of_before_empty_folders_were_named_is_still_one(sealed):
    (sealed / "nodes/n2").mkdir()
    path = sealed / SEAL
    document = json.loads(path.read_text())
    del document["empty"]
    path.write_text(json.dumps(document))
    assert changes(sealed) == []


def test_a_run_that_was_not_sealed_has_no_changes_to_tell(sealed):
    (sealed / SEAL).unlink()
    assert changes(sealed) is None


@pytest.mark.parametrize(
    ("do", "told"),
    [
        (
            lambda run: (run / "test.json").write_text("CONTENT of test.json"),
            "test.json was changed",
        ),
        (lambda run: (run / "history.jsonl").write_text("more"), "history.jsonl was changed"),
        (lambda run: (run / "clients/c0.log").unlink(), "clients/c0.log is gone"),
        (
            lambda run: (run / "nodes/n2").mkdir() or (run / "nodes/n2/log.1").write_text(""),
            "nodes/n2/log.1 has come since",
        ),
        (
            lambda run: (run / "nodes/n2").symlink_to(run / "nodes/n1"),
            "nodes/n2 has come since",
        ),
        (lambda run: (run / "nodes/n4").mkdir(), "nodes/n4/ has come since"),
        (
            lambda run: (run / "nodes/n1/version-2/log.ffffffff").mkdir(),
            "nodes/n1/version-2/log.ffffffff/ has come since",
        ),
        (
            lambda run: (run / os.fsdecode(b"more\xff")).write_text(""),
            "more\\xff has come since",
        ),
    ],
    ids=["same size", "size", "gone", "new", "link", "folder", "folder of a log", "not UTF-8"],
)
def test_each_change_is_named(sealed, do, told):
    do(sealed)
    assert changes(sealed) == [told]


@pytest.mark.parametrize("name", ["test.json", "nodes/n1/version-2/log.1"])
def test_a_pipe_in_place_of_a_file_is_not_opened(sealed, name):
    (sealed / name).unlink()
    os.mkfifo(sealed / name)
    assert changes(sealed) == [f"{name} was changed"]


def test_a_file_that_has_become_huge_is_not_read(sealed):
    log = sealed / "nodes/n1/version-2/log.1"
    os.truncate(log, 1 << 40)
    assert changes(sealed) == ["nodes/n1/version-2/log.1 was changed"]


def test_what_is_made_of_a_run_may_be_made_again(sealed):
    for name in ("results.json", "report.html", "junit.xml", "summary.md", "harness.log"):
        (sealed / name).write_text("new")
    assert changes(sealed) == []


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"format":1}', b'{"format":2,"files":{}}', b"\xff", b"[" * 100_000]
)
def test_a_malformed_seal_is_refused(sealed, content):
    (sealed / SEAL).write_bytes(content)
    with pytest.raises(UnreadableRun, match="seal"):
        changes(sealed)
