import signal
import threading
import time
import weakref

import pytest
from greenlet import getcurrent

from rumpus.simulation.kernel.errors import Stuck
from rumpus.simulation.kernel.preemption import MODES
from rumpus.simulation.kernel.simulator import MILLISECOND, SECOND, Simulator
from rumpus.simulation.kernel.synchronization import Locks


@pytest.fixture
def simulator():
    simulator = Simulator(7)
    yield simulator
    simulator.close()


def test_time_passes_only_virtually(simulator):
    process = simulator.process("a")
    seen = []
    process.call_later(3600 * SECOND, lambda: seen.append(simulator.now))
    simulator.run(4000 * SECOND)
    assert seen == [3600 * SECOND]
    assert simulator.now == 4000 * SECOND


def test_a_frozen_process_goes_on_where_it_was(simulator):
    process = simulator.process("a")
    seen = []

    def sleep_often():
        for _ in range(5):
            simulator.current.park(SECOND, "sleep")
            seen.append(round(simulator.now / SECOND))

    process.spawn(sleep_often)
    process.call_later(3 * SECOND, lambda: seen.append("timer"))
    simulator.call_at(SECOND + 500 * MILLISECOND, lambda _: process.freeze())
    simulator.call_at(10 * SECOND, lambda _: process.thaw())
    simulator.run(30 * SECOND)
    assert seen == [1, "timer", 10, 11, 12, 13]


def test_a_killed_process_unwinds_and_does_nothing_more(simulator):
    process = simulator.process("a")
    seen = []

    def wait():
        try:
            simulator.current.park(None, "for ever")
        finally:
            seen.append("finally")
            simulator.current.park(None, "again")
            seen.append("never")

    process.spawn(wait)
    process.call_later(2 * SECOND, seen.append, "never")
    simulator.call_at(SECOND, lambda _: process.kill())
    simulator.run(5 * SECOND)
    assert seen == ["finally"]
    assert not process.tasks
    assert not simulator.failures


def test_a_killed_task_that_could_not_take_its_lock_again_unwinds(simulator):
    """As in ``Condition.wait``; a program that catches every ``Exception`` would never end."""
    process = simulator.process("a")
    lock = Locks(process).lock()
    errors = []

    def go_on():
        while len(errors) < 5:
            try:
                with lock:
                    lock.release()
                    simulator.current.park(None, "for ever")
                    lock.acquire()
            except Exception as error:
                errors.append(error)

    process.spawn(go_on)
    simulator.call_at(SECOND, lambda _: process.kill())
    simulator.run(5 * SECOND)
    assert not errors
    assert not process.tasks


def test_one_task_may_kill_its_own_process(simulator):
    process = simulator.process("a")
    other = simulator.process("b")
    seen = []

    def end():
        process.kill()
        seen.append("goes on to its next wait")
        simulator.current.park(SECOND)
        seen.append("never")

    process.spawn(lambda: simulator.current.park(None, "for ever"), "waiter")
    process.spawn(end)
    other.spawn(lambda: simulator.current.park(SECOND) and None)
    simulator.run(5 * SECOND)
    assert seen == ["goes on to its next wait"]
    assert not process.tasks


def test_a_world_in_which_nothing_will_happen_is_stuck(simulator):
    locks = Locks(simulator.process("a"))
    one, two = locks.lock(), locks.lock()
    process = simulator.processes[0]

    def take(first, second):
        first.acquire()
        simulator.current.park(MILLISECOND)
        second.acquire()

    process.spawn(lambda: take(one, two), "ab")
    process.spawn(lambda: take(two, one), "ba")
    with pytest.raises(Stuck, match=r"a/1:ab waits for a lock(.|\n)*second.acquire"):
        simulator.run()


def test_a_lock_excludes(simulator):
    process = simulator.process("a")
    lock = Locks(process).lock()
    inside, most = [], []

    def contend():
        for _ in range(20):
            with lock:
                inside.append(1)
                most.append(len(inside))
                simulator.current.park(MILLISECOND)
                inside.pop()

    for number in range(4):
        process.spawn(contend, str(number))
    simulator.run(SECOND)
    assert most == [1] * 80


def test_a_lock_gives_up_in_time(simulator):
    process = simulator.process("a")
    lock = Locks(process).lock()
    told = []

    def impatient():
        assert lock.acquire()
        told.append((lock.acquire(timeout=2), round(simulator.now / SECOND)))
        told.append(lock.acquire(blocking=False))

    process.spawn(impatient)
    simulator.run(10 * SECOND)
    assert told == [(False, 2), False]
    assert not simulator.failures


def test_a_reentrant_lock_belongs_to_its_task(simulator):
    process = simulator.process("a")
    lock = Locks(process).rlock()
    told = []

    def owner():
        with lock, lock:
            simulator.current.park(SECOND)
        told.append("let go")

    def other():
        simulator.current.park(MILLISECOND)
        with pytest.raises(RuntimeError):
            lock.release()
        with lock:
            told.append("got it")

    process.spawn(owner)
    process.spawn(other)
    simulator.run(3 * SECOND)
    assert told == ["let go", "got it"]


def trace_of(seed):
    simulator = Simulator(seed)
    process = simulator.process("a")
    lock = Locks(process).lock()

    def contend():
        for _ in range(50):
            with lock:
                simulator.current.park(1000)

    for _ in range(5):
        process.spawn(contend)
    simulator.run(SECOND)
    digest = simulator.digest()
    simulator.close()
    return digest


def test_the_seed_decides_everything():
    assert trace_of(1) == trace_of(1)
    assert trace_of(1) != trace_of(2)


def test_clocks_can_be_wrong(simulator):
    process = simulator.process("a")
    process.clock.run_at(2)
    before, wall = process.clock.monotonic(), process.clock.wall()
    fired = []
    process.call_later(10 * SECOND, lambda: fired.append(simulator.now))
    simulator.run(5 * SECOND)
    assert fired == [5 * SECOND]
    assert process.clock.monotonic() - before == 10 * SECOND
    process.clock.step(-3600 * SECOND)
    assert process.clock.wall() - wall == (10 - 3600) * SECOND
    assert process.clock.monotonic() - before == 10 * SECOND


@pytest.mark.parametrize("mode", MODES)
def test_ctrl_c_that_strikes_in_a_task_leaves_the_world_at_once(simulator, mode):
    simulator.preempt(mode)
    process = simulator.process("a")
    process.is_traced = lambda _: True
    unwound = []

    def wait():
        try:
            simulator.current.park()
        finally:
            unwound.append(simulator.now)

    process.spawn(wait)
    process.call_later(SECOND, lambda: process.spawn(lambda: signal.raise_signal(signal.SIGINT)))
    with pytest.raises(KeyboardInterrupt):
        simulator.run(10 * SECOND)
    assert SECOND <= simulator.now < SECOND + MILLISECOND
    assert simulator.failures == []
    assert unwound == []
    simulator.close()
    assert len(unwound) == 1
    assert simulator.current is None


def test_a_closed_world_does_not_keep_the_greenlet_of_its_thread():
    # greenlet crashes the process if a collector frees the last reference in a bad moment.
    kept = []

    def live_and_close():
        simulator = Simulator(7)
        simulator.run(SECOND)
        simulator.close()
        kept.extend((simulator, weakref.ref(getcurrent())))

    thread = threading.Thread(target=live_and_close)
    thread.start()
    thread.join()
    _, greenlet_of_thread = kept
    deadline = time.monotonic() + 20
    while greenlet_of_thread() is not None:  # freed here, after the thread's end
        assert time.monotonic() < deadline
        time.sleep(0.001)
