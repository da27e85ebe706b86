import pytest

from rumpus.simulation.kernel.errors import Hung, Stuck
from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.kernel.watchdog import HangWatchdog, ProgressWatchdog


def beat(process):
    process.call_later(SECOND // 10, beat, process)


def test_heartbeats_are_no_progress():
    simulator = Simulator(1)
    process = simulator.process("a")
    beat(process)
    process.spawn(lambda: simulator.current.park(None, "an answer that never comes"), "asker")
    ProgressWatchdog(simulator, 5 * SECOND)
    with pytest.raises(Stuck, match=r"5 virtual seconds\na/1:asker waits for an answer"):
        simulator.run(60 * SECOND)
    simulator.close()


def test_progress_keeps_it_quiet_and_it_can_be_ended():
    simulator = Simulator(1)
    process = simulator.process("a")
    watchdog = ProgressWatchdog(simulator, 5 * SECOND)

    def work():
        for _ in range(10):
            simulator.current.park(4 * SECOND)
            watchdog.progress()
        watchdog.end()

    process.spawn(work)
    simulator.run(100 * SECOND)
    assert not process.tasks
    simulator.close()


def test_a_task_that_never_yields_is_interrupted_where_it_is():
    simulator = Simulator(1)
    process = simulator.process("a")

    def compute_for_ever():
        while True:
            pass

    process.spawn(compute_for_ever)
    with HangWatchdog(simulator, patience=0.1), pytest.raises(Hung) as caught:
        simulator.run(SECOND)
    assert caught.traceback[-1].name == "compute_for_ever"
    simulator.close()
