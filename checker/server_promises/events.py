"""Whether each connection got the watch events that are due to it: all, once, and in time.

What a connection watches is known from its requests, and what happened from the committed
transactions (`checker.wire.watch_model`). An answer names the last transaction that its server had
applied. So before it the events of all transactions up to there must have been sent, and no other.
Events of one transaction may come in any order.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rumpus.checker.check import check
from rumpus.checker.server_promises.replay import MOST, replay
from rumpus.checker.server_promises.writes import Ground
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind
from rumpus.checker.wire.model_tree import is_servers_own
from rumpus.checker.wire.records import Event, Handshake, Request
from rumpus.checker.wire.watch_model import Changes, Happened, Replayed, Watches

WRONG_EVENT = Kind(
    "wrong-event",
    "a server sent other watch events than the changes call for",
    about="servers",
    explains=(
        "stuck-waiter",
        "deadlock",
        "leaderless",
        "missed-event",
        "false-event",
        "repeated-event",
        "reordered-event",
        "late-event",
        "early-event",
        "stale-view",
        "herd",
        "early-entry",
        "missed-revocation",
        "unnotified-submitter",
        "overdue-call",
        "unowned-partition",
        "missing-entry",
        "ghost-entry",
    ),
)

_TOLD = {
    "created": "{} was created",
    "deleted": "{} was deleted",
    "changed": "{} was changed",
    "child": "the children of {} changed",
}


@dataclass
class _Heard:
    """What a connection watches and has been sent.

    Attributes:
        node: its server.
        shown: the zxid of the last answer.
        received: those since the last answer.
    """

    node: str = "a server"
    watches: Watches = field(default_factory=Watches)
    shown: int = 0
    received: list[Event] = field(default_factory=list)


@check("server events", finds=[WRONG_EVENT])
def check_server_events(timeline: Timeline) -> CheckResult | None:
    """Compare the events on each connection with those that are due.

    None without the servers' logs, or where these do not tell which ephemerals a session took with
    it (before ZooKeeper 3.6). Cost: O(n log n) for answers and transactions.
    """
    found, truth = timeline.part(replay), timeline.truth
    if found is None or truth is None:
        return None
    if any(txn.name == "closeSession" and txn.paths is None for txn in truth.committed):
        return None
    changes = Changes(truth.committed)
    connections: dict[tuple[int, int], _Heard] = defaultdict(_Heard)
    result = CheckResult(name="server events")
    events = 0
    for place, record in timeline.wire.located():
        heard = connections[record.client, record.connection]
        if isinstance(record, Handshake):
            heard.node = record.node
        elif isinstance(record, Event):
            events += 1
            heard.received.append(record)
        elif record.answered is not None and record.zxid > 0:
            for words in _compare(record, heard, changes, found.ground, found.replayed.get(place)):
                if len(result.anomalies) < MOST:
                    result.anomalies.append(_anomaly(words, heard, record, found.ground))
            heard.received.clear()
    result.stats = {"events": events}
    return result


def _compare(
    answer: Request, heard: _Heard, changes: Changes, found: Ground, missed: Replayed | None
) -> Iterator[str]:
    """What is wrong with the events before an answer, in words."""
    watches, before = heard.watches, heard.shown
    heard.shown = max(before, answer.zxid)
    due: list[Happened] = []
    if watches and before:
        for happened in changes.between(
            before, answer.zxid, watches.paths(), everything=watches.recursive
        ):
            due += watches.fire(happened)
    due += watches.answered(answer, missed)
    came: Sequence[Happened] = [(each.what, each.path) for each in heard.received]
    if Counter(due) == Counter(came):
        return
    who = found.talk.who(answer.client)
    lacking, strange = Counter(due) - Counter(came), Counter(came) - Counter(due)
    for missing, events in ((True, lacking), (False, strange)):
        for what, path in events:
            if path in watches.mixed or path in found.contested or is_servers_own(path):
                continue
            news = _TOLD[what].format(path)
            if missing:
                yield f"did not tell {who} that {news}"
            else:
                yield f"told {who} that {news}, of which it had not to tell then"


def _anomaly(words: str, heard: _Heard, answer: Request, found: Ground) -> Anomaly:
    start = min((each.sent for each in heard.received), default=answer.sent)
    until = answer.sent if answer.answered is None else answer.answered
    return Anomaly(
        kind=WRONG_EVENT.name,
        description=(
            f"{heard.node} {words}, before its answer to {answer.name} at 0x{answer.zxid:x}"
        ),
        clients=found.talk.named(answer.client),
        start=min(start, until),
        end=until,
    )
