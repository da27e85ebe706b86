"""The order of grants: fencing tokens that only grow, and the queue that must be kept."""

from bisect import bisect_left
from collections.abc import Container, Iterator, Sequence

from rumpus.checker.anomalies import anomaly_of_grants
from rumpus.checker.exclusion.mutual_exclusion import CLOCK_SLACK_NS, ServerView
from rumpus.checker.history import History
from rumpus.checker.holds import Hold
from rumpus.checker.verdict import Anomaly, CheckResult


def check_tokens(history: History, holds: Sequence[Hold]) -> CheckResult:
    """A grant whose acquire was called after another's had returned has a larger token.

    One pass over calls and returns in order of time, keeping the largest token returned so
    far: O(n log n). Linearizability of a token counter comes down to this (Gibbons and Korach
    1997, for values written once). Acquires that overlap in time are not compared.
    """
    result = CheckResult(name="tokens")
    with_token = [hold for hold in holds if hold.token is not None]
    events = sorted(
        [(hold.called, 0, number) for number, hold in enumerate(with_token)]
        + [(hold.granted, 1, number) for number, hold in enumerate(with_token)]
    )
    largest: Hold | None = None
    before: dict[int, Hold] = {}
    for _, returned, number in events:
        hold = with_token[number]
        if not returned:
            if largest is not None:
                before[number] = largest
        elif largest is None or _token(hold) > _token(largest):
            largest = hold
    for number, earlier in before.items():
        hold = with_token[number]
        if _token(hold) <= _token(earlier):
            result.anomalies.append(
                anomaly_of_grants(
                    "token-regression",
                    f"c{hold.client} was granted token {hold.token} at "
                    f"{_at(history, hold.granted)}, after c{earlier.client} had been granted "
                    f"token {earlier.token} at {_at(history, earlier.granted)}",
                    earlier,
                    hold,
                )
            )
    result.stats = {"tokens": len(with_token)}
    return result


def check_order(
    history: History, holds: Sequence[Hold], server: ServerView | None, permits: int = 1
) -> CheckResult:
    """Whoever stood earlier in the line was granted earlier, but for those who may hold together.

    Sequence numbers of the holds' nodes are the order of the line. A client with a lower
    number whose acquire returned later was overtaken, unless its session had ended by the
    time the other was granted: then the line had rightly gone past it, and its late return is
    a stale belief. Without the servers' logs such a pair is left undecided. Where several may
    hold at once it takes as many who were overtaken: they stood in line ahead all the time.

    With whole logs the line itself is looked at: nobody may be granted before its node has
    come to own, whether or not whoever stood before it was granted in the end.

    Args:
        history: the run.
        holds: its holds.
        server: None when the servers' logs are not at hand.
        permits: how many may hold at once.

    One pass from the last grant to the first over a sorted list of the numbers granted later:
    O(n log n) comparisons, and as many more as there are overtakings.
    """
    result = CheckResult(name="order")
    numbered = [(hold, number) for hold in holds if (number := sequence_number(hold.node)) >= 0]
    # Numbers are kept negated: the lowest comes last, where a fair line appends.
    later: list[tuple[int, int]] = []
    for position in range(len(numbered) - 1, -1, -1):
        hold, number = numbered[position]
        place = bisect_left(later, (1 - number, 0))
        overtaken: list[Hold] = []
        undecided: list[Hold] = []
        for _, other_position in later[place:]:
            other = numbered[other_position][0]
            if other.client == hold.client or not hold.excludes(other):
                continue
            if server is None or not server.tells(other.session, hold.granted):
                undecided.append(other)
                continue
            end = server.ended(other.session)
            if end is None or end.time > hold.granted + CLOCK_SLACK_NS:
                overtaken.append(other)
        if len(overtaken) >= permits:
            result.anomalies += [
                anomaly_of_grants(
                    "unfair-grant",
                    f"c{hold.client} (number {number}) was granted at "
                    f"{_at(history, hold.granted)}, before c{other.client} (number "
                    f"{sequence_number(other.node)}), which stood earlier in the line and "
                    f"got it at {_at(history, other.granted)}",
                    hold,
                    other,
                )
                for other in overtaken
            ]
        if len(overtaken) + len(undecided) >= permits:
            result.unknown += [
                f"c{hold.client} was granted number {number} before c{other.client} with a "
                "lower one, and the servers' logs at hand do not tell whether that one's "
                "session had ended"
                for other in undecided
            ]
        later.insert(place, (-number, position))
    if server is not None:
        told = {index for anomaly in result.anomalies for index in anomaly.ops}
        result.anomalies += _out_of_turn(history, holds, server, told)
    return result


def _out_of_turn(
    history: History, holds: Sequence[Hold], server: ServerView, told: Container[int]
) -> Iterator[Anomaly]:
    """Grants before the own node had come to own, but for those told of already."""
    for hold in holds:
        turn = server.turns.get(hold.node or "", hold.granted)
        if hold.ops[0] in told or (turn is not None and turn <= hold.granted + CLOCK_SLACK_NS):
            continue
        came = "never came to own" if turn is None else f"owned from {_at(history, turn)}"
        yield Anomaly(
            kind="unfair-grant",
            description=(
                f"c{hold.client} was granted at {_at(history, hold.granted)}, out of turn: on the "
                f"servers its node {hold.node} {came}"
            ),
            ops=list(hold.ops),
            clients=[hold.client],
            start=hold.granted,
            end=turn or hold.believed_until,
        )


def sequence_number(node: str | None) -> int:
    """The ten-digit number at the end of a sequential node's name; -1 if there is none."""
    tail = node[-10:] if node else ""
    return int(tail) if len(tail) == 10 and tail.isdigit() else -1


def _token(hold: Hold) -> int:
    assert hold.token is not None
    return hold.token


def _at(history: History, time: int) -> str:
    return f"{(time - history.start) / 1e9:.3f} s"
