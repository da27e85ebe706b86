"""A small file never makes a command take all of a machine's memory."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rumpus.checker.untrusted_file import files_below, read_lines, read_regular
from rumpus.command_line import main
from rumpus.exit_codes import in_words
from rumpus.harness.memory import allowed, at_most, scarce
from rumpus.memory_of_files import FOR_EACH, USUAL, memory_of_files

ROOT = Path(__file__).resolve().parents[2]
MB = 10**6


def given(*paths, **more):
    return argparse.Namespace(path=paths[0], paths=list(paths[1:]), **more)


def test_it_grows_with_what_is_named_and_is_there(tmp_path):
    small, large, gone = (tmp_path / name for name in ("small", "large", "gone"))
    small.write_bytes(bytes(1000))
    directory = tmp_path / "run" / "nodes"
    directory.mkdir(parents=True)
    (directory / "log").write_bytes(b"x" * 20_000)
    (tmp_path / "run" / "link").symlink_to(directory / "log")
    assert memory_of_files(given(gone)) == USUAL
    assert memory_of_files(given(small, gone, jobs=7)) == USUAL + 1000 * FOR_EACH
    large.write_bytes(b"x" * 20_000)
    both = memory_of_files(given(small, large))
    assert both == USUAL + 21_000 * FOR_EACH
    one = memory_of_files(given(tmp_path / "run"))
    assert USUAL + 20_000 * FOR_EACH <= one <= USUAL + 21_000 * FOR_EACH


def test_a_hole_in_a_file_is_no_size(tmp_path):
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(10**12)
    assert memory_of_files(given(tmp_path / "sparse")) == USUAL


def test_a_file_of_many_names_counts_once(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "log").write_bytes(b"x" * 20_000)
    for number in range(100):
        (run / f"log{number}").hardlink_to(run / "log")
    assert memory_of_files(given(run)) == USUAL + 20_000 * FOR_EACH


@pytest.mark.parametrize("command", ["check", "replay", "compare"])
def test_directories_in_directories_in_directories(tmp_path, monkeypatch, capsys, command):
    """A thousand of them: who walks them by calling himself for each fails."""
    monkeypatch.chdir(tmp_path)
    for _ in range(1100):
        os.mkdir("d")  # noqa: PTH102 - its whole path is too long
        os.chdir("d")
    monkeypatch.chdir(tmp_path)
    try:
        assert files_below(Path("d"), ".json") == []
        assert main([command, *["d"] * (1 + (command == "compare"))]) == 2
    finally:
        subprocess.run(["rm", "-rf", "d"], check=True)  # pytest cannot
    assert "defect" not in capsys.readouterr().err


def test_a_limit_holds_while_its_block_runs():
    before = allowed()
    with at_most(300 * MB):
        assert not scarce()
        with pytest.raises(MemoryError) as caught:
            bytearray(400 * MB)
        assert "--memory" in in_words(caught.value)
        with at_most(900 * MB), pytest.raises(MemoryError):
            bytearray(400 * MB)
        nearly = bytearray(280 * MB)
        assert scarce()
        del nearly
    assert allowed() == before
    assert len(bytearray(400 * MB)) == 400 * MB


def test_a_bound_on_a_file_takes_no_memory(tmp_path):
    (tmp_path / "short").write_bytes(b"line\n")
    with at_most(300 * MB):
        assert read_regular(tmp_path / "short", 10**12) == b"line\n"
        assert read_lines(tmp_path / "short", 10**12) == b"line\n"


@pytest.mark.parametrize("command", ["replay", "shrink"])
def test_a_case_that_asks_for_too_much_is_an_error_with_the_remedy(tmp_path, command):
    case = json.loads((ROOT / "cases/findings/10-lock-orphan.case.json").read_text())
    case["settings"] |= {"clients": 300, "time_limit": 100_000}
    (tmp_path / "large.case.json").write_text(json.dumps(case))
    words = [command, "large.case.json", "--memory", "150M", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "rumpus.program", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 4, done
    assert "give it more, such as --memory 4G" in done.stdout
    assert "Traceback" not in done.stderr
