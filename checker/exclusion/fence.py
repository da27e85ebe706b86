"""Whether a fence works: accepted tokens never decrease, and the highest is never refused.

The protected resource is a znode. Each write stores its token there. The order of the writes is
known from the servers' logs, and also from the versions that the writes returned, for those whose
reply arrived.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rumpus.checker.check import check
from rumpus.checker.exclusion.mutual_exclusion import STALE_ACTION
from rumpus.checker.exclusion.sequencers import REFUSED_SEQUENCER
from rumpus.checker.history import History, session_hex
from rumpus.checker.servers.server_truth import ServerTruth
from rumpus.checker.timeline.holds import Hold
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.value_shapes import whole_number
from rumpus.checker.verdict import Anomaly, CheckResult


@dataclass(frozen=True)
class Write:
    """A write, accepted or refused.

    ``place`` orders the accepted ones: the version or the zxid; ``teller`` is the source: the
    client or the session, for messages.
    """

    token: int
    place: int
    teller: str
    ops: tuple[int, ...] = ()
    client: int | None = None
    time: int = 0


@check("fence", finds=[STALE_ACTION, REFUSED_SEQUENCER])
def check_fence(timeline: Timeline, beside: str = "-data") -> CheckResult | None:
    """Judge the writes to one znode, whose data is the token of whoever wrote it.

    Args:
        timeline: the run.
        beside: what the znode's path has behind that of the lock.
    """
    if not timeline.promises.fenced or timeline.line is None:
        return None  # a fence that is no znode is the witness alone
    history, holds, truth = timeline.history, timeline.holds, timeline.truth
    work, path = timeline.words.work, f"{timeline.path}{beside}"
    result = CheckResult(name="fence")
    told = sorted(_told(history, work), key=lambda write: write.place)
    logged: list[Write] = []
    if truth is not None:
        logged, result.unknown = _logged(truth, path)
    for writes in (told, logged):
        result.anomalies += _regressions(writes)
    refusals = list(_refusals(history, work))
    result.anomalies += [
        _groundless(refusal) for refusal in refusals if not _higher(holds, refusal)
    ]
    result.stats = {
        "writes": len(told),
        "refused": len(refusals),
        "writes_in_the_logs": len(logged) if truth else None,
    }
    return result


def _told(history: History, work: str) -> Iterator[Write]:
    for operation in history.operations():
        done = operation.completion
        if operation.invoke.f != work or done is None or not isinstance(done.value, dict):
            continue
        client = history.caller(operation)
        for token, version in done.value.get("writes") or ():
            yield Write(token, version, f"c{client}", tuple(operation.indices), client, done.time)


def _refusals(history: History, work: str) -> Iterator[Write]:
    for operation in history.operations():
        done = operation.completion
        if operation.invoke.f == work and done is not None and isinstance(done.value, dict):
            client = history.caller(operation)
            if (token := done.value.get("refused")) is not None:
                yield Write(token, 0, f"c{client}", tuple(operation.indices), client, done.time)


def _higher(holds: Sequence[Hold], refusal: Write) -> bool:
    """Whether a client had been granted a higher token: only then can one have been written."""
    return any(
        hold.token is not None and hold.token > refusal.token and hold.granted < refusal.time
        for hold in holds
    )


def _groundless(refusal: Write) -> Anomaly:
    return Anomaly(
        kind="refused-sequencer",
        description=(
            f"the fence refused a write of {refusal.teller} under token {refusal.token}, although "
            "no client had been granted a higher one"
        ),
        ops=list(refusal.ops),
        clients=[refusal.client] if refusal.client is not None else [],
        start=refusal.time,
        end=refusal.time,
    )


def _logged(truth: ServerTruth, path: str) -> tuple[list[Write], list[str]]:
    """The writes in the servers' logs, and which of them cannot be judged."""
    writes: list[Write] = []
    unknown: list[str] = []
    for txn in truth.committed:
        for effect in txn.effects:
            if effect.name == "setData" and effect.path == path and effect.data:
                token = whole_number(effect.data)
                teller = f"session {session_hex(txn.session)} at zxid 0x{txn.zxid:x}"
                if token is None:
                    unknown.append(f"what {teller} has written to {path} is no token")
                else:
                    writes.append(Write(token, txn.zxid, teller))
    return writes, unknown[:1]


def _regressions(writes: list[Write]) -> Iterator[Anomaly]:
    highest: Write | None = None
    for write in writes:
        if highest is None or write.token >= highest.token:
            highest = write
            continue
        yield Anomaly(
            kind="stale-action",
            description=(
                f"{write.teller} wrote under token {write.token} after {highest.teller} had "
                f"written under token {highest.token}: the fence accepted it"
            ),
            ops=sorted({*highest.ops, *write.ops}),
            clients=sorted({w.client for w in (highest, write) if w.client is not None}),
            start=highest.time,
            end=max(highest.time, write.time),
        )
