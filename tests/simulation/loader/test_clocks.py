# ruff: noqa: DTZ001 - naive times are what is tried here
import datetime as real_datetime  # noqa: ICN001 - beside the simulated one
import time as real_time

import pytest

from rumpus.simulation.kernel.clock import BOOT, EPOCH
from rumpus.simulation.kernel.simulator import SECOND


def test_time_is_that_of_the_process(world):
    module = world.run(
        """
        import time
        from time import monotonic
        def main():
            global seen
            before = monotonic(), time.time(), time.perf_counter(), time.process_time()
            time.sleep(2.5)
            after = monotonic(), time.time(), time.perf_counter(), time.process_time()
            seen = [b - a for a, b in zip(before, after)]
        """
    )
    assert module.seen == pytest.approx([2.5] * 4, abs=0.001)
    assert module.monotonic() == pytest.approx(BOOT / SECOND + 1000, abs=1)
    assert module.time.time() == pytest.approx(EPOCH / SECOND + 1000, abs=1)
    assert module.time.time_ns() // SECOND == EPOCH // SECOND + 1000
    assert module.time.clock_gettime(real_time.CLOCK_REALTIME) == module.time.time()
    assert module.time.clock_gettime_ns(real_time.CLOCK_MONOTONIC) == module.time.monotonic_ns()
    assert module.time.localtime() == module.time.gmtime(EPOCH / SECOND + 1000)
    assert module.time.strftime("%Y-%m-%d %H:%M:%S") == "2023-11-14 22:30:00"
    assert module.time.ctime() == module.time.asctime() == "Tue Nov 14 22:30:00 2023"
    assert module.time.mktime(module.time.gmtime(12)) == 12


def test_a_skewed_clock_is_seen(world):
    space = world.space()
    time = space.load("time")
    before = time.time(), time.monotonic()
    space.process.clock.step(-100 * SECOND)
    assert time.time() == before[0] - 100
    assert time.monotonic() == before[1]


def test_loops_that_only_look_at_the_clock_end_and_let_others_run(world):
    module = world.run(
        """
        import threading, time
        turns = []
        def main():
            stop = time.monotonic() + 0.01
            seen = []
            thread = threading.Thread(target=lambda: seen.append(time.monotonic()))
            thread.start()
            while time.monotonic() < stop:
                pass
            turns.append(stop - seen[0])
        """
    )
    assert module.turns[0] > 0.005


def test_negative_sleeps_are_refused(world):
    with pytest.raises(ValueError, match="non-negative"):
        world.space().load("time").sleep(-1)


def test_dates(world):
    module = world.run(
        """
        import datetime
        from datetime import date, datetime as moment, timezone
        def main():
            global seen
            seen = [
                moment.now(), moment.utcnow(), moment.today(), moment.now(timezone.utc),
                date.today(),
            ]
        """
    )
    text = [str(value)[:19] for value in module.seen]
    assert text == ["2023-11-14 22:13:20"] * 4 + ["2023-11-14"]
    naive, _, _, aware, day = module.seen
    assert naive.timestamp() == pytest.approx(EPOCH / SECOND, abs=0.001)
    assert aware.timestamp() == pytest.approx(EPOCH / SECOND, abs=0.001)
    assert (naive.tzinfo, aware.tzinfo) == (None, real_datetime.UTC)
    assert isinstance(naive + real_datetime.timedelta(1), module.moment)
    assert isinstance(real_datetime.datetime(2000, 1, 1), module.moment)
    assert isinstance(real_datetime.datetime(2000, 1, 1), module.datetime.date)
    assert isinstance(day, real_datetime.date)
    assert issubclass(real_datetime.datetime, module.moment)
    assert module.moment.fromtimestamp(0) == real_datetime.datetime(1970, 1, 1)
    assert naive.astimezone().utcoffset() == real_datetime.timedelta(0)
    assert module.moment(2000, 1, 2, 3).strftime("%d %H") == "02 03"
    assert day == real_datetime.date(2023, 11, 14)
    assert str(module.moment.fromisoformat("2001-02-03")) == "2001-02-03 00:00:00"


def test_functions_of_builtin_modules_do_not_become_methods(world):
    class Clock:
        now = world.space().load("time").monotonic

    assert Clock().now() == pytest.approx(BOOT / SECOND)
