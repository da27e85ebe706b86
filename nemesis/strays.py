"""What is broken in a run, whoever broke it."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from nemesis.grudges import normal
from nemesis.scene import Scene


class Stray(NamedTuple):
    """Who is broken, in words what is wrong, and what mends it."""

    name: str
    words: str
    mend: Callable[[], None]


def strays(scene: Scene) -> list[Stray]:
    """Everything that is broken now."""
    ensemble, clients, links = scene.ensemble, scene.clients, scene.links
    found: list[Stray] = []
    if normal(ensemble.grudge()):
        found.append(Stray("network", "servers were partitioned", ensemble.heal))
    for node in ensemble.nodes:
        state = ensemble.state(node)
        if state != "running":
            mend = ensemble.resume if state == "paused" else ensemble.restart
            found.append(Stray(node, f"{node} was {state}", partial(mend, node)))
    for client in range(clients.count):
        name = f"c{client}"
        # Links come first: a client that starts again wants to connect.
        if cut := links.in_force(client):
            how = ", ".join(sorted(set(cut.values())))
            words = f"{name}'s links were cut ({how})"
            found.append(Stray(name, words, partial(links.heal, client)))
        condition = clients.state(client)
        if condition != "running":
            put_right = clients.resume if condition == "paused" else clients.restart
            found.append(Stray(name, f"{name} was {condition}", partial(put_right, client)))
    return found
