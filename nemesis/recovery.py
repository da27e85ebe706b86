"""When servers and clients count as well again."""

from collections.abc import Sequence

from rumpus.nemesis.grudges import majority, normal
from rumpus.nemesis.scene import Finding, Scene

HEAL_BOUND = 15.0
"""Seconds within which a healed server or client must be of use again."""


def can_serve(scene: Scene) -> bool:
    """Whether nothing stands in the way of a quorum that every running server is part of."""
    ensemble = scene.ensemble
    return len(scene.running_servers()) >= majority(len(ensemble.nodes)) and not normal(
        ensemble.grudge()
    )


def servers_back(nodes: Sequence[str], scene: Scene, timeout: float = HEAL_BOUND) -> Finding:
    """Wait until servers run, and answer as part of a quorum if there can be one now."""
    ensemble = scene.ensemble
    waiting = list(nodes)

    def back() -> bool:
        waiting[:] = [
            node
            for node in waiting
            if ensemble.state(node) != "running" or not ensemble.serves(node)
        ]
        return not waiting or (
            all(ensemble.state(node) == "running" for node in waiting) and not can_serve(scene)
        )

    if not scene.until(back, timeout):
        states = ", ".join(f"{node} is {ensemble.state(node)}" for node in waiting)
        return Finding(False, f"not serving again within {timeout:g} s: {states}")
    if waiting:
        return Finding(True, "running; whether they serve shows when the other faults are healed")
    return Finding(True, "serving again")


def clients_back(clients: Sequence[int], scene: Scene, timeout: float = HEAL_BOUND) -> Finding:
    """Wait until clients run, and are connected if nothing stands in their way now."""
    waiting, links = list(clients), scene.links

    def back() -> bool:
        waiting[:] = [
            client
            for client in waiting
            if scene.clients.state(client) != "running"
            or (not links.in_force(client) and links.connected_to(client) is None)
        ]
        return not waiting or (
            all(scene.clients.state(client) == "running" for client in waiting)
            and not can_serve(scene)
        )

    if not scene.until(back, timeout):
        states = ", ".join(f"c{c} is {scene.clients.state(c)}" for c in waiting)
        return Finding(False, f"not connected again within {timeout:g} s: {states}")
    if waiting:
        return Finding(True, "running; whether they connect shows when the servers are healed")
    return Finding(True, "running and connected again")
