"""Whether every read got what the tree was: at the zxid that the server's answer names.

A server applies transactions in the order of their zxids, and a reply's header has the last one
that it had applied when it read. So the committed transactions up to there decide the answer, to
the last field of a Stat, whichever server it was and however far behind
(`checker.wire.model_tree`).
Staleness is no anomaly here; a server that lacks a change is, and one that invents something. But
on one connection nothing goes back: not behind what an answer has shown, nor behind what the client
said that it had seen when it connected; and requests are answered in their order.
"""

from collections.abc import Iterator

from rumpus.checker.check import check
from rumpus.checker.server_promises.replay import (
    WRONG_ANSWER,
    anomaly_of_request,
    conversations,
    replay,
)
from rumpus.checker.server_promises.writes import asked
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult
from rumpus.checker.wire.matching import Conversations


@check("server answers", finds=[WRONG_ANSWER])
def check_server_answers(timeline: Timeline) -> CheckResult | None:
    """Compare the servers' answers to reads with the committed transactions.

    None without the servers' logs. Cost: O(n log n) for requests and transactions.
    """
    found = timeline.part(replay)
    if found is None:
        return None
    return CheckResult(
        name="server answers",
        anomalies=[*_out_of_order(timeline.part(conversations)), *found.answers],
        stats={"reads": found.reads},
    )


def _out_of_order(talk: Conversations) -> Iterator[Anomaly]:
    """Answers that come after a later one of their connection, or show less than one before."""
    for request in talk.overtaken:
        words = (
            f"{talk.node_of(request)} answered {asked(request)} of {talk.who(request.client)} "
            "after a request that the client sent later"
        )
        yield anomaly_of_request(WRONG_ANSWER, words, request, talk)
    for request, before in talk.back:
        words = (
            f"{talk.node_of(request)} answered {asked(request)} of {talk.who(request.client)} at "
            f"0x{request.zxid:x}, and the client had seen 0x{before:x}"
        )
        yield anomaly_of_request(WRONG_ANSWER, words, request, talk)
