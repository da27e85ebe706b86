"""When servers and clients count as recovered."""

from collections.abc import Sequence

from rumpus.nemesis.fault_context import FaultContext, Finding
from rumpus.nemesis.grudges import majority, normal

HEAL_BOUND = 15.0
"""Seconds within which a healed server or client must work again."""


def can_serve(context: FaultContext) -> bool:
    """Whether every running server can be in a quorum: enough run, and none are partitioned."""
    ensemble = context.ensemble
    return len(context.running_servers()) >= majority(len(ensemble.nodes)) and not normal(
        ensemble.grudge()
    )


def servers_back(
    nodes: Sequence[str], context: FaultContext, timeout: float = HEAL_BOUND
) -> Finding:
    """Wait until servers run, and answer as part of a quorum if there can be one now."""
    ensemble = context.ensemble
    waiting = list(nodes)

    def back() -> bool:
        waiting[:] = [
            node
            for node in waiting
            if ensemble.state(node) != "running" or not ensemble.serves(node)
        ]
        return not waiting or (
            all(ensemble.state(node) == "running" for node in waiting) and not can_serve(context)
        )

    if not context.until(back, timeout):
        states = ", ".join(f"{node} is {ensemble.state(node)}" for node in waiting)
        return Finding(False, f"not serving again within {timeout:g} s: {states}")
    if waiting:
        return Finding(True, "running; whether they serve shows when the other faults are healed")
    return Finding(True, "serving again")


def clients_back(
    clients: Sequence[int], context: FaultContext, timeout: float = HEAL_BOUND
) -> Finding:
    """Wait until clients run, and are connected if links and servers allow that now."""
    waiting, links = list(clients), context.links

    def back() -> bool:
        waiting[:] = [
            client
            for client in waiting
            if context.clients.state(client) != "running"
            or (not links.in_force(client) and links.connected_to(client) is None)
        ]
        return not waiting or (
            all(context.clients.state(client) == "running" for client in waiting)
            and not can_serve(context)
        )

    if not context.until(back, timeout):
        states = ", ".join(f"c{c} is {context.clients.state(c)}" for c in waiting)
        return Finding(False, f"not connected again within {timeout:g} s: {states}")
    if waiting:
        return Finding(True, "running; whether they connect shows when the servers are healed")
    return Finding(True, "running and connected again")
