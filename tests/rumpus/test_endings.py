"""However a command ends, its exit code means what it says, and ``--json`` is one document."""

import contextlib
import errno
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus import command_line
from rumpus.exit_codes import MEANINGS, exit_code
from rumpus.harness.clients.workers import WorkerCrash
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.nemesis.entry import PlanError
from rumpus.results.run_directory import RunDirectory
from rumpus.results.store_error import StoreError, UnreadableRun
from rumpus.runs.made_here import note_made
from rumpus.usage_error import UsageError
from tests.checker.recorded import Recorded
from tests.rumpus.conftest import is_listening
from tests.sampling import sampled

HOST = [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOMEM]
SELDOM = [errno.ENOENT, errno.EBADF, errno.EPIPE]


def endings(tmp_path="x"):
    return {
        2: [UsageError("u"), PlanError("p"), UnreadableRun(tmp_path, "is bad", "mend it")],
        3: [KeyboardInterrupt()],
        4: [
            StoreError(tmp_path, "is full", "free it"),
            EnvironmentRefusal("no engine"),
            MemoryError(),
            *(OSError(number, os.strerror(number)) for number in HOST),
        ],
        5: [
            ValueError("v"),
            KeyError("k"),
            RecursionError(),
            WorkerCrash("c"),
            *(OSError(number, os.strerror(number)) for number in SELDOM),
        ],
    }


ALL = [(code, error) for code, errors in endings().items() for error in errors]


@given(st.sampled_from(ALL), st.booleans(), st.booleans(), st.booleans())
def test_every_ending_has_its_code_and_one_document(ending, as_json, verbose, printed):
    code, error = ending
    out, err = run_to_its_end(error, as_json=as_json, verbose=verbose, printed=printed)
    assert out.code == code == exit_code(error)
    assert code in MEANINGS
    assert "rumpus: " in err
    documents = out.text.count('"exit_code"')
    assert documents == int(as_json)
    if as_json:
        document = json.loads(out.text)
        assert document["exit_code"] == (0 if printed else code)


class Out:
    def __init__(self, code, text):
        self.code, self.text = code, text


def run_to_its_end(error, *, as_json, verbose, printed):
    """A command that fails so, before or after it has printed its document."""

    def command(_arguments):
        if as_json and printed:
            command_line.print_json(b'{"exit_code": 0}\n')
        raise error

    words = ["list", *["--json"] * as_json, *["-v"] * verbose]
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command_line, "_command", lambda _arguments: command)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = command_line.main(words)
    return Out(code, out.getvalue()), err.getvalue()


@pytest.fixture(scope="module")
def performed(tmp_path_factory):
    runs = tmp_path_factory.mktemp("performed")
    words = "run lock --recipe fair --ensemble sim --nemesis none --time-limit 3 --seed 1"
    assert command_line.main([*words.split(), "--runs", str(runs)]) == 0
    return (runs / "latest").resolve()


@pytest.fixture
def whole(performed, tmp_path):
    """A valid run, whose recipe other processes know, too."""
    shutil.copytree(performed, tmp_path / "run")
    note_made(tmp_path / "run")
    return RunDirectory(tmp_path / "run")


def ended(*words, shell="", **more):
    """A command in a process of its own; ``shell`` is what a shell does to its streams."""
    line = f'exec "$0" -m rumpus.program "$@" {shell}'
    return subprocess.run(
        ["/bin/sh", "-c", line, sys.executable, *map(str, words)],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        **more,
    )


@pytest.mark.parametrize("shell", ["2>&-", ">&-", "<&- >&- 2>&-", "2>/dev/full", "--json >&-"])
def test_closed_streams_change_no_verdict(whole, shell):
    done = ended("check", whole.path, shell=shell)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stdout + done.stderr


def test_a_stream_that_is_closed_is_no_place_for_files(whole):
    before = {file: file.read_bytes() for file in (whole.history, whole.record)}
    assert ended("check", whole.path, shell="<&- >&- 2>&-").returncode == 0
    assert {file: file.read_bytes() for file in before} == before


def test_the_working_directory_may_be_gone(whole, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    remove = f"cd '{gone}' && rmdir '{gone}' && "
    for words, code in (([], 0), (["--model", "no.such:Class"], 2)):
        line = f'{remove} exec "$0" -m rumpus.program "$@"'
        done = subprocess.run(
            ["/bin/sh", "-c", line, sys.executable, "check", str(whole.path), *words],
            check=False,
            capture_output=True,
            env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        )
        assert done.returncode == code, done.stderr


def test_what_is_not_utf8_is_refused(whole, tmp_path):
    other = tmp_path / os.fsdecode(b"run\xff")
    shutil.copytree(whole.path, other)
    done = ended("check", os.fsencode(other).decode("utf-8", "surrogateescape"))
    assert done.returncode == 2
    assert b"is not UTF-8" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        *(["replay"], ["shrink"], ["cause"], ["reproduce"], ["check"], ["nightly"], ["merge"]),
        *(["nights", "--store"], ["doctor", "--runs"]),
    ],
)
def test_a_path_that_is_too_long_is_wrong_usage(words, capsys):
    assert command_line.main([*words, "x" * 5000]) in (2, 4)
    assert "too long" in capsys.readouterr().err


def test_a_stream_that_takes_only_ascii_gets_what_it_can(whole):
    done = ended("check", whole.path, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert b"? Valid: every promise" in done.stderr


def test_a_plan_nested_too_deep_is_refused(tmp_path, runs):
    plan = tmp_path / "plan.json"
    plan.write_text("[" * 10_000_000)
    words = ["--ensemble", "sim", "--plan", plan, "--runs", runs, "--json"]
    done = ended("run", "lock", *words)
    assert done.returncode == 2
    assert json.loads(done.stdout)["exit_code"] == 2


@sampled("moment", [0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8], of=4)
def test_interrupted_at_the_very_beginning(runs, moment, eventually):
    words = ["run", "lock", "--ensemble", "sim", "--runs", str(runs), "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "rumpus.program", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    eventually(lambda: is_listening(process.pid), within=30)
    time.sleep(moment)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    assert json.loads(out)["exit_code"] == 3
    assert "Traceback" not in err


WHILE_A_CLASS_IS_MADE = """
import signal, sys
from rumpus import command_line, program
class Field:
    def __set_name__(self, owner, name):
        signal.raise_signal(signal.SIGINT)
def main(*_):
    class Made:
        field = Field()
command_line.main = main
sys.argv[1:] = ["run", "lock"]
sys.exit(program.main())
"""


def test_an_installation_that_cannot_be_imported_is_a_defect_and_no_violation():
    broken = "import sys; sys.modules['msgspec'] = None; from rumpus.program import main; "
    done = subprocess.run(
        [sys.executable, "-c", broken + "sys.exit(main())", "list"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 5, done
    assert "Traceback" in done.stderr
    assert "rumpus cannot start" in done.stderr.splitlines()[-1]


def test_interrupted_while_a_class_is_made():
    words = [sys.executable, "-c", WHILE_A_CLASS_IS_MADE]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr


AT_EXIT = """
import atexit, signal, sys, threading, time
from rumpus import command_line, program
atexit.register(print, "done at exit")
threading.Thread(target=lambda: (time.sleep(1), print("a thread ended"))).start()
"""
INTERRUPTED = "command_line.main = lambda: signal.raise_signal(signal.SIGINT)\n"


@pytest.mark.parametrize(
    ("setting", "said"),
    [("", "a thread ended\ndone at exit\n"), (INTERRUPTED, "done at exit\n")],
    ids=["undecided", "interrupted"],
)
def test_what_is_registered_is_done_at_exit_and_only_a_signal_leaves_threads(
    recorded_run, setting, said
):
    undecided = recorded_run(Recorded().end(5))
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{AT_EXIT}{setting}sys.exit(program.main())",
            "check",
            str(undecided.path),
        ],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (3, said), done.stderr
    assert ("interrupted" in done.stderr) == bool(setting)
