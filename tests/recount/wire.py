"""What passed on the links, counted again from ``wire.jsonl``."""

import json
from collections import Counter

from tests.recount.counts import ANY, COUNTS, counts

__all__ = ["COUNTS"]

CHANGES = {"create", "create2", "create-container", "create-ttl", "delete", "set-data", "set-acl"}
READS = {
    "exists",
    "get-data",
    "get-acl",
    "get-children",
    "get-children2",
    "get-ephemerals",
    "count-children",
}


def records(run, kind):
    lines = (run.directory / "wire.jsonl").read_text().splitlines()
    return [each for each in map(json.loads, lines) if each["type"] == kind]


def sessions(run):
    """(Client, connection) -> the session that it was granted."""
    return {
        (each["client"], each["connection"]): f"0x{each['session'] & (1 << 64) - 1:x}"
        for each in records(run, "handshake")
        if each.get("session")
    }


def connected(run, request):
    """Whether a request's connection had a session."""
    return (request["client"], request["connection"]) in sessions(run)


def is_ours(path):
    return not f"{path}/".startswith("/zookeeper/")


counts(ANY, "server rules", "transactions")(lambda run: len(run.log))
counts(ANY, "server limits", "timeouts")(lambda run: len(sessions(run)))
counts(ANY, "server limits", "long_requests")(
    lambda run: sum(
        each["name"] == "set-data" and each["data"][0] >= 1 << 18 and connected(run, each)
        for each in records(run, "request")
    )
)
counts(ANY, "server limits", "reconfigs")(
    lambda run: sum(
        each["name"] == "reconfig" and connected(run, each) for each in records(run, "request")
    )
)
counts(ANY, "server sessions", "handshakes")(lambda run: len(records(run, "handshake")))


@counts(ANY, "server rules", "writes")
def writes(run):
    """Transactions that were asked for on the wire, by session and number.

    A client may use a number again on its next connection. Of two requests of one number, one that
    was never answered is known to be carried out only if there is a transaction left for it.
    """
    logged = Counter((txn.session, txn.cxid) for txn in run.log)
    of, answered, unanswered = sessions(run), Counter(), Counter()
    for each in records(run, "request"):
        if (each["name"] in CHANGES and is_ours(each["path"])) or each["name"] == "multi":
            key = of.get((each["client"], each["connection"])), each["xid"]
            if key in logged:
                (answered if "answered" in each else unanswered)[key] += 1
    left = {key for key, number in unanswered.items() if number == logged[key] - answered[key] == 1}
    return answered.total() + len(left)


@counts(ANY, "server answers", "reads")
def reads(run):
    """Reads that were answered, those within a multi-read too."""
    return sum(
        part["name"] in READS and is_ours(part.get("path", "")) and "error" in part
        for each in records(run, "request")
        if "answered" in each
        for part in (each.get("parts", ()) if each["name"] == "multi-read" else [each])
    )


counts(ANY, "server events", "events")(lambda run: len(records(run, "event")))


@counts(ANY, "server sessions", "expiries")
def expiries(run):
    asked = {f"0x{each.get('asked', 0) & (1 << 64) - 1:x}" for each in records(run, "handshake")}
    return sum(session in {*sessions(run).values(), *asked} for session in run.expired)
