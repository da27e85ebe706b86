import pytest

from rumpus.simulation.kernel.errors import Hung
from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.kernel.watchdog import HangWatchdog


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
