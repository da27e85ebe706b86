"""Watches: an event comes once, in order, before the new data; no client misses a change.

ZooKeeper's promises about watches are checked against the traffic on the clients' links and the
servers' logs. Operations, all with a ``key``: ``write`` {value}, ``read``, and ``watch`` (a read
that leaves a watch) -> {value, version, zxid, session}; ``await`` {version, timeout, reconnect} ->
the same, once the node's version differs from ``version``; the connection is dropped after
``reconnect`` seconds of waiting. ``make`` {ephemeral} and ``unmake`` create and delete parents and
children; ``survey`` leaves watches of all kinds on one node. ``reconnect`` drops the client's
connection and all of its watches.

etcd's watches go on from a revision, and its keys have no children. There, clients ``write``,
``read`` and ``await`` as above, and each ``follow``s {timeout} all changes -> {session, since,
events: [[revision, key, version, value]]}: those that have come since its last call.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, get_args

from rumpus.checker.every_run.timeouts import TIMED_OUT, check_timeouts
from rumpus.checker.families.convergence import SESSION_ORDER
from rumpus.checker.families.missed_changes import check_missed_changes
from rumpus.checker.history import Op, session_hex
from rumpus.checker.znodes.event_streams import FollowedEvents, check_event_streams
from rumpus.checker.znodes.late_events import check_late_events
from rumpus.checker.znodes.watch_delivery import check_watch_delivery
from rumpus.checker.znodes.znode_history import Seen, writes_by_comparison
from rumpus.harness.generators.generator import Invocation
from rumpus.harness.generators.script import Client, ScriptFunction, Steps, until_answered
from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.znodes.catalogue import WATCHED_ZNODES
from rumpus.recipes.znodes.on_other_systems import OTHER_WATCHED
from rumpus.recipes.znodes.register import ABSENT
from rumpus.recipes.znodes.watched_znode import WatchedZnode
from rumpus.workloads.framework.checks import follows
from rumpus.workloads.framework.operation import operation, unless_refused
from rumpus.workloads.own.own_interfaces import OwnWatchedZnodes
from rumpus.workloads.znodes.znode_workload import TRIES, TRY_PAUSE_S, ZnodeWorkload, seen

Awaited = Literal["a0", "a1", "a2"]
Watched = Literal["w0", "w1"]
Grown = Literal["t0", "t1", "t0/x", "t1/x"]
"""Nodes that come and go, each with a child."""

FOLLOW_S = 5.0
"""Seconds for which a client waits for changes that have been made already."""

DROPPED_AFTER_S = 0.2
"""After how many seconds some long waits lose their connection: mostly before the change.

Faults alone seldom break a connection during a wait and leave the new one whole until its end.
"""


class WatchWorkload(ZnodeWorkload):
    """Clients change znodes, watch them, and wait for changes."""

    name = "watch"
    catalogue = WATCHED_ZNODES
    elsewhere = OTHER_WATCHED
    adapter = OwnWatchedZnodes
    model = "session-guarantees"
    main = "await"
    requests = ("write", "read")
    checks = (
        check_watch_delivery,
        partial(check_event_streams, follow="follow", write="write"),
        follows(
            "sequential-consistency",
            SESSION_ORDER,
            *("write", "read", "watch"),
            seen_as=writes_by_comparison,
        ),
        check_missed_changes,
        check_timeouts,
        partial(check_late_events, keys=get_args(Watched)),
    )
    at_the_end = (
        *(("await", {"key": key, "version": -2, "timeout": 0.5}) for key in get_args(Awaited)),
        *(("watch", {"key": key}) for key in get_args(Watched)),
        ("follow", {"timeout": FOLLOW_S}),
    )

    @operation(changes=False)
    def read(self, znodes: WatchedZnode, key: Awaited | Watched) -> Seen:
        """Read a node."""
        return seen(key, znodes.read(key))

    @operation()
    def watch(self, znodes: WatchedZnode, key: Awaited | Watched) -> Seen:
        """Read a node, and leave a watch on it."""
        return seen(key, znodes.watch(key))

    @operation(changes=False)
    def follow(self, znodes: Any, timeout: float) -> FollowedEvents:
        """All changes since the last call, up to those before this one."""
        followed = znodes.follow(timeout)
        if followed is None:
            raise NotDone(TIMED_OUT)
        return {
            "session": session_hex(followed.stream),
            "since": followed.since,
            "events": [tuple(event) for event in followed.events],
        }

    @operation()
    def write(self, znodes: WatchedZnode, key: Awaited | Watched, value: str) -> Seen:
        """Write a node."""
        return seen(key, znodes.write(key, value))

    @operation(name="await")
    def wait(
        self, znodes: WatchedZnode, key: Awaited, version: int, timeout: float, reconnect: float = 0
    ) -> Seen:
        """Wait until the node has another version; the connection may be dropped meanwhile."""
        with znodes.reconnecting_after(reconnect):
            changed = znodes.await_change(key, version, timeout)
        if changed is None:
            raise NotDone(TIMED_OUT)
        return seen(key, changed)

    @operation()
    def make(self, znodes: WatchedZnode, key: Grown, ephemeral: bool = False) -> None:
        """Create a node."""
        unless_refused(znodes.make(key, ephemeral=ephemeral))

    @operation()
    def unmake(self, znodes: WatchedZnode, key: Grown) -> None:
        """Delete a node."""
        unless_refused(znodes.unmake(key))

    @operation()
    def survey(self, znodes: WatchedZnode, key: Grown) -> None:
        """Look at a node and its children, and leave watches of all kinds."""
        znodes.survey(key)

    @operation()
    def reconnect(self, znodes: WatchedZnode) -> dict[str, Any]:
        """Drop the connection."""
        znodes.reconnect()
        return {}

    def load(self, client: Client) -> Steps:
        """Each client waits for changes after the latest version that it has seen itself."""
        follows = _follows(client)
        latest = dict.fromkeys(get_args(Awaited), ABSENT)
        draws = client.draws
        while not client.is_over:
            awaited, watched = draws.choose(get_args(Awaited)), draws.choose(get_args(Watched))
            grown, value = draws.choose(get_args(Grown)), f"{client.process}-{client.time}"
            after = {"key": awaited, "version": latest[awaited]}
            brief, long = round(draws.uniform(0.5, 2.5), 3), round(draws.uniform(0.5, 12.0), 3)
            drop = {"reconnect": DROPPED_AFTER_S} if draws.one_in(3) else {}
            common = (
                (20, self.wait(**after, timeout=brief)),
                (10, self.wait(**after, timeout=long, **drop)),
                (10, self.write(key=awaited, value=value)),
            )
            if follows:
                came = yield draws.weighted(
                    *common, (58, self.follow(timeout=FOLLOW_S)), (2, self.reconnect())
                )
                self._note(latest, awaited, came)
                continue
            came = yield draws.weighted(
                *common,
                (9, self.make(key=grown, ephemeral="/" in grown)),
                (9, self.unmake(key=grown)),
                (12, self.survey(key=grown[:2])),
                (9, self.read(key=watched)),
                (13, self.watch(key=watched)),
                (6, self.write(key=watched, value=value)),
                (2, self.reconnect()),
            )
            self._note(latest, awaited, came)

    @staticmethod
    def _note(latest: dict[str, int], key: str, came: Op) -> None:
        """Note the version of a key that an answer has."""
        answer = (came.value or {}) if came.type == "ok" else {}
        if answer.get("key") == key:
            latest[key] = max(latest[key], answer.get("version", ABSENT))

    def final(self) -> list[ScriptFunction]:
        """The operations of ``at_the_end`` that the recipe has, one after the other."""
        return [
            _where(_can(f), until_answered(Invocation(f, value), TRIES, TRY_PAUSE_S))
            for f, value in self.at_the_end
        ]


def _follows(client: Client) -> bool:
    """Whether the recipe's clients follow all changes, as etcd's do."""
    return hasattr(client.context.recipe, "follow")


def _can(operation: str) -> Callable[[Client], bool]:
    """Whether the recipe has an operation: all have ``await``, and either ``watch`` or ``follow``.

    Recipes of other repositories are ZooKeeper's, and have ``watch``.
    """
    return lambda client: operation == "await" or (operation == "follow") == _follows(client)


def _where(able: Callable[[Client], bool], script: ScriptFunction) -> ScriptFunction:
    """A script of only those clients whose recipe is able to."""

    def limited(client: Client) -> Steps:
        if able(client):
            yield from script(client)

    return limited


WATCH = WatchWorkload()
