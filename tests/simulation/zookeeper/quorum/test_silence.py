import pytest

from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.zookeeper.quorum.silence import SilenceWatch


class Listening:
    """A process that waits for packets; notes when it gave up, in seconds."""

    def __init__(self, simulator):
        self.simulator = simulator
        self.process = simulator.process("n1")
        self.excused = False
        self.gave_up = []
        self.watch = SilenceWatch(self.process, 2 * SECOND, lambda: self.excused, self.give_up)

    def give_up(self):
        self.gave_up.append(self.simulator.now // SECOND)

    def hear(self):
        self.watch.heard = self.simulator.now

    def at(self, second, callback):
        self.simulator.call_at(second * SECOND, lambda _: callback())

    def run(self, until):
        self.simulator.run(until * SECOND)
        return self.gave_up


@pytest.fixture
def listening():
    simulator = Simulator(1)
    yield Listening(simulator)
    simulator.close()


def test_gives_up_after_the_limit(listening):
    listening.watch.start()
    assert listening.run(10) == [2]


def test_a_packet_postpones_it(listening):
    listening.watch.start()
    listening.at(1, listening.hear)
    assert listening.run(10) == [3]


def test_silence_is_not_counted_while_nothing_has_to_come(listening):
    listening.excused = True
    listening.watch.start()
    assert listening.run(10) == []


def test_a_start_forgets_the_silence_before(listening):
    listening.watch.start()
    listening.watch.limit = 3 * SECOND
    listening.at(1, listening.watch.start)
    assert listening.run(10) == [4]


def test_stops(listening):
    listening.watch.start()
    listening.at(1, listening.watch.stop)
    assert listening.run(10) == []


def test_what_came_while_the_process_was_frozen_is_taken_in_first(listening):
    process = listening.process
    listening.watch.start()
    listening.at(1, process.freeze)
    listening.at(3, lambda: process.post(listening.hear))
    listening.at(4, process.thaw)
    assert listening.run(5) == []
    assert listening.run(10) == [6]
