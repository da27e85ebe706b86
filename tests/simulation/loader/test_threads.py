import signal

import pytest

from rumpus.simulation.kernel.errors import SimulationError
from rumpus.simulation.kernel.simulator import SECOND


def test_threads_run_and_are_joined(world):
    module = world.run(
        """
        import threading, time
        SEEN = []
        def work(number):
            time.sleep(number)
            SEEN.append((number, threading.current_thread().name, threading.get_ident()))
        def main():
            threads = [threading.Thread(target=work, args=(n,), name=f"w{n}") for n in (3, 1, 2)]
            for thread in threads: thread.start()
            assert all(thread.is_alive() for thread in threads)
            assert threading.active_count() == 4
            threads[1].join(timeout=0.5)
            assert threads[1].is_alive()
            for thread in threads: thread.join()
            assert not any(thread.is_alive() for thread in threads)
            assert [thread.ident for thread in threads] == [SEEN[i][2] for i in (2, 0, 1)]
            assert threading.current_thread() is threading.main_thread()
            global elapsed
            elapsed = time.monotonic()
        START = time.monotonic()
        """
    )
    assert [(number, name) for number, name, _ in module.SEEN] == [(1, "w1"), (2, "w2"), (3, "w3")]
    assert module.elapsed - module.START == pytest.approx(3, abs=0.01)


def test_every_primitive_of_threading(world):
    module = world.run(
        """
        import queue, threading, time
        from _thread import start_new_thread
        told = {}
        def main():
            barrier = threading.Barrier(3)
            semaphore = threading.BoundedSemaphore(2)
            condition = threading.Condition()
            event = threading.Event()
            local = threading.local()
            local.x = "main"
            most, inside, order = [], [], []
            def worker(number):
                local.x = number
                barrier.wait()
                with semaphore:
                    inside.append(number)
                    most.append(len(inside))
                    time.sleep(1)
                    inside.remove(number)
                assert local.x == number
                with condition:
                    order.append(number)
                    condition.notify_all()
                event.wait()
            threads = [threading.Thread(target=worker, args=(n,)) for n in range(3)]
            for thread in threads: thread.start()
            with condition:
                assert condition.wait_for(lambda: len(order) == 3, timeout=10)
                assert not condition.wait_for(lambda: False, timeout=1)
                assert not condition.wait(0.5)
            assert not event.wait(0.5)
            event.set()
            for thread in threads: thread.join(5)
            told.update(most=max(most), local=local.x, alive=threading.active_count())
            timer = threading.Timer(2, lambda: told.update(timer=time.monotonic()))
            cancelled = threading.Timer(2, lambda: told.update(never=True))
            before = time.monotonic()
            timer.start(), cancelled.start(), cancelled.cancel(), timer.join()
            told["timer"] = round(told["timer"] - before)
            raw = threading.Event()
            assert start_new_thread(raw.set, ()) > 0
            told["raw"] = raw.wait(1)
            try:
                semaphore.release()
            except ValueError:
                told["bounded"] = True
            try:
                condition.wait()
            except RuntimeError:
                told["unowned wait"] = True
            try:
                condition.notify()
            except RuntimeError:
                told["unowned notify"] = True
            plain = threading.Condition(threading.Lock())
            with plain:
                told["plain"] = plain.wait(1)
        """
    )
    assert module.told == {
        "most": 2, "local": "main", "alive": 1, "timer": 2, "raw": True, "bounded": True,
        "unowned wait": True, "unowned notify": True, "plain": False,
    }  # fmt: skip


def test_notified_waiters_go_first_in_first_out_and_one_by_one(world):
    module = world.run(
        """
        import threading, time
        order = []
        def main():
            condition = threading.Condition()
            def wait(number):
                with condition:
                    condition.wait()
                    order.append(number)
            threads = []
            for number in range(4):
                threads.append(threading.Thread(target=wait, args=(number,)))
                threads[-1].start()
                time.sleep(0.1)
            for _ in range(2):
                with condition:
                    condition.notify()
                time.sleep(0.1)
            assert order == [0, 1]
            with condition:
                condition.notify(5)
            for thread in threads: thread.join()
        """
    )
    assert sorted(module.order[2:]) == [2, 3]


def test_queues(world):
    module = world.run(
        """
        import queue, threading, time
        def main():
            global got, left
            bounded = queue.Queue(maxsize=2)
            simple, lifo, least = queue.SimpleQueue(), queue.LifoQueue(), queue.PriorityQueue()
            got = []
            def consume():
                while (item := bounded.get()) is not None:
                    time.sleep(0.1)
                    got.append(item)
                    bounded.task_done()
            thread = threading.Thread(target=consume)
            thread.start()
            before = time.monotonic()
            for number in range(6): bounded.put(number)
            left = time.monotonic() - before
            bounded.join()
            bounded.put(None)
            thread.join()
            for item in (2, 3, 1):
                simple.put(item), lifo.put(item), least.put(item)
            assert [q.get() for q in (simple, lifo, least)] == [2, 1, 1]
            try:
                bounded.get(timeout=3)
            except queue.Empty:
                pass
            else:
                raise AssertionError
            for full in (bounded,):
                full.put(1), full.put(2)
                try:
                    full.put(3, timeout=1)
                except queue.Full:
                    return
            raise AssertionError
        """
    )
    assert module.got == list(range(6))
    assert 0.3 < module.left < 0.5


def test_executors(world):
    module = world.run(
        """
        import concurrent.futures, time
        from concurrent.futures import ThreadPoolExecutor, as_completed, wait
        def slow(seconds):
            time.sleep(seconds)
            if seconds == 3: raise ValueError(seconds)
            return seconds
        def main():
            global mapped, completed, error, unfinished
            with ThreadPoolExecutor(2, thread_name_prefix="pool") as pool:
                mapped = list(pool.map(slow, (2, 1)))
                futures = [pool.submit(slow, n) for n in (2, 1, 3)]
                done, pending = wait(futures, timeout=1.5)
                unfinished = [futures.index(f) for f in pending]
                completed = [futures.index(f) for f in as_completed(futures)]
                error = futures[2].exception()
                try:
                    futures[2].result()
                except ValueError:
                    pass
                try:
                    pool.submit(time.sleep, 9).result(timeout=1)
                except concurrent.futures.TimeoutError:
                    pass
        """
    )
    assert module.mapped == [2, 1]
    assert module.unfinished == [0, 2]
    assert module.completed[-1] == 2
    assert repr(module.error) == "ValueError(3)"


def test_a_scheduler(world):
    module = world.run(
        """
        import sched
        seen = []
        def main():
            scheduler = sched.scheduler()
            scheduler.enter(3, 1, seen.append, ("three",))
            scheduler.enter(1, 1, seen.append, ("one",))
            scheduler.run()
        """
    )
    assert module.seen == ["one", "three"]


def test_what_would_block_the_main_loop_is_refused(world):
    space = world.space()
    threading, time = space.load("threading"), space.load("time")
    condition = threading.Condition()
    with pytest.raises(SimulationError, match="event"):
        threading.Event().wait(1)
    with condition, pytest.raises(SimulationError, match="condition"):
        condition.wait(1)
    with pytest.raises(SimulationError, match="sleep"):
        time.sleep(1)


def test_deadlocks_show_where(world):
    world.start(
        """
        import threading
        def main():
            lock = threading.Lock()
            with lock:
                lock.acquire()
        """
    )
    world.simulator.run(SECOND)
    assert "lock.acquire()" in world.simulator.dump()


def test_ctrl_c_that_strikes_in_a_thread_leaves_the_world(world):
    module = world.start(
        """
        import threading
        def main():
            threading.Thread(target=lambda: press_ctrl_c()).start()
        """
    )
    module.press_ctrl_c = lambda: signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        world.simulator.run(SECOND)
    assert world.simulator.failures == []
