import itertools
import textwrap

import pytest

from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.loader.space import Space
from rumpus.simulation.network.network import Network

_numbers = itertools.count(1)


class World:
    """A simulator with a network, and programs written down in tests."""

    def __init__(self, directory, seed=7):
        self.directory = directory
        self.simulator = Simulator(seed)
        self.network = Network(self.simulator)

    def space(self, *private, host="a", **options):
        return Space(
            self.simulator.process(host),
            self.network,
            ("kazoo", "program", *private),
            path=[str(self.directory)],
            **options,
        )

    def write(self, source, name=None):
        """Write a module; a name of its own, as compiled code is kept by name."""
        name = name or f"program_{next(_numbers)}"
        (self.directory / f"{name}.py").write_text(textwrap.dedent(source))
        return name

    def start(self, source, host="a", **options):
        """Start a program in a process of its own: its function ``main``."""
        name = self.write(source)
        space = self.space(name, host=host, **options)
        module = space.load(name)
        space.start(module.main)
        return module

    def run(self, source, seconds=1000, **options):
        """Run a program to its end, and return its module; it must not have failed."""
        module = self.start(source, **options)
        self.simulator.run(self.simulator.now + seconds * SECOND)
        assert self.simulator.failures == []
        return module


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    yield world
    world.simulator.close()
