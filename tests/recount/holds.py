"""Grants counted from the records alone: who held, from when to when it believed, by which node."""

from dataclasses import dataclass, field

SLACK = 3_000_000  # servers stamp whole milliseconds


@dataclass
class Grant:
    process: int
    client: int
    called: int
    granted: int
    answer: dict
    shared: bool
    release_called: int | None = None
    released: bool = False
    believed_until: int | None = None
    acts: list = field(default_factory=list)
    depth: int = 1
    believing: bool = True
    gaps: list = field(default_factory=list)


def grants_of(run, acquire, release, *, counted=True):
    """Replays the history, record by record. A hold is a client's, whose process may change.

    Where entering again is ``counted`` a holder lets go as often; elsewhere once is enough.
    """
    found, current, latest, called = [], {}, {}, {}

    def stop(grant, time):
        if grant.believing:
            grant.believing, grant.believed_until = False, time

    for record in run.records:
        process, f, kind, value = (record[k] for k in ("process", "f", "type", "value"))
        if type(process) is int:
            client = process % run.clients
            grant = current.get(client)
            if kind == "invoke":
                called[process] = record
                if f == release and grant is not None and grant.depth == 1:
                    grant.release_called = record["time"]
                    stop(grant, record["time"])
            elif f == acquire and kind == "ok":
                if grant is not None and grant.answer.get("node") == (value or {}).get("node"):
                    grant.depth += counted
                    continue
                if grant is not None:
                    stop(grant, record["time"])
                call = called[process]
                grant = Grant(
                    process,
                    client,
                    call["time"],
                    record["time"],
                    value or {},
                    (call["value"] or {}).get("mode") == "read",
                )
                found.append(grant)
                current[client] = latest[process] = grant
            elif f == release and grant is not None:
                if grant.depth > 1 and kind == "ok":
                    grant.depth -= 1
                else:
                    grant.released = kind == "ok"
                    stop(grant, record["time"])
                    del current[client]
        elif process == "witness" and value["process"] in latest:
            latest[value["process"]].acts.append(record)
        elif process == "session" and f == "exited":
            if (grant := current.pop(value["client"], None)) is not None:
                stop(grant, record["time"])
        elif process == "session" and value.get("client") in current:
            grant = current[value["client"]]
            if f == "doubts":
                stop(grant, record["time"])
            elif f == "believes" and grant.release_called is None:
                if not grant.believing:
                    grant.gaps.append((grant.believed_until, record["time"]))
                grant.believing = True
    for grant in current.values():
        stop(grant, run.end)
    return found


def handovers(grants, permits=1):
    """Grants to a client that had called while all of those granted just before still believed."""
    count = 0
    for place in range(permits, len(grants)):
        later = grants[place]
        in_the_way = grants[place - permits : place]
        count += all(
            later.client != earlier.client
            and not (later.shared and earlier.shared)
            and later.called < earlier.believed_until
            for earlier in in_the_way
        )
    return count


def ended_by_expiry(run, grants):
    """Grants whose session a server ended: before the release, or instead of it.

    Instead of it: the node went when the session was closed, though the release had been called.
    """
    count = 0
    for grant in grants:
        txn = run.expired.get(grant.answer.get("session"))
        if txn is None:
            continue
        time = run.on_our_clock(txn.ms)
        if time + SLACK < grant.granted:
            continue
        removed = {path for what, path, _ in txn.changes if what == "delete"}
        held = grant.answer.get("node") in removed and _same_node(run, grant, txn)
        count += grant.release_called is None or time < grant.release_called or held
    return count


def _same_node(run, grant, txn):
    """Whether the node that went was that of the grant: a path can be made again."""
    token = grant.answer.get("token")
    lives = [life for life in run.nodes if life["path"] == grant.answer["node"]]
    went = [life for life in lives if life["end"] is not None and life["end"].zxid == txn.zxid]
    return token is None or any(life["czxid"] == token for life in went)


def stale_actions(run, grants):
    """Actions that were accepted of holders that still believed after their session had ended."""
    count = 0
    for grant in grants:
        txn = run.closes.get(grant.answer.get("session"))
        if txn is None:
            continue
        end = run.on_our_clock(txn.ms) + SLACK
        if grant.believed_until > end:
            count += sum(a["value"]["accepted"] and a["time"] > end for a in grant.acts)
    return count
