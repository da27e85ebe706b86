"""Threads of simulated clients that are held back when they are to run."""

import pytest

from rumpus.harness.links.triggers import SWITCH
from rumpus.harness.simulated.machines import SimClientMachines
from rumpus.simulation.kernel.simulator import MILLISECOND, SECOND, Simulator


class Client:
    """A process with two threads that take turns: one sets the other's alarm."""

    def __init__(self):
        self.simulator = Simulator(1)
        self.simulator.in_order = True
        self.process = self.simulator.process("c0")
        self.told = []
        self.ran = []
        self.machines = SimClientMachines(
            lambda _: self.process, lambda *words: self.told.append(words), 1
        )

    def start(self, *names):
        for name in names:
            self.process.spawn(lambda name=name: self._live(name), name)

    def _live(self, name):
        for _ in range(3):  # and one more switch, to end
            self.ran.append((name, self.simulator.now))
            self.simulator.current.park(10 * MILLISECOND)

    def run(self):
        self.simulator.run(SECOND)
        return [name for name, _ in self.ran]


@pytest.fixture
def client():
    client = Client()
    yield client
    client.simulator.close()


def test_the_thread_that_is_the_nth_to_run_goes_later(client):
    held = client.machines.hold_back(0, 3, 0.015)
    client.start("one", "two")  # switches 1 and 2
    assert client.run() == ["one", "two", "two", "two", "one", "one"]
    assert held.acted is not None
    times = [time for name, time in client.ran if name == "one"]
    assert 25 * MILLISECOND <= times[1] - times[0] < 26 * MILLISECOND
    assert client.simulator.failures == []


def test_switches_are_told_in_order_and_without_the_harness(client):
    assert client.machines.switches() == []
    client.start("one", "belief", "two")
    client.run()
    seen = client.machines.switches()
    assert [(each.client, each.what) for each in seen] == [(0, SWITCH)] * 8
    assert [each.time for each in seen] == sorted(each.time for each in seen)


def test_a_trigger_that_was_withdrawn_holds_nothing_back(client):
    held = client.machines.hold_back(0, 3, 0.015)
    held.withdraw()
    client.start("one", "two")
    assert client.run() == ["one", "two", "one", "two", "one", "two"]
    assert held.acted is None


def test_a_thread_that_is_held_back_does_not_run_in_a_dead_process(client):
    client.machines.hold_back(0, 3, 0.05)
    client.start("one")
    client.simulator.call_at(40 * MILLISECOND, lambda _: client.process.kill())
    client.run()
    assert [name for name, _ in client.ran] == ["one", "one"]


def test_a_frozen_process_holds_the_thread_until_it_is_thawed(client):
    client.machines.hold_back(0, 2, 0.015)
    client.start("one")
    client.simulator.call_at(12 * MILLISECOND, lambda _: client.process.freeze())
    client.simulator.call_at(100 * MILLISECOND, lambda _: client.process.thaw())
    client.run()
    assert client.ran[1][1] >= 100 * MILLISECOND
