"""Worlds of simulated servers and kazoo clients, without the harness."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.loader.space import Space
from rumpus.simulation.network.network import Network
from rumpus.simulation.zookeeper.cluster import Cluster

TICK_MS = 500
SESSION_TIMEOUT_S = 2.0
SETTLING = 2 * SECOND
"""Within this time an ensemble has its leader."""

HOLD_S = 0.02
LOCK = "/lock"
STRIKE_EVERY = 5 * SECOND
STRIKE_LASTS = 3 * SECOND
FOR_EVER = {"max_tries": -1, "delay": 0.05, "max_delay": 1.0}


class World:
    """An ensemble that serves, and clients of it, each a process named ``c0``, ``c1`` ..."""

    def __init__(self, servers: int, seed: int = 1) -> None:
        self.simulator = Simulator(seed)
        self.network = Network(self.simulator)
        self.cluster = Cluster(self.simulator, self.network, servers, tick_time=TICK_MS)
        self.cluster.start()
        self.done = 0
        """What the clients count."""
        self.spaces: list[Space] = []
        self._nowhere = Path(os.devnull).open("w")  # noqa: SIM115 - ``close`` closes it
        self.run_for(SETTLING)

    def close(self) -> None:
        """End it."""
        self.simulator.close()
        self._nowhere.close()

    def run_for(self, duration: int) -> None:
        """Let virtual nanoseconds pass; no client may have failed."""
        self.simulator.run(self.simulator.now + duration)
        if self.simulator.failures:
            raise self.simulator.failures[0][2]

    def client(self, program: Callable[[Space, Any, Callable[[], None]], None]) -> None:
        """Start a client: ``program(space, kazoo, count)`` is its main thread."""
        name = f"c{len(self.spaces)}"
        space = Space(
            self.simulator.process(name),
            self.network,
            private=("kazoo", "rumpus.recipes"),
            stderr=self._nowhere,  # where kazoo logs to, unless told otherwise
        )
        self.spaces.append(space)
        hosts = ",".join(f"{host}:{port}" for host, port in self.cluster.addresses)

        def main() -> None:
            kazoo = space.load("kazoo.client").KazooClient(
                hosts, timeout=SESSION_TIMEOUT_S, connection_retry=FOR_EVER, command_retry=FOR_EVER
            )
            kazoo.start(timeout=30)
            program(space, kazoo, self._count)

        space.process.spawn(main, "main")

    def _count(self) -> None:
        self.done += 1

    def strike(self) -> None:
        """Kill, pause or cut off a server, in turn and for a while, again and again."""
        self._strike_by_turn(0)

    def _strike_by_turn(self, turn: int) -> None:
        cluster, network, after = self.cluster, self.network, self.simulator.call_after
        node = cluster.nodes[turn % len(cluster.nodes)]
        match turn % 3:
            case 0:
                cluster.kill(node)
                after(STRIKE_LASTS, lambda _: cluster.restart(node))
            case 1:
                cluster.pause(node)
                after(STRIKE_LASTS, lambda _: cluster.resume(node))
            case _:
                network.partition({node: frozenset(cluster.nodes) - {node}})
                after(STRIKE_LASTS, lambda _: network.heal())
        after(STRIKE_EVERY, lambda _: self._strike_by_turn(turn + 1))


def requests(space: Space, kazoo: Any, count: Callable[[], None]) -> None:
    """One request after the other: half of them write."""
    path = f"/of-{space.process.name}"
    while True:
        kazoo.create(path, b"one")
        kazoo.set(path, b"two")
        kazoo.get(path)
        kazoo.exists(path)
        kazoo.get_children("/")
        kazoo.delete(path)
        for _ in range(6):
            count()


def lock_cycles(space: Space, kazoo: Any, count: Callable[[], None]) -> None:
    """Acquire, hold, release, whatever the faults do."""
    time, interfaces = space.load("time"), space.load("rumpus.recipes.contests.interfaces")
    kazoo_exception = space.load("kazoo.exceptions").KazooException
    lock = space.load("rumpus.recipes.lock.contest_lock").FairLock(
        kazoo, LOCK, name=space.process.name
    )
    while True:
        try:
            if lock.acquire(timeout=20):
                time.sleep(HOLD_S)
                lock.release()
                count()
        except (kazoo_exception, interfaces.LockUnknown, interfaces.NotHeld):
            time.sleep(0.05)


def one_hold(space: Space, kazoo: Any, count: Callable[[], None]) -> None:
    """Acquire, hold for ten seconds, release."""
    time, not_held = space.load("time"), space.load("rumpus.recipes.contests.interfaces").NotHeld
    lock = space.load("rumpus.recipes.lock.contest_lock").FairLock(
        kazoo, LOCK, name=space.process.name
    )
    lock.acquire()
    count()
    time.sleep(10)
    with contextlib.suppress(not_held):  # its session has expired
        lock.release()
