"""When servers and clients count as recovered."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from rumpus.nemesis.fault_context import FaultContext, Finding
from rumpus.nemesis.grudges import majority, normal

Target = TypeVar("Target")
"""A server's name or a client's number."""

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
    return _wait_for(
        {node: node for node in nodes},
        context.ensemble.state,
        context.ensemble.serves,
        context,
        timeout,
        works_again="serving again",
        back="serving again",
        runs="running; whether they serve shows when the other faults are healed",
    )


def clients_back(
    clients: Sequence[int], context: FaultContext, timeout: float = HEAL_BOUND
) -> Finding:
    """Wait until clients run, and are connected if links and servers allow that now."""
    links = context.links
    return _wait_for(
        {client: f"c{client}" for client in clients},
        context.clients.state,
        lambda client: (
            not links.sessions
            or bool(links.in_force(client))
            or links.connected_to(client) is not None
        ),
        context,
        timeout,
        works_again="connected again",
        back="running and connected again",
        runs="running; whether they connect shows when the servers are healed",
    )


def _wait_for(
    names: Mapping[Target, str],
    state: Callable[[Target], str],
    works: Callable[[Target], bool],
    context: FaultContext,
    timeout: float,
    *,
    works_again: str,
    back: str,
    runs: str,
) -> Finding:
    """Wait until all targets run, and work if there can be a quorum.

    Targets that another fault affects are not waited for.

    The words: ``works_again`` for what they do not do in time, ``back`` if all work, ``runs`` if
    some only run.
    """
    waiting = list(names)

    def recovered() -> bool:
        waiting[:] = [
            each
            for each in waiting
            if names[each] not in context.troubled and (state(each) != "running" or not works(each))
        ]
        running = all(state(each) == "running" for each in waiting)
        return not waiting or (running and not can_serve(context))

    if not context.until(recovered, timeout):
        states = ", ".join(f"{names[each]} is {state(each)}" for each in waiting)
        return Finding(False, f"not {works_again} within {timeout:g} s: {states}")
    return Finding(True, runs if waiting else back)
