"""Whether the servers kept ZooKeeper's rules in every change that they made or refused.

The committed transactions are replayed (`checker.wire.model_tree`). Where the links saw the request
of a transaction, the tree before it decides what must become of it (`checker.wire.rules`). Of the
others the transaction alone must fit the tree. This holds whatever the workload and the recipe.

``illegal-change``
    A change that must be refused, or one that is not what was asked for: an expected version that
    the znode does not have, a deletion of a znode with children, a child below an ephemeral znode,
    a sequence number that is not the next one.
``wrong-answer``
    A refusal that the tree contradicts, or an answer that does not say what the logs do.
``lost-transaction``
    A write was acknowledged, and no server has it.
``lingering-ephemeral``, ``revived-session``
    A session ended, and its znodes stayed; or it made a change after its end.
"""

from rumpus.checker.check import check
from rumpus.checker.server_promises.replay import (
    ILLEGAL_CHANGE,
    MOST,
    WRONG_ANSWER,
    anomaly_of_request,
    conversations,
    incomplete,
    replay,
)
from rumpus.checker.server_promises.state import LOST_TRANSACTION
from rumpus.checker.server_promises.writes import asked
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult
from rumpus.checker.wording import counted
from rumpus.checker.znodes.ephemeral_lives import LINGERING_EPHEMERAL, REVIVED_SESSION


@check(
    "server rules",
    finds=[ILLEGAL_CHANGE, WRONG_ANSWER, LOST_TRANSACTION, LINGERING_EPHEMERAL, REVIVED_SESSION],
)
def check_server_rules(timeline: Timeline) -> CheckResult | None:
    """Judge every committed transaction by the tree before it, and by the request for it.

    None without the servers' logs. Cost: O(n) for transactions and requests.
    """
    truth = timeline.truth
    if truth is None:
        return None
    result = CheckResult(name="server rules", stats={"transactions": len(truth.committed)})
    found = timeline.part(replay)
    if found is None:
        result.unjudged = [f"whether servers kept ZooKeeper's rules: {incomplete(truth)}"]
        return result
    result.anomalies = list(found.broken)
    result.stats["writes"] = found.ground.writes
    result.stats["undecided"] = found.ground.undecided
    if undecided := found.ground.undecided:
        result.unjudged.append(
            f"what had to come of {undecided} of {counted(found.ground.writes, 'write')}: rights "
            "that are not known or were just changing, an odd path, or logs that differ"
        )
    talk = timeline.part(conversations)
    result.stats["mistaken"] = len(talk.mistaken)
    if talk.mistaken:
        first = talk.mistaken[0]
        result.unjudged.append(
            f"{counted(len(talk.mistaken), 'answer')} to an earlier request of the same number, "
            f"which a client counted anew on another connection: the first to {asked(first)} of "
            f"{talk.who(first.client)}"
        )
    for request in talk.missing[:MOST]:
        words = (
            f"{talk.who(request.client)} was told that {asked(request)} was done, and no server "
            "has it in its log"
        )
        result.anomalies.append(anomaly_of_request(LOST_TRANSACTION, words, request, talk))
    return result
