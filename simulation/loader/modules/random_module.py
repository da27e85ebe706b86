"""``random``: what is not seeded by the program is seeded from the world's seed."""

import random
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

from rumpus.simulation.loader.modules.simulated_module import simulated
from rumpus.simulation.loader.runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Callable


def build(runtime: Runtime) -> ModuleType:
    """The ``random`` of a process."""
    process = runtime.process
    stream = runtime.simulator.random(f"random of {process.name} {process.pid}")
    bits = stream.getrandbits

    class Random(random.Random):
        def __new__(cls, *_: Any, **__: Any) -> Self:
            # Without a seed of our own the system's entropy would be asked for one.
            return super().__new__(cls, 0)  # type: ignore[call-arg] # of _random.Random

        def seed(self, a: Any = None, version: int = 2) -> None:
            super().seed(bits(128) if a is None else a, version)

    class SystemRandom(random.SystemRandom):
        def random(self) -> float:
            return stream.random()

        def getrandbits(self, k: int, /) -> int:
            return bits(k)

        def randbytes(self, n: int) -> bytes:
            return stream.randbytes(n)

    def randint(a: int, b: int) -> int:
        # What the library's does, without its two further calls: kazoo draws before every wait.
        width = b - a + 1
        if type(width) is not int or width <= 0:
            return random.Random.randint(shared, a, b)
        size = width.bit_length()
        number = draw_bits(size)
        while number >= width:
            number = draw_bits(size)
        return a + number

    shared = Random()
    draw_bits = shared.getrandbits
    replaced: dict[str, Callable[..., Any]] = {
        name: getattr(shared, name)
        for name in random.__all__
        if name not in ("Random", "SystemRandom")
    }
    replaced["randint"] = randint
    return simulated(random, Random=Random, SystemRandom=SystemRandom, _inst=shared, **replaced)
