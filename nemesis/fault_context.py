"""What faults act upon and how they wait: the parts of a run, its clock, its time limits."""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rumpus.checker.history import session_hex
from rumpus.harness.clients.clients import Clients, Roles
from rumpus.harness.ensemble import Disks, Ensemble
from rumpus.harness.links.links import Links
from rumpus.harness.links.triggers import TriggerLinks
from rumpus.harness.own_client import open_client
from rumpus.harness.simulated_faults import ClientMachines, ClientThreads, Machines

POLL = 0.05
"""Seconds between two checks of a condition."""
LEAST_POLL = 0.001
"""The same where a wait must end sooner. Not 0: where time is virtual it would not pass at all."""


class Finding(NamedTuple):
    """Whether something is as it should be, and what was seen."""

    ok: bool
    detail: str


class NeverActed(Finding):
    """Not ``ok`` only because the fault had nothing to act on; its targets work."""


class Hit(NamedTuple):
    """The servers and the clients that a fault concerns.

    The targets of a fault of clients, and the servers to which these were connected when it
    began; or the reverse.
    """

    servers: list[str]
    clients: list[int]


@dataclass
class FaultContext:
    """The parts of a run that can be broken.

    ``sleep`` and ``monotonic`` are in seconds, and the only clock that faults know. ``armed``
    maps a client whose links wait for a create or set (``lost-reply``) to what must be called
    before another fault takes those links over. Once ``hurried`` returns true, every wait ends
    at its next check. No wait goes on after ``latest`` (on ``monotonic``). ``hits``: entry of the
    plan -> what it hit. ``troubled``: names of servers and clients that other faults affect now.
    ``connect`` makes the client that ``kazoo`` returns (``harness.own_client.open_client``).
    """

    ensemble: Ensemble
    links: Links
    clients: Clients
    roles: Roles
    sleep: Callable[[float], None]
    monotonic: Callable[[], float]
    armed: dict[int, Callable[[], None]] = field(default_factory=dict)
    hurried: Callable[[], bool] = lambda: False
    latest: float = math.inf
    hits: dict[int, Hit] = field(default_factory=dict)
    troubled: Collection[str] = ()
    connect: Callable[[str, Callable[[int], None]], Any] = field(
        default_factory=lambda: open_client
    )
    sessions: list[str] = field(default_factory=list, init=False)
    """The sessions that ``kazoo`` has had, in hexadecimal. The run's record names them."""
    _kazoo: Any = field(default=None, init=False, repr=False)
    _closed: bool = field(default=False, init=False)

    @property
    def kazoo(self) -> Any:
        """A started ``KazooClient`` of the run's own: faults read and change znodes with it.

        It is made when it is first asked for, and then shared by all faults of the run. It has all
        servers' addresses, and no link or other fault of clients affects it. Like every kazoo
        client it waits while no server serves: ``delete_async(path).get(timeout=5)`` waits no
        longer than that. Exceptions of ZooKeeper are those of ``kazoo.exceptions``.

        Raises:
            Exception: kazoo's timeout: no server answered.
            RuntimeError: the run is over.
        """
        if self._kazoo is None and not self._closed:
            addresses = map(self.ensemble.client_address, self.ensemble.nodes)
            hosts = ",".join(f"{host}:{port}" for host, port in addresses)
            self._kazoo = self.connect(hosts, self._note_session)
        if self._closed:  # perhaps meanwhile, by another thread: a fault may be under way
            self.close()
            raise RuntimeError("the run is over")
        return self._kazoo

    def _note_session(self, session: int) -> None:
        if (text := session_hex(session)) not in self.sessions:
            self.sessions.append(text)

    def close(self) -> None:
        """End the session of ``kazoo``, if there is one. Called when the run ends."""
        self._closed = True
        client, self._kazoo = self._kazoo, None
        if client is not None:
            client.stop()
            client.close()

    @property
    def machines(self) -> Machines:
        """The servers' machines, which are simulated (``registry.require`` made sure of that)."""
        assert self.ensemble.machines is not None
        return self.ensemble.machines

    @property
    def disks(self) -> Disks:
        """The servers' disks, which can have a trouble (``registry.require`` saw to it)."""
        assert self.ensemble.disks is not None
        return self.ensemble.disks

    @property
    def client_machines(self) -> ClientMachines:
        """Client processes' threads and clocks, where they are simulated."""
        assert self.clients.machines is not None
        return self.clients.machines

    @property
    def client_threads(self) -> ClientThreads:
        """Client processes' threads, where one can be stopped (``registry.require`` saw to it)."""
        assert self.clients.threads is not None
        return self.clients.threads

    @property
    def trigger_links(self) -> TriggerLinks:
        """Links on which triggers can be armed (``registry.require`` saw to it)."""
        assert self.links.trigger_links is not None
        return self.links.trigger_links

    def until(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Wait until a condition holds, at most ``timeout`` seconds; whether it does."""
        deadline = self.deadline(timeout)
        while not condition():
            if self.hurried() or self.monotonic() >= deadline:
                return False
            self.sleep(max(LEAST_POLL, min(POLL, self.latest - self.monotonic())))
        return True

    def deadline(self, timeout: float) -> float:
        """When a wait of so many seconds has to end, on ``monotonic``."""
        return min(self.monotonic() + timeout, self.latest)

    def running_servers(self) -> list[str]:
        """The servers whose processes run, in order."""
        return [n for n in self.ensemble.nodes if self.ensemble.state(n) == "running"]

    def running_clients(self) -> list[int]:
        """The clients whose processes run, in order."""
        return [c for c in range(self.clients.count) if self.clients.state(c) == "running"]
