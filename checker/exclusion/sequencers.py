"""Whether sequencers (Chubby's proofs of a hold) were called valid only during their hold.

An answer must have been true at some moment between call and return. It is wrong if it says
*valid* although the hold had ended before the call, or *stale* although the hold lasted from before
the call until after the return. The servers' logs tell when a hold ended. Without them its release
does: it had ended when that returned, and had lasted until it was called if its client believed so
long that it held. (A release may be acknowledged although the session had ended long before.)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from rumpus.checker.anomalies import at
from rumpus.checker.check import check
from rumpus.checker.history import History, Operation
from rumpus.checker.timeline.holds import Hold, Words
from rumpus.checker.timeline.ownership import CLOCK_SLACK_NS
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

STALE_SEQUENCER = Kind("stale-sequencer", "a sequencer was called valid after its hold had ended")
REFUSED_SEQUENCER = Kind("refused-sequencer", "a sequencer was called stale during its hold")

ELSEWHERE: Final = "elsewhere"
"""How a sequencer is verified of another lock than its own."""


@dataclass(frozen=True)
class _Stand:
    """A hold lasted at least until ``at_least``, and not after ``at_most`` (nanoseconds)."""

    hold: Hold
    at_least: float
    at_most: float


@check("sequencers", finds=[STALE_SEQUENCER, REFUSED_SEQUENCER])
def check_sequencers(timeline: Timeline) -> CheckResult | None:
    """Judge every ``verify`` {sequencer} -> {valid} of a sequencer that an acquire gave out.

    With ``by`` = ``ELSEWHERE`` it was asked of another lock, where it is never valid.
    """
    if "stale-sequencer" not in timeline.promises.prevents:
        return None
    history = timeline.history
    result = CheckResult(name="sequencers")
    deletions: dict[tuple[str, int], int] = {}
    if timeline.logs is not None:
        truth, clock = timeline.logs
        deletions = {
            (life.path, life.czxid): clock.monotonic(life.deleted_ms)
            for life in truth.znodes(timeline.path)
            if life.deleted_ms is not None
        }
    stands = _stands(history, timeline.holds, timeline.words, deletions)
    answers = {True: 0, False: 0}
    for operation, done in history.answered("verify"):
        call = operation.invoke
        stand = stands.get(call.value["sequencer"])
        if stand is None:
            continue
        valid = done.value["valid"]
        if call.value.get("by") == ELSEWHERE:
            if valid:
                result.anomalies.append(_wrong(history, operation, stand, "stale-sequencer"))
            continue
        answers[valid] += 1
        if valid and stand.at_most < call.time:
            result.anomalies.append(_wrong(history, operation, stand, "stale-sequencer"))
        elif not valid and stand.at_least > done.time:
            result.anomalies.append(_wrong(history, operation, stand, "refused-sequencer"))
    result.stats = {"called_valid": answers[True], "called_stale": answers[False]}
    return result


def _stands(
    history: History,
    holds: Sequence[Hold],
    words: Words,
    deletions: Mapping[tuple[str, int], int],
) -> dict[str, _Stand]:
    """Sequencer -> until when its hold lasted; ``deletions``: node and czxid -> when (ns)."""
    by_grant = {hold.ops[1]: hold for hold in holds}
    ends = _releases(history, words)
    stands = {}
    for _, done in history.answered(words.acquire):
        hold = by_grant.get(done.index)
        sequencer = (done.value or {}).get("sequencer")
        if hold is None or sequencer is None:
            continue
        at_least, at_most = float(hold.granted), inf
        if hold.released and hold.release_called is not None:
            if hold.release_called <= hold.believed_until:
                at_least = hold.release_called
            at_most = ends.get((hold.process, hold.release_called), inf)
        end = deletions.get((hold.node or "", hold.token or 0))
        if end is not None:
            at_least = end - CLOCK_SLACK_NS
            at_most = min(at_most, end + CLOCK_SLACK_NS)
        stands[sequencer] = _Stand(hold, at_least, at_most)
    return stands


def _releases(history: History, words: Words) -> dict[tuple[int, int], int]:
    """Process and call of each release that was acknowledged -> when it returned."""
    return {
        (int(operation.invoke.process), operation.invoke.time): done.time
        for operation, done in history.answered(words.release)
    }


def _wrong(history: History, operation: Operation, stand: _Stand, kind: str) -> Anomaly:
    call, done = operation.invoke, operation.done
    hold, stale = stand.hold, kind == "stale-sequencer"
    end = (stand.at_most if stale else stand.at_least) - history.start
    although = f"its hold {'had ended by' if stale else 'lasted until'} {end / 1e9:.3f} s"
    if call.value.get("by") == ELSEWHERE:
        although = "it was asked of another lock"
    verifier = history.caller(call)
    return Anomaly(
        kind=kind,
        description=(
            f"c{verifier} was told between {at(history, call.time)} and "
            f"{at(history, done.time)} that c{hold.client}'s sequencer (token "
            f"{hold.token}) is {'valid' if stale else 'stale'}, although {although}"
        ),
        ops=[*hold.ops, *operation.indices],
        clients=sorted({verifier, hold.client}),
        start=call.time,
        end=done.time,
    )
