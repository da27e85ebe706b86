"""What is broken in a run, whoever broke it."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from rumpus.harness.ensemble import Disks, EnvironmentRefusal, Packets
from rumpus.harness.simulated_faults import ClientMachines, ClientThreads, Machines
from rumpus.nemesis.clock import Clocks
from rumpus.nemesis.fault import Target
from rumpus.nemesis.fault_context import FaultContext
from rumpus.nemesis.grudges import normal


class Stray(NamedTuple):
    """A broken server or client, or the network: name, what is wrong in words, what mends it."""

    name: str
    words: str
    mend: Callable[[], None]


def strays(context: FaultContext) -> list[Stray]:
    """Everything that is broken now."""
    ensemble, clients, links = context.ensemble, context.clients, context.links
    found: list[Stray] = []
    if normal(ensemble.grudge()):
        found.append(Stray("network", "servers were partitioned", ensemble.heal))
    if ensemble.packets is not None:
        found += _of_packets(ensemble.packets)
    for node in ensemble.nodes:
        state = ensemble.state(node)
        if state != "running":
            mend = {"paused": ensemble.resume, "dead": ensemble.restart}.get(state, _give_up)
            found.append(Stray(node, f"{node} was {state}", partial(mend, node)))
    if ensemble.disks is not None:
        found += _of_disks(ensemble.disks, ensemble.nodes)
    if ensemble.machines is not None:
        found += _of_machines(ensemble.machines, ensemble.nodes)
    for client in range(clients.count):
        name = f"c{client}"
        # Links come first: a client that starts again wants to connect.
        if cut := links.in_force(client):
            how = ", ".join(sorted(set(cut.values())))
            words = f"{name}'s links were cut ({how})"
            found.append(Stray(name, words, partial(links.heal, client)))
        if links.delays(client):
            words = f"{name}'s links were slow"
            found.append(Stray(name, words, partial(links.delay, client, 0.0)))
        condition = clients.state(client)
        if condition != "running":
            put_right = clients.resume if condition == "paused" else clients.restart
            found.append(Stray(name, f"{name} was {condition}", partial(put_right, client)))
    if clients.threads is not None:
        found += _of_threads(clients.threads, clients.count)
    if clients.machines is not None:
        found += _of_client_clocks(clients.machines, clients.count)
    return found


def _give_up(node: str) -> None:
    raise EnvironmentRefusal(
        f"{node} was taken from the run by somebody else and cannot be brought back; see who "
        "removes containers or networks whose names begin with rumpus-"
    )


def _of_disks(disks: Disks, nodes: Iterable[str]) -> Iterator[Stray]:
    for node in nodes:
        if trouble := disks.disk_trouble(node):
            yield Stray(node, f"{node}'s disk was {trouble}", partial(disks.mend_disk, node))


def _of_packets(packets: Packets) -> Iterator[Stray]:
    if packets.losses():
        yield Stray("network", "servers lost packets", partial(packets.lose, {}))
    for node in packets.slowness():
        words = f"packets arrived late at {node}"
        yield Stray(node, words, partial(packets.slow_down, node, {}))


def _of_machines(machines: Machines, nodes: Iterable[str]) -> Iterator[Stray]:
    for node in nodes:
        yield from _of_clock(machines, node, node)


def _of_threads(threads: ClientThreads, count: int) -> Iterator[Stray]:
    for client in range(count):
        if thread := threads.stalled(client):
            words = f"c{client}'s thread {thread} was stalled"
            yield Stray(f"c{client}", words, partial(threads.unstall, client))


def _of_client_clocks(machines: ClientMachines, count: int) -> Iterator[Stray]:
    for client in range(count):
        yield from _of_clock(machines, client, f"c{client}")


def _of_clock(clocks: Clocks[Target], target: Target, name: str) -> Iterator[Stray]:
    if (rate := clocks.clock_rate(target)) != 1:
        right = partial(clocks.skew_clock, target, step=0, rate=1)
        yield Stray(name, f"{name}'s clock ran at {rate:g}", right)
