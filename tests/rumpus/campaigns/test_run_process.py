import faulthandler
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from rumpus.campaigns.run_process import (
    OutOfTimeError,
    ProcessEndedError,
    ProcessGroup,
    RunProcess,
    Surroundings,
    program_for,
    surroundings,
)
from rumpus.harness.owners import Owner
from tests.rumpus.campaigns.running import is_running

HERE = surroundings()


@pytest.fixture
def process(tmp_path):
    with closing(RunProcess(str(tmp_path))) as process:
        yield process


def test_calls_are_answered_by_another_process_one_after_the_other(process):
    pid = process.call(HERE, 0, os.getpid)
    assert pid != os.getpid()
    assert process.call(HERE, 0, sorted, [2, 1], reverse=True) == [2, 1]
    assert process.call(HERE, 0, os.getpid) == pid


def test_modules_and_files_are_found_as_by_the_caller(process, tmp_path):
    (tmp_path / "of_a_caller.py").write_text("import os\nWHERE = os.getcwd\n")
    where = Surroundings((*HERE.path, str(tmp_path)), str(tmp_path))
    assert process.call(where, 0, eval, "__import__('of_a_caller').WHERE()") == str(tmp_path)


def test_how_a_process_ends_is_told(process):
    with pytest.raises(ProcessEndedError) as ended:
        process.call(HERE, 0, os._exit, 7)
    assert (ended.value.how, ended.value.trace) == ("exit status 7", ())
    assert not process.runs


def test_a_call_that_takes_too_long_is_ended_with_its_process(process):
    began = time.monotonic()
    with pytest.raises(OutOfTimeError, match=r"ended after 0\.5 s: there was no more time"):
        process.call(surroundings(0.5), 0, time.sleep, 100)
    assert time.monotonic() - began < 50
    assert not process.runs


def test_a_process_has_the_memory_that_it_is_given(tmp_path):
    with closing(RunProcess(str(tmp_path), memory=100 << 20)) as process:
        assert process.call(HERE, 0, len, b"x" * (1 << 20)) == 1 << 20
        size = "len(bytearray(200 << 20))"
        assert process.call(HERE, 0, _memory_error_of, size)
        assert not process.call(HERE, 0, _memory_error_of, "len(bytearray(20 << 20))")


def _memory_error_of(code):
    try:
        eval(code)
    except MemoryError:
        return True
    return False


def test_where_a_fatal_signal_has_hit_is_told(process):
    with pytest.raises(ProcessEndedError) as ended:
        process.call(HERE, 0, faulthandler._sigsegv)
    assert ended.value.how == "SIGSEGV"
    assert "Segmentation fault" in ended.value.trace[0]


def test_its_temporary_files_and_what_it_has_started_end_with_it(tmp_path, eventually):
    process = RunProcess(str(tmp_path))
    place = Path(process.call(HERE, 0, tempfile.mkdtemp))
    assert place.is_relative_to(tmp_path)
    child = process.call(HERE, 0, os.spawnlp, os.P_NOWAIT, "sleep", "sleep", "1000")
    assert is_running(child)
    process.close()
    assert list(tmp_path.iterdir()) == []
    eventually(lambda: not is_running(child))


def test_a_process_ends_with_the_thread_that_has_it(eventually):
    group = ProcessGroup()
    pids = []
    thread = threading.Thread(
        target=lambda: pids.append(group.of_thread().call(HERE, 0, os.getpid))
    )
    thread.start()
    thread.join()
    eventually(lambda: not is_running(pids[0]))
    group.end()


def test_a_group_ends_at_once_whatever_its_processes_do():
    group = ProcessGroup()
    told = []

    def sleep():
        try:
            group.of_thread().call(HERE, 0, time.sleep, 1000)
        except ProcessEndedError as ended:
            told.append(ended.how)

    threads = [threading.Thread(target=sleep) for _ in range(2)]
    for thread in threads:
        thread.start()
    while len(group._processes) < 2:
        time.sleep(0.01)
    group.end()
    for thread in threads:
        thread.join(timeout=10)
    assert told == ["SIGKILL", "SIGKILL"]
    with pytest.raises(ProcessEndedError):
        group.of_thread()


def test_a_thread_whose_process_has_ended_gets_another():
    group = ProcessGroup()
    first = group.of_thread()
    first._process.kill()
    first._process.wait()
    second = group.of_thread()
    assert second is not first
    assert second.call(HERE, 0, max, 1, 2) == 2
    group.end()


STARTER = """
import os, subprocess, sys, time
from rumpus.campaigns.run_process import program_for
words = [sys.executable, "-c", program_for(os.getpid()), "sim-server", "--port", "0"]
with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
    process.stdout.readline()
    print(process.pid, flush=True)
    time.sleep(600)
"""


def test_a_program_that_is_started_does_not_outlive_a_process_that_is_killed(eventually):
    words = [sys.executable, "-c", STARTER]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as starter:
        started = int(starter.stdout.readline())
        owner = Owner.of(started)
        starter.kill()
    eventually(lambda: not owner.lives())


def test_a_program_whose_starter_was_killed_before_it_began_does_nothing():
    with subprocess.Popen(["true"]) as dead:
        pass
    words = [sys.executable, "-c", program_for(dead.pid), "run", "--help"]
    ended = subprocess.run(words, capture_output=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, b"")
