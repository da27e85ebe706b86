"""The driver's mailbox in a simulated world."""

import pytest

from rumpus.harness.simulated.mailbox import SimMailbox
from rumpus.simulation.kernel.simulator import MILLISECOND, SECOND, Simulator


@pytest.fixture
def simulator():
    simulator = Simulator(1)
    yield simulator
    simulator.close()


def heard(simulator, *told, watched=(0, 1)):
    """What one who waits for 50 ms hears, and after how many ms, as clients say ``told``."""
    mailbox = SimMailbox(simulator)
    for client in watched:
        mailbox.watch(client, client)
    found = []

    def read():
        began = simulator.now
        speakers = mailbox.wait(0.05)
        found.append((speakers, (simulator.now - began) // MILLISECOND))

    simulator.process("control").spawn(read)
    for time, client, urgent in told:
        simulator.call_at(
            time * MILLISECOND,
            lambda _, client=client, urgent=urgent: mailbox.heard(client, urgent=urgent),
        )
    simulator.run(SECOND)
    return found


def test_what_is_urgent_wakes_the_driver(simulator):
    assert heard(simulator, (10, 0, True)) == [([0], 9)]


def test_what_is_not_urgent_is_found_with_what_is_in_the_order_in_which_it_was_said(simulator):
    assert heard(simulator, (10, 1, False), (20, 0, True)) == [([1, 0], 19)]


def test_what_is_not_urgent_waits_no_longer_than_the_driver(simulator):
    assert heard(simulator, (10, 0, False)) == [([0], 50)]


def test_those_who_are_not_watched_wake_nobody(simulator):
    assert heard(simulator, (10, 1, True), watched=[0]) == [([], 50)]
