"""``uuid``: the random ones and those made of time and host."""

import uuid
from types import ModuleType
from typing import Final

from rumpus.simulation.loader.modules.simulated_module import simulated
from rumpus.simulation.loader.runtime import Runtime

GREGORIAN_OFFSET: Final = 0x01B21DD213814000
"""From 1582-10-15, the origin of a UUID's time, to 1970-01-01, in units of 100 ns (RFC 4122)."""


def build(runtime: Runtime) -> ModuleType:
    """The ``uuid`` of a process."""
    process = runtime.process
    stream = runtime.simulator.random(f"uuid of {process.name} {process.pid}")
    # A node number that is drawn has its multicast bit set (RFC 4122, 4.5).
    host_number = runtime.simulator.random(f"node {process.host}").getrandbits(48) | 1 << 40
    last = 0

    def getnode() -> int:
        return host_number

    def uuid1(node: int | None = None, clock_seq: int | None = None) -> uuid.UUID:
        nonlocal last
        moment = max(process.clock.wall() // 100 + GREGORIAN_OFFSET, last + 1)
        last = moment
        sequence = stream.getrandbits(14) if clock_seq is None else clock_seq
        return uuid.UUID(
            fields=(
                moment & 0xFFFFFFFF,
                moment >> 32 & 0xFFFF,
                moment >> 48 & 0x0FFF,
                sequence >> 8 & 0x3F,
                sequence & 0xFF,
                host_number if node is None else node,
            ),
            version=1,
        )

    def uuid4() -> uuid.UUID:
        return uuid.UUID(int=stream.getrandbits(128), version=4)

    return simulated(uuid, getnode=getnode, uuid1=uuid1, uuid4=uuid4)
