"""What a holder was answered when it released or entered again, compared with what happened.

Only the client itself heeds these answers. It learns that it no longer held, for instance, and that
what it did under the lock may have to be undone. So nothing else in a run shows a wrong one:

- ``false-release``: it failed although the client held to the end. The node owned when release was
  called, the session lived on beyond the answer, and the node was still there then, or the release
  itself removed it. Or it said ok, and the node was still there when it returned.
- ``unheld-release``: it said ok although the hold had been lost before the call. The session had
  ended; or the node was gone, and nothing was in the client's way that could have made it ask
  twice. Or there was nothing to release at all: no grant, and no call with an unknown outcome.
- ``false-reentry``: a re-entrant acquire returned the earlier grant, whose session had ended.
"""

from collections.abc import Iterator
from math import inf
from typing import Any

from rumpus.checker.anomalies import anomaly_of, at
from rumpus.checker.check import check
from rumpus.checker.history import History, Op, Operation
from rumpus.checker.timeline.calm import calm_time
from rumpus.checker.timeline.holds import Hold, Words
from rumpus.checker.timeline.ownership import CLOCK_SLACK_NS, NodesOfHolds, Ownership, ServerView
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult, Kind

HEARD_NS = 100_000_000
"""How long a client runs undisturbed, connected, until it knows at the latest that its session has
ended. One that knows that it is not connected has to ask at once."""

FALSE_RELEASE = Kind(
    "false-release",
    "a release failed although it had been held, or said ok and left it held",
    logs=True,
)
UNHELD_RELEASE = Kind("unheld-release", "a release of what was not held any more said ok")
FALSE_REENTRY = Kind(
    "false-reentry", "a holder entered again although its session had ended", logs=True
)


@check("answers to holders", finds=[FALSE_RELEASE, UNHELD_RELEASE, FALSE_REENTRY])
def check_answers(timeline: Timeline) -> CheckResult:
    """Judge what holders were answered; see the module. O(n log n)."""
    history, words = timeline.history, timeline.words
    result = CheckResult(name="answers to holders")
    releases = needless = 0

    def report(kind: Kind, operation: Operation, what: str) -> None:
        done = operation.done
        said = "said ok" if done.type == "ok" else f"failed ({done.error})"
        said = f"c{history.caller(done)}'s {done.f} {said} at {at(history, done.time)}, {what}"
        result.anomalies.append(anomaly_of(history, kind.name, said, operation))

    logs = _Logs(timeline, timeline.servers) if timeline.servers is not None else None
    ended = {(hold.client, hold.release_called): hold for hold in timeline.holds}
    for operation, has_something in _releases(history, words):
        releases += 1
        hold = ended.get((history.caller(operation.invoke), operation.invoke.time))
        if not has_something:
            needless += 1
            if operation.outcome == "ok":
                report(UNHELD_RELEASE, operation, "although it held nothing")
        elif hold and logs and (found := logs.contradiction(operation, hold)) is not None:
            report(found[0], operation, found[1])
    for operation in _reentries(history, words):
        if logs is not None and (end := logs.ended_before(operation)) is not None:
            what = f"although its session had ended at {at(history, end)}"
            report(FALSE_REENTRY, operation, what)
    result.stats = {"releases": releases, "needless": needless}
    return result


def _releases(history: History, words: Words) -> Iterator[tuple[Operation, bool]]:
    """Each release that returned ok or failed, with whether there may be something to release.

    There may be after a grant, until it was released as often; and after an unknown outcome, until
    a release said ok. Each client calls one after the other.
    """
    grants: dict[int, int] = {}
    doubtful: set[int] = set()
    for operation in history.operations():
        name, outcome = operation.invoke.f, operation.outcome
        if name not in (words.acquire, words.release):
            continue
        client = history.caller(operation.invoke)
        if outcome == "info":
            doubtful.add(client)
        elif name == words.acquire:
            grants[client] = grants.get(client, 0) + (outcome == "ok")
        else:
            yield operation, client in doubtful or grants.get(client, 0) > 0
            once = outcome == "ok" and words.counted
            grants[client] = max(0, grants.get(client, 0) - 1) if once else 0
            if outcome == "ok":
                doubtful.discard(client)


def _reentries(history: History, words: Words) -> Iterator[Operation]:
    """Each acquire that returned the grant that its client had already, and had not released."""
    grants: dict[int, tuple[Any, ...]] = {}
    for operation in history.operations():
        call = operation.invoke
        if call.f not in (words.acquire, words.release):
            continue
        client = history.caller(call)
        if call.f == words.release:
            grants.pop(client, None)
        elif operation.outcome == "ok" and isinstance(operation.done.value, dict):
            told = operation.done.value
            grant = call.process, told.get("node"), told.get("token"), told.get("session")
            if grant[-1] is not None and grants.get(client) == grant:
                yield operation
            grants[client] = grant


class _Logs:
    """What the servers' logs tell of the nodes that were held."""

    def __init__(self, timeline: Timeline, view: ServerView) -> None:
        self._view = view
        self._nodes = NodesOfHolds(view)
        self._timeline = timeline
        self._told_lost: dict[str, int] = {}
        self._connections: dict[int, list[Op]] = {}
        for op in timeline.history.events("session"):
            if op.f == "lost":
                self._told_lost.setdefault(op.value.get("session"), op.time)
            if op.f in ("connected", "suspended", "lost"):
                self._connections.setdefault(op.value["client"], []).append(op)

    def ended_before(self, operation: Operation) -> int | None:
        """When the session of a grant ended, if it was before the call that returned the grant."""
        session, called = operation.done.value["session"], operation.invoke.time
        end = self._view.ended(session)
        if end is None or self._view.believed or not self._view.tells(session, called):
            return None
        if end.time >= called - CLOCK_SLACK_NS:
            return None
        client = self._timeline.history.caller(operation.invoke)
        told = [op for op in self._connections.get(client, ()) if op.index < operation.invoke.index]
        lost = any(op.f == "lost" and op.value.get("session") == session for op in told)
        if lost or (told and told[-1].f != "connected"):
            return end.time
        # Who was frozen acts once more before it hears of anything.
        spans = self._timeline.disturbances.get(client, ())
        return end.time if calm_time(spans, end.time, called) >= HEARD_NS else None

    def contradiction(self, operation: Operation, hold: Hold) -> tuple[Kind, str] | None:
        """What the answer of a hold's last release contradicts; None if nothing is known to."""
        node = self._nodes.node_of(hold)
        if node is None or self._view.believed:
            return None
        called = operation.invoke.time - CLOCK_SLACK_NS
        returned = operation.done.time + CLOCK_SLACK_NS
        if not self._view.tells(hold.session, operation.done.time):
            return None
        session = self._view.ended(hold.session)
        stays = node.end is None or node.end > returned
        if operation.outcome == "ok":
            if stays:
                return FALSE_RELEASE, f"but {node.path} was still there"
            if session is not None and session.time < called:
                when = at(self._timeline.history, session.time)
                return UNHELD_RELEASE, f"although its session had ended at {when}"
            if self._was_taken(hold.client, node, called, returned):
                return UNHELD_RELEASE, f"although {node.path} had been removed before"
        elif min(inf if session is None else session.time, self._lost(hold)) > returned:
            if stays:
                return FALSE_RELEASE, f"but its session lived, and {node.path} was still there"
            if node.deleted and node.end is not None and called <= node.end:
                return FALSE_RELEASE, f"but it held, and this very call removed {node.path}"
        return None

    def _lost(self, hold: Hold) -> float:
        """When a server told the client that its session had ended; others may learn it later."""
        return self._told_lost.get(hold.session or "", inf)

    def _was_taken(self, client: int, node: Ownership, called: int, returned: int) -> bool:
        """Whether a node had gone before the call, and nothing can have made that ask twice."""
        if node.end is None or node.end >= called or node.deleted:
            return False
        spans = self._timeline.disturbances.get(client, ())
        return calm_time(spans, called, returned) == returned - called
