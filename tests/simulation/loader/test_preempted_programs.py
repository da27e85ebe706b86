"""Races of programs that show only where threads are preempted."""

import pytest

from rumpus.simulation.kernel.preemption import MODES
from rumpus.simulation.kernel.simulator import SECOND
from tests.simulation.loader.conftest import World

SEEDS = 10

MAIN = """
import threading
lock, things, makings = threading.Lock(), {}, []

def make(key):
    makings.append(key)
    return object()

def use():
    for key in range(200):
        get(key)

def main():
    for _ in range(2):
        threading.Thread(target=use).start()
"""
"""Two threads need things of which each is to be made once."""

LAZY = """
def get(key):
    if key not in things:
        thing = make(key)
        things[key] = thing
"""
"""No primitive lies between the look and the act."""

LOCK_LET_GO = """
def get(key):
    with lock:
        missing = key not in things
    if missing:
        with lock:
            things[key] = make(key)
"""

LOCKED = """
def get(key):
    with lock:
        if key not in things:
            things[key] = make(key)
"""


def is_made_twice(directory, source, mode):
    name = None
    for seed in range(SEEDS):
        world = World(directory, seed)
        name = name or world.write(MAIN + source)
        world.simulator.preempt(mode)
        space = world.space(name)
        space.process.is_traced = space.is_private_file
        module = space.load(name)
        space.start(module.main)
        world.simulator.run(SECOND)
        assert world.simulator.failures == []
        assert len(module.things) == 200
        world.simulator.close()
        if len(module.makings) > 200:
            return True
    return False


@pytest.mark.parametrize(
    ("source", "shown_by"),
    [(LAZY, {"lines"}), (LOCK_LET_GO, {"lines", "primitives"}), (LOCKED, set())],
    ids=["lazy", "lock-let-go", "locked"],
)
def test_a_race_is_found_by_modes_that_go_deep_enough_and_a_correct_program_passes(
    tmp_path, source, shown_by
):
    assert {mode for mode in MODES if is_made_twice(tmp_path, source, mode)} == shown_by


BUSY_MODULE = """
import threading
lock = threading.Lock()
for number in range({operations}):
    with lock:
        number += 1
"""

IMPORTER = """
import threading
order, lock = [], threading.Lock()

def use(name):
    for _ in range(1000):
        with lock:
            order.append(name)

def main():
    import {imported}
    for name in "ab":
        threading.Thread(target=use, args=(name,)).start()
"""


@pytest.mark.parametrize("mode", MODES)
def test_what_a_program_imports_does_not_decide_where_it_is_preempted(tmp_path, mode):
    orders = set()
    for operations in (0, 1, 57):
        world = World(tmp_path, 3)
        imported = world.write(BUSY_MODULE.format(operations=operations))
        name = world.write(IMPORTER.format(imported=imported))
        world.simulator.preempt(mode)
        space = world.space(name, imported)
        space.process.is_traced = space.is_private_file
        module = space.load(name)
        space.start(module.main)
        world.simulator.run(SECOND)
        assert world.simulator.failures == []
        orders.add("".join(module.order))
        world.simulator.close()
    (order,) = orders
    switches = order.count("ab") + order.count("ba")
    assert (switches > 1) == (mode in ("primitives", "lines"))
