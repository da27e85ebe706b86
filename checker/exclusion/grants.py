"""The order of grants: fencing tokens must grow, and grants must keep the order of the queue."""

from bisect import bisect_left
from collections.abc import Container, Iterator, Sequence
from typing import Final

from rumpus.checker.anomalies import anomaly_of_grants, anomaly_of_hold, at
from rumpus.checker.check import check
from rumpus.checker.history import History
from rumpus.checker.timeline.holds import Hold
from rumpus.checker.timeline.ownership import CLOCK_SLACK_NS, ServerView, sequence_number
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

TOKEN_REGRESSION = Kind("token-regression", "a later grant got a fencing token that is not larger")
UNFAIR_GRANT = Kind("unfair-grant", "a grant came out of queue order", lesser=True)

NUMBERS: Final = 10**10
"""More than any sequence number."""


@check("tokens", finds=[TOKEN_REGRESSION])
def check_tokens(timeline: Timeline) -> CheckResult | None:
    """Judge the tokens of a recipe that promises them."""
    return check_tokens_given(timeline) if timeline.promises.tokens else None


@check("tokens", finds=[TOKEN_REGRESSION])
def check_tokens_given(timeline: Timeline) -> CheckResult:
    """Judge those tokens that were given, as a read-write lock gives them to its writers alone."""
    return judge_tokens(timeline.history, timeline.holds)


def judge_tokens(history: History, holds: Sequence[Hold]) -> CheckResult:
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
                    f"{at(history, hold.granted)}, after c{earlier.client} had been granted "
                    f"token {earlier.token} at {at(history, earlier.granted)}",
                    earlier,
                    hold,
                )
            )
    result.stats = {"tokens": len(with_token)}
    return result


@check("grants on the servers", finds=[])
def check_grants_told(timeline: Timeline) -> CheckResult | None:
    """Say that owners by the servers' logs are not judged, where nobody says which znodes own."""
    if not timeline.underived:
        return None
    thing = timeline.words.thing
    what = f"who owned the {thing} by the servers' logs (double-grant): {timeline.underived}"
    return CheckResult(name="grants on the servers", unjudged=[what])


@check("order", finds=[UNFAIR_GRANT])
def check_order(timeline: Timeline) -> CheckResult | None:
    """Clients were granted in the order of the line, except those that may hold together.

    The order of the line is that of the sequence numbers of the holds' nodes; where the line's
    parent was deleted and created again, that of the lines comes first. A client with a
    lower number whose acquire returned later was overtaken, unless its session had ended by the
    time the other was granted: then the other's turn had rightly come, and the late return is a
    stale belief. Without the servers' logs such a pair is left undecided. Where ``permits`` may
    hold at once, a grant is unfair only if it overtook at least ``permits`` clients.

    Where no grant names a node with a sequence number, the order is unknown; grants without one
    among others are not judged, and counted (``not judged``).

    With complete logs the line itself is checked, too: no client may be granted before its node
    has come to own, even if the clients before it were never granted.

    Cost: that of `_overtakings`.
    """
    if "unfair-grant" not in timeline.promises.prevents:
        return None
    history, holds, server = timeline.history, timeline.holds, timeline.lives
    permits = timeline.permits
    result = CheckResult(name="order")
    numbered = _numbered(holds, server)
    result.stats = {"judged": len(numbered), "not judged": len(holds) - len(numbered)}
    if holds and not numbered:
        result.unknown.append(
            f"the order of {len(holds)} grants cannot be judged, for none names a znode with a "
            "sequence number: let the recipe say by `line` where its contenders have theirs, or "
            "name its own as `node`"
        )
    for hold, overtaken, undecided in _overtakings(numbered, server):
        if len(overtaken) >= permits:
            room = max(0, MOST_TOLD - len(result.anomalies))
            result.anomalies += [_unfair(history, hold, other) for other in overtaken[:room]]
        if len(overtaken) + len(undecided) >= permits:
            result.unknown += [
                f"c{hold.client} was granted number {sequence_number(hold.node)} before "
                f"c{other.client} with a lower one, but the servers' logs do not tell whether "
                f"c{other.client}'s session had ended"
                for other in undecided[: max(0, MOST_TOLD - len(result.unknown))]
            ]
    if server is not None:
        told = {index for anomaly in result.anomalies for index in anomaly.ops}
        result.anomalies += _out_of_turn(history, holds, server, told)
    return result


MOST_TOLD: Final = 10_000
"""Of more overtakings the others are not told: n grants in the wrong order have n² / 2."""


def _numbered(holds: Sequence[Hold], server: ServerView | None) -> list[tuple[Hold, int]]:
    """The holds whose node has a sequence number, each with its place in the order of the line."""
    before = {} if server is None else server.lines_before
    return [
        (hold, before.get(hold.node or "", 0) * NUMBERS + number)
        for hold in holds
        if (number := sequence_number(hold.node)) >= 0
    ]


def _overtakings(
    numbered: Sequence[tuple[Hold, int]], server: ServerView | None
) -> Iterator[tuple[Hold, list[Hold], list[Hold]]]:
    """Each hold with the holds that it overtook, and those that it may have overtaken.

    One pass from the last grant to the first over a sorted list of the numbers granted later:
    O(n log n) comparisons, and as many more as there are overtakings.
    """
    # Numbers are negated, so that in a fair order each new (lowest) number is appended at the end.
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
        yield hold, overtaken, undecided
        later.insert(place, (-number, position))


def _unfair(history: History, hold: Hold, other: Hold) -> Anomaly:
    """A grant that came before another's, which was ahead in the line."""
    return anomaly_of_grants(
        "unfair-grant",
        f"c{hold.client} (number {sequence_number(hold.node)}) was granted at "
        f"{at(history, hold.granted)}, before c{other.client} (number "
        f"{sequence_number(other.node)}), which was ahead of it in the queue and "
        f"was granted at {at(history, other.granted)}",
        hold,
        other,
    )


def _out_of_turn(
    history: History, holds: Sequence[Hold], server: ServerView, told: Container[int]
) -> Iterator[Anomaly]:
    """Grants before the client's node had come to own, except those in ``told`` (indices)."""
    for hold in holds:
        turn = server.turns.get(hold.node or "", hold.granted)
        if hold.ops[0] in told or (turn is not None and turn <= hold.granted + CLOCK_SLACK_NS):
            continue
        came = "never owned it" if turn is None else f"owned it from {at(history, turn)} on"
        yield anomaly_of_hold(
            "unfair-grant",
            f"c{hold.client} was granted at {at(history, hold.granted)}, out of turn: on the "
            f"servers its node {hold.node} {came}",
            hold,
            turn or hold.believed_until,
        )


def _token(hold: Hold) -> int:
    assert hold.token is not None
    return hold.token
