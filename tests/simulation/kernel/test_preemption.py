import sys

import pytest

from rumpus.simulation.kernel.preemption import MODES, mode_of_seed
from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.kernel.synchronization import Locks


def world(mode, seed=3):
    simulator = Simulator(seed)
    simulator.preempt(mode)
    return simulator


def lost_updates(mode, seed=3):
    """Two tasks increment a counter without a lock; lost updates show where they were preempted."""
    simulator = world(mode, seed)
    process = simulator.process("a")
    process.is_traced = lambda name: name == __file__
    locks = Locks(process)
    counter = [0]

    def count():
        unrelated = locks.lock()
        for _ in range(500):
            seen = counter[0]
            with unrelated:
                pass
            counter[0] = seen + 1

    process.spawn(count)
    process.spawn(count)
    simulator.run(SECOND)
    digest = simulator.digest()
    simulator.close()
    return 1000 - counter[0], digest


@pytest.mark.parametrize(
    ("mode", "loses"), [("none", False), ("blocking", False), ("primitives", True), ("lines", True)]
)
def test_races_show_where_tasks_are_preempted(mode, loses):
    lost, _ = lost_updates(mode)
    assert (lost > 0) == loses


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_is_decided_by_the_seed(mode):
    before = sys.gettrace()
    assert lost_updates(mode) == lost_updates(mode)
    assert sys.gettrace() is before


@pytest.mark.parametrize(
    ("is_traced", "counts"), [(None, False), (lambda _: False, False), (lambda _: True, True)]
)
def test_only_lines_of_the_programs_own_files_count(is_traced, counts):
    simulator = world("lines")
    process = simulator.process("a")
    process.is_traced = is_traced
    process.spawn(lambda: [x for x in range(1000) if x])
    simulator.run(SECOND)
    assert (simulator.preemption.preempted > 0) == counts
    simulator.close()


def test_neither_callbacks_nor_processes_that_are_not_traced_see_the_tracer():
    simulator = world("lines")
    traced, other = simulator.process("a"), simulator.process("b")
    traced.is_traced = lambda _: True
    tracers = {"traced": [], "other": [], "callback": []}

    def look(who):
        for _ in range(3):
            tracers[who].append(sys.gettrace())
            simulator.current.pass_on()

    before = sys.gettrace()
    traced.spawn(lambda: look("traced"))
    other.spawn(lambda: look("other"))
    traced.call_later(1, lambda: tracers["callback"].append(sys.gettrace()))
    simulator.run(SECOND)
    assert tracers["other"] == [before] * 3
    assert tracers["callback"] == [before]
    assert len(tracers["traced"]) == 3
    assert before not in tracers["traced"]
    simulator.close()


def test_the_end_of_one_task_leaves_the_others_traced():
    simulator = world("lines")
    process = simulator.process("a")
    process.is_traced = lambda _: True
    process.spawn(lambda: None)
    process.spawn(lambda: [x for x in range(5000) if x])
    process.spawn(lambda: None)
    simulator.run(SECOND)
    assert simulator.preemption.preempted > 5
    simulator.close()


def test_none_runs_tasks_in_the_order_in_which_they_became_ready():
    simulator = world("none")
    process = simulator.process("a")
    seen = []

    def note(number):
        seen.append(number)
        simulator.current.pass_on()
        seen.append(number + 10)

    for number in range(10):
        process.spawn(lambda number=number: note(number))
    simulator.run(SECOND)
    assert seen == list(range(20))
    simulator.close()


def test_seeds_choose_every_mode():
    assert {mode_of_seed(seed) for seed in range(60)} == set(MODES)


def test_a_mode_that_the_seed_chose_and_the_same_one_named_preempt_at_the_same_moments():
    seed = next(seed for seed in range(60) if mode_of_seed(seed) == "primitives")
    assert lost_updates(None, seed) == lost_updates("primitives", seed)
    assert lost_updates(None, seed) != lost_updates("blocking", seed)
