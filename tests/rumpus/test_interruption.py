import contextlib
import os
import signal
import subprocess
import sys
import threading

import pytest

from rumpus.interruption import AGAIN, FIRST, Interruption, as_keyboard_interrupt

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def send(number):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_is_a_wish_that_is_asked_for(number):
    interruption, said = Interruption(), []
    earlier = signal.getsignal(number)
    with interruption.listening(said.append):
        assert not interruption.requested()
        send(number)
        assert interruption.requested()
    assert said == [FIRST]
    assert signal.getsignal(number) is earlier


def test_a_second_one_is_told_that_it_ends_already():
    interruption, said = Interruption(), []
    with interruption.listening(said.append):
        send(signal.SIGINT)
        send(signal.SIGTERM)
        send(signal.SIGINT)
    assert said == [FIRST, AGAIN, AGAIN]


def test_nothing_is_said_on_the_thread_that_was_interrupted():
    """It may be in the middle of saying something itself, with the console's lock held."""
    speakers = []
    with Interruption().listening(lambda _: speakers.append(threading.current_thread())):
        send(signal.SIGINT)
    assert speakers != [threading.current_thread()]
    assert len(speakers) == 1


def test_what_was_to_be_ignored_stays_ignored():
    interruption = Interruption()
    earlier = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruption.listening(print):
            send(signal.SIGHUP)
        assert not interruption.requested()
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, earlier)


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_before_a_run_each_signal_is_a_keyboard_interrupt(number):
    earlier = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), as_keyboard_interrupt():
        send(number)
    assert signal.getsignal(number) is earlier


def test_a_wish_that_was_swallowed_before_a_run_ends_the_run():
    with as_keyboard_interrupt(), contextlib.suppress(KeyboardInterrupt):
        send(signal.SIGINT)
    assert Interruption().requested()
    assert not Interruption().requested()


def test_a_wish_that_has_ended_something_is_fulfilled():
    with pytest.raises(KeyboardInterrupt), as_keyboard_interrupt():
        send(signal.SIGINT)
    assert not Interruption().requested()


def test_on_another_thread_signals_are_left_alone():
    seen = []

    def listen():
        with Interruption().listening(print):
            seen.append(signal.getsignal(signal.SIGTERM))

    earlier = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    assert seen == [earlier]


BEYOND = """
import sys, time
from rumpus.interruption import Interruption
from rumpus.harness.scratch import scratch

interruption = Interruption()
with interruption.passed_on(), scratch("run"):
    with interruption.listening(print):
        pass
    print("judging", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_what_a_block_has_made_is_removed_before_a_signal_ends_the_process(number, tmp_path):
    words = [sys.executable, "-c", BEYOND]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout.readline() == "judging\n"
        process.send_signal(number)
        assert process.wait(30) in (-number, 130, 1)
    assert [*tmp_path.glob("rumpus-*")] == []
