"""The bound on what all clients of a server are owed together."""

import logging

from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.zookeeper.serving.owed_answers import (
    LITTLE,
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
        self.waited = 0
        self.reset = False

    def untaken(self):
        return self.left

    kept = untaken

    def discard(self):
        self.reset = True
        self.left = 0
        self.owed.left(self)

    def still_waits(self):
        self.waited += 1

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
        self.owed.sent(self, size)


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
    world.wait(SECOND // 10)
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
    world.wait(SECOND // 10)
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
    assert told.startswith(
        "session 0xffffffffffffffff: its client has not read 3,145,728 bytes, and nothing for 5 s"
    )


def test_who_is_sent_as_much_as_it_reads_is_not_reset():
    world = World()
    busy, waiting = world.client(1), world.client(2)
    busy.send(MOST - LITTLE)
    waiting.ask(1)
    for _ in range(3 * STALLED // SECOND):
        busy.left -= 9
        busy.send(9)
        world.wait(SECOND)
    assert not busy.reset


def test_clients_that_are_closed_already_are_reset_too():
    world = World()
    deaf, waiting = world.client(1), world.client(2)
    deaf.send(MOST)
    world.owed.left(deaf)
    waiting.ask(1)
    world.wait(STALLED + SECOND)
    assert (deaf.reset, waiting.admitted) == (True, 1)
    assert waiting.waited >= STALLED // SECOND


def test_what_nobody_has_asked_for_counts_when_it_is_sent():
    world = World()
    deaf, reading, other = map(world.client, range(3))
    for _ in range(MOST // LITTLE - 1):
        deaf.send(LITTLE)  # watch events, say
        reading.send(LITTLE)
        reading.left = 0
        world.wait(1)
    other.send(LITTLE)
    world.wait(1)
    assert not any(client.reset for client in (deaf, reading, other))
    other.send(LITTLE // 2)
    deaf.send(LITTLE)
    reading.send(LITTLE)
    world.wait(0)
    assert deaf.reset
    assert not reading.reset


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
    world.wait(SECOND // 10)
    assert (new.admitted, reader.admitted) == (0, 1)
