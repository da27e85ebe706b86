"""Whether ephemeral znodes exist exactly as long as their sessions, unless they are removed."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, NamedTuple, TypedDict, TypeVar

from rumpus.checker.anomalies import anomaly_of
from rumpus.checker.check import check
from rumpus.checker.history import History, Op, Operation
from rumpus.checker.servers.server_truth import ServerTruth
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

OF_TWO_OWNERS = (
    "split-brain",
    "double-grant",
    "stale-belief",
    "stale-action",
    "shared-partition",
    "false-exit",
    "expired-handle",
)
"""What sound recipes may show if a session ended, or was used, while somebody relied on it."""

OF_A_DEAD_OWNER = (
    "stuck-waiter",
    "deadlock",
    "leaderless",
    "orphan-node",
    "ghost-entry",
    "unowned-partition",
    "blocked-transaction",
    "unnotified-submitter",
    "lingering-session",
    "lost-job",
    "overdue-call",
)
"""What sound recipes may show if what a dead client owned stays."""

EARLY_REMOVAL = Kind(
    "early-removal", "an ephemeral node disappeared while its session was alive", logs=True
)
LINGERING_EPHEMERAL = Kind(
    "lingering-ephemeral",
    "an ephemeral node outlived its session",
    logs=True,
    about="servers",
    explains=OF_A_DEAD_OWNER,
)
REVIVED_SESSION = Kind(
    "revived-session",
    "a session was still served after the servers had ended it",
    logs=True,
    about="servers",
    explains=OF_TWO_OWNERS,
)

SLACK_NS = 50_000_000
"""Tolerance (ns) when a server's time is compared with a time of the run."""


Name = TypeVar("Name", bound=str)


class Made(TypedDict, Generic[Name]):
    """The result of a ``create``: the node, and the session that owns it."""

    name: Name
    session: str


class Looked(TypedDict, Generic[Name]):
    """The result of a ``look``: each node's owner (None: not ephemeral) and the own session."""

    owners: dict[Name, str | None]
    session: str


class Standing(NamedTuple):
    """A node that was created, and that its creator has not tried to remove."""

    name: str
    session: str
    client: int
    create: Operation


@check("ephemeral lives", finds=[EARLY_REMOVAL, LINGERING_EPHEMERAL, REVIVED_SESSION])
def check_ephemerals(timeline: Timeline) -> CheckResult:
    """Compare the ephemeral nodes that clients saw with the lifetimes of the sessions.

    A ``look`` -> {owners: {name: session}, session} shows everything that was committed before
    its call. A successful create shows the same for its own name. So a look must show a node that
    was created before the call, if the session lived on and the client had not begun to remove the
    node. It must not show a node whose session had ended before the call. Both operations include
    a write in their own session, which the servers must refuse if that session had ended before
    the call.

    Cost: O(n) for a bounded number of names.
    """
    history, truth, clock = timeline.history, timeline.truth, timeline.clock
    result = CheckResult(name="ephemeral lives")
    ends = _ends(truth, clock)
    answered = _last_answers(history) if truth is None else {}
    standing: dict[str, Standing] = {}
    before: dict[int | str, dict[str, Standing]] = {}
    pairs = {pair.invoke.index: pair for pair in history.operations()}
    calls: dict[int | str, Operation] = {}
    looks = 0
    for op in history:
        if not isinstance(op.process, int):
            continue
        if op.type == "invoke":
            pair = calls[op.process] = pairs[op.index]
            if op.f in ("look", "create"):
                before[op.process] = dict(standing)
            elif op.f == "remove" and pair.outcome != "fail":
                _let_go(op.value["name"], history.client_of(op.process), standing)
            continue
        if op.type != "ok" or op.f not in ("create", "look"):
            continue
        pair, own = calls[op.process], op.value["session"]
        expected, seen = _shown(op, before.pop(op.process))
        if ends.get(own, NEVER) + SLACK_NS < pair.invoke.time:
            result.anomalies.append(_revived(pair, op, own, ends[own], history))
        for node in _gone(expected, seen, standing):
            alive = node.session in ends and op.time + SLACK_NS < ends[node.session]
            alive = alive or op.time < answered.get(node.session, op.time)
            if alive or (op.f == "look" and node.session == own):
                result.anomalies.append(_early(node, pair, seen.get(node.name), history))
        if op.f == "create":
            name = op.value["name"]
            standing[name] = Standing(name, own, history.caller(pair), pair)
        else:
            looks += 1
            result.anomalies += _lingering(pair, op, ends, history)
    result.stats = {"looks": looks}
    return result


def _let_go(name: str, client: int, standing: dict[str, Standing]) -> None:
    """A node whose creator has begun to remove it need not be seen any more."""
    node = standing.get(name)
    if node is not None and node.client == client:
        del standing[name]


def _shown(
    done: Op, before: Mapping[str, Standing]
) -> tuple[list[Standing], Mapping[str, str | None]]:
    """The nodes that a result must show, and the session of each one that it shows."""
    if done.f == "look":
        return list(before.values()), done.value["owners"]
    name = done.value["name"]
    return [before[name]] if name in before else [], {name: done.value["session"]}


def _gone(
    expected: Iterable[Standing], seen: Mapping[str, str | None], standing: dict[str, Standing]
) -> Iterator[Standing]:
    """The nodes still ``standing`` that a client has not seen in their sessions; each once."""
    for node in expected:
        if standing.get(node.name) is node and seen.get(node.name) != node.session:
            del standing[node.name]
            yield node


NEVER = 2**63


def _ends(truth: ServerTruth | None, clock: WallClock | None) -> dict[str, int]:
    """Session -> when it ended, on the run's clock; `NEVER` if it did not."""
    if truth is None or clock is None:
        return {}
    return {
        session: NEVER if life.closed_ms is None else clock.monotonic(life.closed_ms)
        for session, life in truth.sessions().items()
    }


def _last_answers(history: History) -> dict[str, int]:
    """Session -> the call of its last successful operation: it lived at least until then."""
    found: dict[str, int] = {}
    for operation, done in history.answered("create", "look"):
        found[done.value["session"]] = operation.invoke.time
    return found


def _early(node: Standing, look: Operation, instead: str | None, history: History) -> Anomaly:
    found = "was gone" if instead is None else f"belonged to {instead}"
    return anomaly_of(
        history,
        "early-removal",
        f"{node.name}, which c{node.client} had created in session {node.session}, {found}, "
        "although that session lived on and its client had not tried to remove the node",
        node.create,
        look,
    )


def _revived(pair: Operation, done: Op, session: str, ended: int, history: History) -> Anomaly:
    since = (pair.invoke.time - ended) / 1e9
    return Anomaly(
        kind="revived-session",
        description=(
            f"a {pair.invoke.f} in session {session} succeeded, although it was called "
            f"{since:.2f} s after the servers had ended that session"
        ),
        ops=pair.indices,
        clients=[history.caller(pair)],
        start=ended,
        end=done.time,
    )


def _lingering(look: Operation, done: Op, ends: dict[str, int], history: History) -> list[Anomaly]:
    found = []
    for name, session in sorted(done.value["owners"].items()):
        if session is None:
            why = "is not ephemeral"
        elif ends.get(session, NEVER) + SLACK_NS < look.invoke.time:
            since = (look.invoke.time - ends[session]) / 1e9
            why = f"still existed {since:.2f} s after its session {session} had ended"
        else:
            continue
        found.append(anomaly_of(history, "lingering-ephemeral", f"{name} {why}", look))
    return found
