"""Whom a fault strikes: by name, by number, or by the role they play at that time."""

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

import msgspec

from rumpus.nemesis.grudges import majority, minority
from rumpus.nemesis.scene import Scene

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
"""Seconds to wait for a leader before somebody else is struck in its place."""
PIN_BOUND = 2.0
"""Seconds to try to catch a client in its role."""
PIN_TRIES = 100
SETTLE = 0.008
"""Seconds after a client is frozen until everything it had said by then has been heard."""


class TargetError(Exception):
    """There is nobody to strike; the message says why."""


class Targets(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Whom a fault strikes, as data; exactly one of the fields is given.

    ``names``: ``n2`` or ``c3``, or just their numbers; for a partition, those to be cut from
    the rest. ``role``: one of ``SERVER_ROLES`` or ``CLIENT_ROLES``. For partitions only:
    ``shape``, one of ``SHAPES``, or ``grudge``, node -> the nodes whose packets it drops.
    """

    names: tuple[str | int, ...] | None = None
    role: str | None = None
    shape: str | None = None
    grudge: dict[str, tuple[str, ...]] | None = None

    def servers(self) -> list[str]:
        """``names`` as names of servers; empty if targets are given otherwise."""
        return [n if isinstance(n, str) else f"n{n}" for n in self.names or ()]

    def clients(self) -> list[int]:
        """``names`` as numbers of clients; empty if targets are given otherwise."""
        return [n if isinstance(n, int) else int(n.removeprefix("c")) for n in self.names or ()]


class Servers(NamedTuple):
    """Chosen servers, and in words why these."""

    names: list[str]
    words: str


class Caught(NamedTuple):
    """Chosen clients; those of ``pinned`` were frozen so that they stay in their role."""

    clients: list[int]
    pinned: list[int]
    words: str


def choose_servers(targets: Targets, scene: Scene, rng: Random) -> Servers:
    """Resolve targets to servers whose processes run.

    Raises:
        TargetError: a named server does not run, or none of them does.
    """
    running = scene.running_servers()
    if targets.names is not None:
        for name in targets.servers():
            if name not in running:
                raise TargetError(f"{name} is {scene.ensemble.state(name)} already")
        return Servers(targets.servers(), "by name")
    if not running:
        raise TargetError("no server is running")
    role = targets.role
    if role == "leader":
        return strike_one(leader(scene), running, rng, "the leader", "there was no leader")
    if role == "holder-server":
        return strike_one(
            holder_server(scene), running, rng, "the holder's server", "nobody held connected"
        )
    if role == "follower":
        busiest = busiest_follower(scene)
        return strike_one(busiest, running, rng, "the busiest follower", "no follower ran")
    if role == "followers":
        leads = leader(scene)
        return Servers([node for node in running if node != leads], "the followers")
    count = len(scene.ensemble.nodes)
    size = {"minority": minority(count), "majority": majority(count), "all": count}.get(
        role or "", 1
    )
    return Servers(sorted(rng.sample(running, min(size, len(running)))), role or "one")


def strike_one(
    wanted: str | None, running: Sequence[str], rng: Random, role: str, missing: str
) -> Servers:
    """The server wanted, or any running one if there is none such."""
    if wanted is not None and wanted in running:
        return Servers([wanted], role)
    return Servers([rng.choice(running)], f"any: {missing}")


def leader(scene: Scene) -> str | None:
    """The node that leads, waiting a little for an election that may be going on."""
    found: list[str | None] = [None]

    def look() -> bool:
        found[0] = scene.ensemble.leader()
        return found[0] is not None

    scene.until(look, LEADER_BOUND)
    return found[0]


def busiest_follower(scene: Scene) -> str | None:
    """The follower to which most clients are connected now, the first of several."""
    leads = leader(scene)
    connected = [scene.links.connected_to(client) for client in scene.running_clients()]
    followers = [node for node in scene.running_servers() if node != leads]
    return max(followers, key=connected.count, default=None)


def holder_server(scene: Scene) -> str | None:
    """The server to which the holder is connected now."""
    holder = scene.roles.holder()
    return None if holder is None else scene.links.connected_to(holder)


def choose_clients(
    targets: Targets, scene: Scene, rng: Random, *, eligible: Callable[[], list[int]]
) -> Caught:
    """Resolve targets to clients among those that can be struck now (``eligible``).

    A holder or next in line comes back pinned: frozen, and seen to be in its role after that.

    Raises:
        TargetError: a named client cannot be struck, or none can.
    """
    able = eligible()
    if targets.names is not None:
        for client in targets.clients():
            if client not in able:
                raise TargetError(
                    f"c{client} is {scene.clients.state(client)} or struck by another fault already"
                )
        return Caught(targets.clients(), [], "by name")
    if not able:
        raise TargetError("no client is left that another fault has not struck already")
    if targets.role == "holder":
        return pin(scene.roles.holder, "the holder", scene, rng, eligible)
    if targets.role == "next-in-line":
        return pin(scene.roles.next_in_line, "next in line", scene, rng, eligible)
    if targets.role == "all":
        return Caught(able, [], "all")
    size = rng.randint(1, max(1, len(able) - 1)) if targets.role == "random" else 1
    return Caught(sorted(rng.sample(able, size)), [], targets.role or "one")


def pin(
    who: Callable[[], int | None],
    role: str,
    scene: Scene,
    rng: Random,
    eligible: Callable[[], list[int]],
) -> Caught:
    """Freeze the client that plays a role, so that it cannot leave it before the fault strikes.

    Between the look and the freeze it may have let go, so look again when all it had said by
    then has been heard; if it was too late, let it go on and try again. A client that another
    fault has frozen is in its role for certain and is not pinned.
    """
    deadline = scene.monotonic() + PIN_BOUND
    tries = 0
    while tries < PIN_TRIES and scene.monotonic() < deadline and not scene.hurried():
        tries += 1
        client = who()
        if client is None or client not in eligible():
            scene.sleep(SETTLE)
            continue
        if scene.clients.state(client) != "running":
            return Caught([client], [], role)
        scene.clients.pause(client)
        try:
            scene.sleep(SETTLE)
            still = who() == client
        except BaseException:
            scene.clients.resume(client)
            raise
        if still:
            return Caught([client], [client], f"{role} (try {tries})")
        scene.clients.resume(client)
    able = eligible()
    if not able:
        raise TargetError("no client is left that another fault has not struck already")
    now = who()
    client = now if now in able else rng.choice(able)
    return Caught([client], [], f"any: could not catch {role} in {tries} tries")
