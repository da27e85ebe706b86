"""Making a certain server the leader, by stopping and starting others at the right moments.

An election is won by the server with the newest data, and among those by the one with the highest
id. So the servers that would win are stopped; where too few would be left for a quorum, some of
them miss a write first, so that they lose.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rumpus.testing.servers import Servers
from rumpus.usage_error import UsageError

POLL_S = 0.005
_TRIES = 3

T = TypeVar("T")


@dataclass(frozen=True)
class Procedure:
    """Which servers are stopped, and when.

    Attributes:
        writing: take part in the write that the others miss.
        missing: are stopped first, and miss the write, if there is one.
        losing: are stopped after the write, and start when the leader is found.
        writes: whether a write is needed.
    """

    writing: Sequence[str]
    missing: Sequence[str]
    losing: Sequence[str]
    writes: bool


def plan(nodes: Sequence[str], running: Sequence[str], leader: str, target: str) -> Procedure:
    """How to make a server the leader.

    Args:
        nodes: all servers that vote, in order of their ids.
        running: those that run; the target is one of them.
        leader: the present one.
        target: the one that is to lead.

    Raises:
        UsageError: too few servers run.
    """
    quorum = len(nodes) // 2 + 1
    place = nodes.index(target)
    lower = [node for node in running if nodes.index(node) < place]
    higher = [node for node in running if nodes.index(node) > place]
    # The present leader first, which saves an election.
    higher.sort(key=lambda node: node != leader)
    needed = max(0, quorum - 1 - len(lower))
    losing = higher[:needed]
    if len(running) - needed < quorum or len(losing) < needed:
        raise UsageError(
            f"{target} cannot be made the leader while {len(running)} of {len(nodes)} servers run: "
            "an election is won by the newest data, then by the highest id, and too few servers "
            "would be left to let it win; restart or resume others, or use an odd number of "
            "servers, three or more"
        )
    writing = [node for node in nodes if node in {*lower, target, *losing}]
    missing = [node for node in running if node not in writing]
    return Procedure(writing, missing, losing, writes=bool(needed))


def make_leader(
    servers: Servers, target: str, *, write: Callable[[str], None], deadline: float
) -> None:
    """Make a server the leader; returns when all servers that ran before serve again.

    Args:
        servers: a leader is there, and no partition.
        target: runs.
        write: commits a transaction through a server.
        deadline: on ``time.monotonic``.

    Raises:
        UsageError: too few servers run.
        TimeoutError: it did not come to that in time.
    """
    if target not in servers.voters:
        raise UsageError(f"{target} is an observer, which does not vote and cannot lead")
    running = [node for node in servers.voters if servers.state(node) == "running"]
    try:
        for _ in range(_TRIES):
            if servers.leader() == target:
                break
            _try_once(servers, running, target, write, deadline)
        else:
            raise TimeoutError(f"{target} did not win an election in {_TRIES} tries")
    finally:
        for node in running:
            servers.restart(node)
    _await(lambda: all(map(servers.serves, running)), f"{running} do not all serve", deadline)


def _try_once(
    servers: Servers,
    running: Sequence[str],
    target: str,
    write: Callable[[str], None],
    deadline: float,
) -> None:
    leader = _await(servers.leader, "no server leads", deadline)
    steps = plan(servers.voters, running, leader, target)
    # All must have the same data, or another one would win. Zxids are equal after a write only.
    write(leader)
    _await(
        lambda: len({servers.zxid(node) for node in running}) == 1,
        "the servers do not agree",
        deadline,
    )
    for node in steps.missing:
        servers.kill(node)
    leader = _await(
        lambda: now if (now := servers.leader()) in steps.writing else None,
        "no server leads",
        deadline,
    )
    if leader == target:
        return
    if steps.writes:
        before = servers.zxid(target)
        write(leader)
        _await(lambda: servers.zxid(target) > before, f"{target} got no write", deadline)
    for node in dict.fromkeys([*steps.losing, leader]):
        servers.kill(node)
    for node in running:
        if node not in steps.losing and (steps.writes or node not in steps.missing):
            servers.restart(node)
    leader = _await(servers.leader, "no server leads", deadline)
    if leader == target:
        return
    for node in running:
        servers.restart(node)
    _await(lambda: all(map(servers.serves, running)), f"{running} do not all serve", deadline)


def _await(condition: Callable[[], T | None], what: str, deadline: float) -> T:
    """What the condition returns, as soon as that is true."""
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} in time")
        time.sleep(POLL_S)
    return found
