import random as real_random
import uuid as real_uuid

from rumpus.simulation.kernel.simulator import Simulator
from rumpus.simulation.loader.space import Space

PROGRAM = """
import os, random, secrets, uuid
from random import Random, SystemRandom, choice
def draw():
    shuffled = list(range(9))
    random.shuffle(shuffled)
    random.seed()
    return [
        shuffled, random.random(), choice("abcdefgh"), Random().random(), SystemRandom().random(),
        SystemRandom().choice(range(99)), SystemRandom().randbytes(4), os.urandom(8).hex(),
        os.getrandom(8).hex(), uuid.uuid4().hex, uuid.uuid1().hex, secrets.token_hex(4),
        secrets.randbelow(1000), random.gauss(0, 1), random.getrandbits(64), random.randbytes(4),
    ]
"""


def drawn(world, name, seed, host="a"):
    simulator = Simulator(seed)
    space = Space(simulator.process(host), None, (name,), path=[str(world.directory)])
    drawn = space.load(name).draw()
    simulator.close()
    return drawn


def test_all_of_it_comes_from_the_seed(world):
    name = world.write(PROGRAM)
    first = drawn(world, name, 1)
    assert first == drawn(world, name, 1)
    for other in (drawn(world, name, 2), drawn(world, name, 1, host="b")):
        same = [a == b for a, b in zip(first, other, strict=True)]
        assert sum(same) <= 1, same  # one letter of eight may be the same


def test_processes_of_one_name_draw_different_numbers(world):
    one, two = world.space(host="a"), world.space(host="a")
    assert one.load("random").random() != two.load("random").random()


def test_seeded_generators_are_those_of_the_library(world):
    random = world.space().load("random")
    assert random.Random(5).random() == real_random.Random(5).random()
    assert random.Random("x").sample(range(99), 5) == real_random.Random("x").sample(range(99), 5)
    random.seed(3)
    assert random.random() == real_random.Random(3).random()
    state = random.getstate()
    before = random.random()
    random.setstate(state)
    assert random.random() == before


def test_uuids_are_well_formed(world):
    uuid = world.space().load("uuid")
    one, two = uuid.uuid1(), uuid.uuid1()
    assert (one.version, one.variant) == (1, real_uuid.RFC_4122)
    assert one.time < two.time
    assert one.node == two.node == uuid.getnode()
    assert uuid.uuid1(7, 9).node == 7
    assert uuid.uuid4().version == 4
    assert uuid.uuid5(uuid.NAMESPACE_DNS, "x") == real_uuid.uuid5(real_uuid.NAMESPACE_DNS, "x")
