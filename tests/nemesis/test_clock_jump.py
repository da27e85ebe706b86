from random import Random

import pytest

from rumpus.nemesis.entry import Entry, PlanError
from rumpus.nemesis.registry import FAULTS, make_fault
from rumpus.nemesis.targets import Targets

NODES, CLIENTS = ("n1", "n2", "n3"), ("c0",)


class Clocks:
    """By how many seconds each server's clock is ahead; ``stuck`` ones cannot be set."""

    def __init__(self):
        self.ahead = dict.fromkeys(NODES, 0)
        self.stuck = set()

    def set_clock(self, node, seconds):
        if node not in self.stuck:
            self.ahead[node] = seconds

    def clock_error(self, node):
        return self.ahead[node] + 0.01


def jumping(world, **options):
    world.servers.clocks = Clocks()
    entry = Entry(
        id=1,
        at=1,
        kind="clock-jump",
        targets=Targets(names=("n1", "n2")),
        duration=2,
        options=options,
    )
    FAULTS["clock-jump"].check(entry, NODES, CLIENTS)
    fault = make_fault(entry, world.context(), Random(0))
    fault.choose()
    return fault


def test_the_clocks_jump_and_come_back(make_world):
    world = make_world()
    fault = jumping(world, seconds=5)
    fault.inject()
    assert fault.in_force() == (True, "5 s ahead")
    assert world.servers.clocks.ahead == {"n1": 5, "n2": 5, "n3": 0}
    fault.heal()
    assert fault.healed(5).ok
    assert world.servers.clocks.ahead == dict.fromkeys(NODES, 0)


def test_a_clock_that_cannot_be_set_is_seen(make_world):
    world = make_world()
    fault = jumping(world)
    world.servers.clocks.stuck.add("n2")
    fault.inject()
    assert not fault.in_force().ok
    world.servers.clocks.stuck = {"n1"}
    fault.heal()
    assert fault.healed(5) == (False, "clocks still wrong: n1")


@pytest.mark.parametrize("seconds", [0, 100_000, -100_000])
def test_a_step_that_is_none_or_too_long_is_refused(make_world, seconds):
    with pytest.raises(PlanError, match=r"options\.seconds"):
        jumping(make_world(), seconds=seconds)
