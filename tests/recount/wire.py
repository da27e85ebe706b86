"""What passed on the links, counted again from ``wire.jsonl``."""

import json

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


def is_ours(path):
    return not f"{path}/".startswith("/zookeeper/")


counts(ANY, "server rules", "transactions")(lambda run: len(run.log))
counts(ANY, "server sessions", "handshakes")(lambda run: len(records(run, "handshake")))


@counts(ANY, "server rules", "writes")
def writes(run):
    """Writes that the servers' logs have, under the session of their connection."""
    logged = {(txn.session, txn.cxid) for txn in run.log}
    of = sessions(run)
    return sum(
        ((each["name"] in CHANGES and is_ours(each["path"])) or each["name"] == "multi")
        and (of.get((each["client"], each["connection"])), each["xid"]) in logged
        for each in records(run, "request")
    )


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
