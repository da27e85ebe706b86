import contextlib

import pytest

from rumpus.simulation.kernel import watchdog
from rumpus.simulation.kernel.errors import Hung, OutOfMemory, OutOfTime
from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.kernel.watchdog import Watchdog


def test_a_task_that_never_yields_is_interrupted_where_it_is():
    simulator = Simulator(1)
    process = simulator.process("a")

    def compute_for_ever():
        while True:
            pass

    process.spawn(compute_for_ever)
    with Watchdog(simulator, patience=0.1), pytest.raises(Hung) as caught:
        simulator.run(SECOND)
    assert caught.traceback[-1].name == "compute_for_ever"
    simulator.close()


def test_scarce_memory_ends_a_world_whose_tasks_go_on_without():
    simulator = Simulator(1)
    process = simulator.process("a")
    looks = 0

    def scarce():
        nonlocal looks
        looks += 1
        return looks > 2

    def go_on():
        while True:
            with contextlib.suppress(Exception):
                process.simulator.current.park(SECOND)

    process.spawn(go_on)
    with Watchdog(simulator, scarce=scarce), pytest.raises(OutOfMemory):
        simulator.run()
    simulator.close()


def test_who_catches_that_is_told_again(monkeypatch):
    monkeypatch.setattr(watchdog, "AGAIN_S", 0.01)
    simulator = Simulator(1)
    caught = 0

    def catch():
        nonlocal caught
        while caught < 2:
            try:
                while True:
                    pass
            except OutOfMemory:
                caught += 1

    simulator.process("a").spawn(catch)
    with Watchdog(simulator, scarce=lambda: caught < 2), contextlib.suppress(OutOfMemory):
        simulator.run(SECOND)
    assert caught == 2
    simulator.close()


def test_a_world_ends_with_its_time():
    simulator = Simulator(1)
    process = simulator.process("a")

    def go_on():
        while True:
            process.simulator.current.park(SECOND)

    process.spawn(go_on)
    with Watchdog(simulator, longest=0.05), pytest.raises(OutOfTime):
        simulator.run()
    simulator.close()
