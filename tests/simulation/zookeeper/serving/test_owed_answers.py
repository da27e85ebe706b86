"""The bound on what all clients of a server are owed together."""

import logging

from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.zookeeper.serving.owed_answers import (
    LONGEST_ORDINARY,
    STALLED,
    OwedAnswers,
)

MOST = 4 * LONGEST_ORDINARY


class Client:
    """A connection, and its own transport."""

    def __init__(self, owed, session):
        self.owed = owed
        self.session = session
        self.transport = self
        self.written = self.left = self.asked = self.admitted = 0
        self.reset = False

    def unsent(self):
        return self.left

    def abort(self):
        self.reset = True
        self.left = 0
        self.owed.left(self)

    def admit(self):
        if self.owed.has_room(self.asked):
            self.admitted += 1
        else:
            self.owed.wait(self)

    def ask(self, answers):
        self.asked = answers
        self.admit()

    def send(self, size):
        self.left += size
        self.written += size
        self.owed.sent(self)


class World:
    def __init__(self):
        self.simulator = Simulator(1)
        self.owed = OwedAnswers(self.simulator.process("server", "10.0.0.1"), MOST)

    def client(self, session):
        return Client(self.owed, session)

    def wait(self, time):
        self.simulator.run(self.simulator.now + time)


def test_who_finds_no_room_waits_until_there_is_some():
    world = World()
    first, second, third = map(world.client, range(3))
    first.send(MOST - LONGEST_ORDINARY)
    second.ask(2)
    third.ask(1)  # needs less
    world.wait(SECOND)
    assert (second.admitted, third.admitted) == (0, 1)
    first.left = 0
    world.owed.freed()
    world.wait(0)
    assert second.admitted == 1


def test_answers_that_are_not_ready_count():
    world = World()
    client = world.client(1)
    world.owed.expected = 4
    client.ask(1)
    world.wait(3 * SECOND)
    assert client.admitted == 0
    world.owed.expected = 3
    world.owed.freed()
    world.wait(0)
    assert client.admitted == 1


def test_who_reads_nothing_while_others_wait_is_reset(caplog):
    world = World()
    deaf, slow, waiting = map(world.client, (-1, 2, 3))
    deaf.send(3 * LONGEST_ORDINARY)
    slow.send(LONGEST_ORDINARY)
    world.wait(2 * STALLED)  # nobody waits
    waiting.ask(2)
    with caplog.at_level(logging.WARNING):
        for _ in range(STALLED // SECOND + 2):
            assert not deaf.reset or waiting.admitted
            slow.left -= 1
            world.wait(SECOND)
    assert (deaf.reset, slow.reset, waiting.admitted) == (True, False, 1)
    (told,) = caplog.messages
    assert told.startswith("session 0xffffffffffffffff: its client has not read 3,145,728 bytes")


def test_who_has_read_most_is_admitted_first():
    world = World()
    hog, new, reader = map(world.client, range(3))
    hog.send(MOST)
    reader.send(9)
    reader.left = 0
    new.ask(3)
    reader.ask(3)
    hog.left = 0
    for client in (new, reader):
        admit = client.admit

        def count(client=client, admit=admit):
            before = client.admitted
            admit()
            world.owed.expected += 3 * (client.admitted - before)

        client.admit = count
    world.owed.freed()
    world.wait(0)
    assert (new.admitted, reader.admitted) == (0, 1)
