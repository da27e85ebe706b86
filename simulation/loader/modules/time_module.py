"""``time``: on the clocks of the process. Its time zone is UTC on every machine."""

import calendar
import time
from types import ModuleType
from typing import Any

from rumpus.simulation.kernel.errors import SimulationError
from rumpus.simulation.loader.modules.simulated_module import simulated
from rumpus.simulation.loader.runtime import Runtime

READ_COST = 100
"""Virtual nanoseconds that reading a clock takes, so that loops that wait for a time end."""
MOST_READS = 1_000
"""After so many readings in one step others get their turn, as with real threads."""


def build(runtime: Runtime) -> ModuleType:
    """The ``time`` of a process."""
    simulator = runtime.simulator
    clock = runtime.process.clock
    monotonic_clock, wall_clock = clock.monotonic, clock.wall
    started = clock.monotonic()
    step, reads = -1, 0

    def take_time() -> None:
        nonlocal step, reads
        task = simulator.current
        if task is not None:
            simulator.now += READ_COST
            if step != simulator.steps:
                step, reads = simulator.steps, 0
            reads += 1
            if reads > MOST_READS:
                task.pass_on()

    def monotonic_ns() -> int:
        take_time()
        return monotonic_clock()

    def monotonic() -> float:
        # Called most often of all: the usual case of take_time and monotonic_clock in line.
        nonlocal step, reads
        if clock.rate == 1 and simulator.current is not None and reads < MOST_READS:
            now = simulator.now = simulator.now + READ_COST
            if step == simulator.steps:
                reads += 1
            else:
                step, reads = simulator.steps, 1
            return (now + clock.offset) / 1e9
        take_time()
        return monotonic_clock() / 1e9

    def time_() -> float:
        take_time()
        return wall_clock() / 1e9

    def time_ns() -> int:
        take_time()
        return wall_clock()

    def process_time_ns() -> int:
        take_time()
        return monotonic_clock() - started

    def process_time() -> float:
        return process_time_ns() / 1e9

    def clock_gettime_ns(which: int, /) -> int:
        take_time()
        if which in (time.CLOCK_REALTIME, time.CLOCK_TAI):
            return wall_clock()
        if which in (time.CLOCK_PROCESS_CPUTIME_ID, time.CLOCK_THREAD_CPUTIME_ID):
            return monotonic_clock() - started
        return monotonic_clock()

    def sleep(seconds: float, /) -> None:
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        task = simulator.current
        if task is None:
            raise SimulationError("a callback of the main loop would sleep")
        task.park(int(seconds * 1e9), "sleep")

    def gmtime(seconds: float | None = None, /) -> time.struct_time:
        return time.gmtime(wall_clock() / 1e9 if seconds is None else seconds)

    def asctime(moment: Any = None, /) -> str:
        return time.asctime(gmtime() if moment is None else moment)

    def strftime(form: str, moment: Any = None, /) -> str:
        return time.strftime(form, gmtime() if moment is None else moment)

    return simulated(
        time,
        altzone=0,
        asctime=asctime,
        clock_gettime=lambda which: clock_gettime_ns(which) / 1e9,
        clock_gettime_ns=clock_gettime_ns,
        ctime=lambda seconds=None: time.asctime(gmtime(seconds)),
        daylight=0,
        gmtime=gmtime,
        localtime=gmtime,
        mktime=lambda moment: float(calendar.timegm(moment)),
        monotonic=monotonic,
        monotonic_ns=monotonic_ns,
        perf_counter=monotonic,
        perf_counter_ns=monotonic_ns,
        process_time=process_time,
        process_time_ns=process_time_ns,
        sleep=sleep,
        strftime=strftime,
        thread_time=process_time,
        thread_time_ns=process_time_ns,
        time=time_,
        time_ns=time_ns,
        timezone=0,
        tzname=("UTC", "UTC"),
        tzset=lambda: None,
    )
