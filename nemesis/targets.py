"""A fault's targets: servers or clients, by name or by the role they have when it begins."""

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

import msgspec

from rumpus.nemesis.fault_context import FaultContext, Hit
from rumpus.nemesis.grudges import majority, minority

SERVER_ROLES = (
    "one",
    "minority",
    "majority",
    "leader",
    "follower",
    "followers",
    "all",
    "holder-server",
)
"""``one``: any one; ``follower``: the follower to which most clients are connected;
``holder-server``: the server to which the lock's holder is connected."""

CLIENT_ROLES = ("one", "holder", "next-in-line", "random", "all")
"""``one``: any one; ``random``: any number of them, but never all where there are several."""

SHAPES = (
    "isolate-leader",
    "isolate-holder-server",
    "minority-majority",
    "random-halves",
    "majorities-ring",
    "bridge",
    "one-way",
)
"""Shapes of partitions; see ``nemesis.grudges``."""

LEADER_BOUND = 5.0
"""Seconds to wait for a leader before another server is chosen."""
PIN_BOUND = 2.0
"""Seconds to try to freeze a client while it has its role."""
PIN_TRIES = 100
SETTLE = 0.008
"""Seconds after a client is frozen until all messages that it had sent have arrived."""


class TargetError(Exception):
    """There is no server or client to choose; the message says why."""


class Targets(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A fault's targets as data; exactly one of the fields is given.

    ``names``: ``n2`` or ``c3``, or just their numbers; for a partition, those to be cut from
    the rest. ``role``: one of ``SERVER_ROLES`` or ``CLIENT_ROLES``. ``of``: the id of an entry that
    began before: the clients or the servers that it hit; for a fault of servers after one of
    clients, the servers to which these were connected, and the reverse. For partitions only:
    ``shape``, one of ``SHAPES``, or ``grudge``, node -> the nodes whose packets it drops.
    """

    names: tuple[str | int, ...] | None = None
    role: str | None = None
    of: int | None = None
    shape: str | None = None
    grudge: dict[str, tuple[str, ...]] | None = None

    def servers(self) -> list[str]:
        """``names`` as names of servers; empty if targets are given otherwise."""
        return [n if isinstance(n, str) else f"n{n}" for n in self.names or ()]

    def clients(self) -> list[int]:
        """``names`` as numbers of clients; empty if targets are given otherwise."""
        return [n if isinstance(n, int) else int(n.removeprefix("c")) for n in self.names or ()]

    def numbers(self) -> set[int]:
        """The numbers in ``names``, of servers or of clients."""
        return {int(str(name).lstrip("nc")) for name in self.names or ()}


class Servers(NamedTuple):
    """Chosen servers, and why these were chosen, in words."""

    names: list[str]
    words: str


class Caught(NamedTuple):
    """Chosen clients, and why, in words; ``pinned`` are frozen so that they stay in their role."""

    clients: list[int]
    pinned: list[int]
    words: str


def choose_servers(targets: Targets, context: FaultContext, rng: Random) -> Servers:
    """Resolve targets to servers whose processes run.

    Raises:
        TargetError: a named server does not run, or none of them does.
    """
    running = context.running_servers()
    if targets.names is not None:
        for name in targets.servers():
            if name not in running:
                raise TargetError(f"{name} is {context.ensemble.state(name)} already")
        return Servers(targets.servers(), "by name")
    if targets.of is not None:
        hit = [node for node in _hit(targets.of, context).servers if node in running]
        if not hit:
            raise TargetError(f"no server that entry {targets.of} hit is running")
        return Servers(hit, f"those of entry {targets.of}")
    if not running:
        raise TargetError("no server is running")
    role = targets.role
    if role in _SINGLE_SERVERS:
        find, words, missing = _SINGLE_SERVERS[role]
        return server_or_any(find(context), running, rng, words, missing)
    if role == "followers":
        leads = leader(context)
        return Servers([node for node in running if node != leads], "the followers")
    count = len(context.ensemble.nodes)
    size = {"minority": minority(count), "majority": majority(count), "all": count}.get(
        role or "", 1
    )
    return Servers(sorted(rng.sample(running, min(size, len(running)))), role or "one")


def _hit(entry: int, context: FaultContext) -> Hit:
    """What an earlier entry of the plan hit."""
    if entry not in context.hits:
        raise TargetError(f"entry {entry} has hit nothing")
    return context.hits[entry]


def server_or_any(
    wanted: str | None, running: Sequence[str], rng: Random, role: str, missing: str
) -> Servers:
    """The server wanted if it runs, else any that does."""
    if wanted is not None and wanted in running:
        return Servers([wanted], role)
    return Servers([rng.choice(running)], f"any: {missing}")


def leader(context: FaultContext) -> str | None:
    """The node that leads, waiting a little for an election that may be going on."""
    found: list[str | None] = [None]

    def look() -> bool:
        found[0] = context.ensemble.leader()
        return found[0] is not None

    context.until(look, LEADER_BOUND)
    return found[0]


def busiest_follower(context: FaultContext) -> str | None:
    """The follower to which most clients are connected now, the first of several."""
    leads = leader(context)
    connected = [context.links.connected_to(client) for client in context.running_clients()]
    followers = [node for node in context.running_servers() if node != leads]
    return max(followers, key=connected.count, default=None)


def holder_server(context: FaultContext) -> str | None:
    """The server to which the holder is connected now."""
    holder = context.roles.holder()
    return None if holder is None else context.links.connected_to(holder)


_SINGLE_SERVERS = {
    "leader": (leader, "the leader", "there was no leader"),
    "holder-server": (holder_server, "the holder's server", "nobody held connected"),
    "follower": (busiest_follower, "the busiest follower", "no follower ran"),
}
"""Role -> the function that finds its server, words for it, and words for why there is none."""


def choose_clients(
    targets: Targets, context: FaultContext, rng: Random, *, eligible: Callable[[], list[int]]
) -> Caught:
    """Resolve targets to clients among those that the fault can affect now (``eligible``).

    The holder or the next in line is pinned: frozen, and seen to have its role after that.

    Raises:
        TargetError: a named client is not eligible, or none is.
    """
    able = eligible()
    if targets.names is not None:
        for client in targets.clients():
            if client not in able:
                raise TargetError(
                    f"c{client} is {context.clients.state(client)}, or another fault affects it"
                )
        return Caught(targets.clients(), [], "by name")
    if targets.of is not None:
        hit = [client for client in _hit(targets.of, context).clients if client in able]
        if not hit:
            raise TargetError(f"no client that entry {targets.of} hit can be affected")
        return Caught(hit, [], f"those of entry {targets.of}")
    if not able:
        raise TargetError("no client is left: other faults affect them all")
    if targets.role == "holder":
        return pin(context.roles.holder, "the holder", context, rng, eligible)
    if targets.role == "next-in-line":
        return pin(context.roles.next_in_line, "next in line", context, rng, eligible)
    if targets.role == "all":
        return Caught(able, [], "all")
    size = rng.randint(1, max(1, len(able) - 1)) if targets.role == "random" else 1
    return Caught(sorted(rng.sample(able, size)), [], targets.role or "one")


def pin(
    who: Callable[[], int | None],
    role: str,
    context: FaultContext,
    rng: Random,
    eligible: Callable[[], list[int]],
) -> Caught:
    """Freeze the client that has a role, so that it cannot leave the role before the fault begins.

    Between the look and the freeze it may have left the role. So look again once all messages
    that it had sent have arrived; if it has left the role, resume it and try again. A client that
    another fault has frozen cannot leave its role and is not pinned.
    """
    deadline = context.deadline(PIN_BOUND)
    tries = 0
    while tries < PIN_TRIES and context.monotonic() < deadline and not context.hurried():
        tries += 1
        client = who()
        if client is None or client not in eligible():
            context.sleep(SETTLE)
            continue
        if context.clients.state(client) != "running":
            return Caught([client], [], role)
        context.clients.pause(client)
        try:
            context.sleep(SETTLE)
            still = who() == client
        except BaseException:
            context.clients.resume(client)
            raise
        if still:
            return Caught([client], [client], f"{role} (try {tries})")
        context.clients.resume(client)
    able = eligible()
    if not able:
        raise TargetError("no client is left: other faults affect them all")
    now = who()
    client = now if now in able else rng.choice(able)
    return Caught([client], [], f"any: could not catch {role} in {tries} tries")
