"""ZooKeeper's promises by definition: every way in which the unknown may have gone is tried.

There must be one order of transactions in which the acknowledged writes stand at their zxids,
what was read from nobody in particular is the work of unknown writes (or from before the
history), and every session's view goes through this order, never back.
"""

from itertools import product
from math import inf

from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OK
from tests.checker.brute_force import Act, linearizable


def allowed(rows, *, syncs=True, watches=True):
    """Whether some outcome of what is unknown keeps all promises.

    Args:
        rows: mappings as `OperationTable.from_rows` takes them.
        syncs: whether syncs count.
        watches: whether watches and events do.
    """
    rows = [row for row in rows if row.get("outcome", OK) != FAIL]
    known = [row for row in rows if row.get("outcome", OK) == OK]
    unknown = [
        row for row in rows if row.get("outcome") == INFO and row["f"] in ("write", "create")
    ]
    zxids = sorted(
        {row["zxid"] for row in known if "zxid" in row and row["f"] in ("write", "create")}
        | {row["zxid"] for row in known if "zxid" in row and row["f"] in ("read", "watch")}
    )
    gaps = [each - 0.5 for each in zxids]
    for places in product([None, *zxids, *gaps], repeat=len(unknown)):
        if _explains(known, rows, list(zip(unknown, places, strict=True)), syncs, watches):
            return True
    return False


def _explains(known, rows, guessed, syncs, watches):
    transactions = {}
    hidden = 0
    for row, guess in [*((r, r["zxid"]) for r in known if r["f"] in ("write", "create")), *guessed]:
        if guess is None:
            continue
        place = guess
        if guess != int(guess):  # nobody saw it; several fit into one gap
            hidden += 1
            place = guess + hidden / 100
        if place in transactions:
            return False
        transactions[place] = (
            row.get("key"),
            row.get("argument"),
            row["f"],
            row["call"],
            row.get("returned", NEVER) if row.get("outcome", OK) == OK else NEVER,
        )
    contents = {(each[0], place): each[1] for place, each in transactions.items()}
    before = set()
    for row in known:
        if row["f"] in ("read", "watch") and "zxid" in row:
            place = (row.get("key"), row["zxid"])
            if place not in contents:
                if row["zxid"] in transactions or row.get("key") in {key for key, _ in before}:
                    return False
                before.add(place)
                contents[place] = row["result"]
            if contents[place] != row["result"]:
                return False
    for key in {key for key, _ in contents}:
        own = sorted(zxid for each, zxid in contents if each == key)
        if any(place != (key, own[0]) for place in before if place[0] == key):
            return False
        if any(zxid in transactions and transactions[zxid][2] == "create" for zxid in own[1:]):
            return False
        if not _counts(known, key, own, transactions):
            return False
    stage = {zxid: (key, None, "write", -inf, inf) for key, zxid in before}
    return _in_time(known, transactions | stage) and _sessions(rows, contents, syncs, watches)


def _counts(known, key, own, transactions):
    """Whether versions of a znode grow by one with each write."""
    firsts = set()
    for row in known:
        if row.get("key") == key and row["f"] != "event" and row.get("version") is not None:
            firsts.add(row["version"] - own.index(row["zxid"]))
    if own[0] in transactions and transactions[own[0]][2] == "create":
        firsts.add(0)
    return len(firsts) <= 1 and all(first >= 0 for first in firsts)


def _in_time(known, transactions):
    """Whether times can be given to transactions in their order."""
    time = -inf
    for place in sorted(transactions):
        _, _, _, call, returned = transactions[place]
        time = max(time, call)
        seen = [
            r["returned"] for r in known if r["f"] in ("read", "watch") and r.get("zxid") == place
        ]
        if time > min([returned, *seen]):
            return False
    return True


def _sessions(rows, contents, syncs, watches):
    """Whether each session has a view that goes through the contents, never back."""
    order = sorted(contents, key=lambda place: place[1])
    acknowledged = [r for r in rows if r.get("outcome", OK) == OK and r["f"] in ("write", "create")]

    def internal(state):
        seen, left, told = state
        if seen < len(order) and order[seen][0] not in left:
            yield (seen + 1, left, told)

    def step(state, row):
        seen, left, told = state
        key, f = row.get("key"), row["f"]
        if f == "event":
            zxid = row.get("zxid")
            if key not in left or (zxid and told and (told[0] > zxid or (zxid, key) in told[1])):
                return []
            if zxid:
                told = (zxid, (told[1] if told else frozenset()) | {(zxid, key)})
            return [(seen, left - {key}, told)]
        if f == "sync":
            done = [r["zxid"] for r in acknowledged if r["returned"] < row["call"]]
            ahead = sum(zxid <= max(done, default=-1) for _, zxid in order)
            return [state] if seen >= ahead else []
        if f in ("write", "create"):
            before = order.index((key, row["zxid"]))
            if seen != before:
                return []
            return [(seen + 1, left, told)] if key not in left else []
        if row.get("outcome") != INFO:
            visible = [zxid for each, zxid in order[:seen] if each == key]
            if (visible[-1] if visible else None) != row.get("zxid"):
                return []
        return [(seen, left | {key}, told)] if f == "watch" and watches else [state]

    for session in {row["session"] for row in rows}:
        acts = []
        for row in rows:
            info = row.get("outcome") == INFO
            if row["session"] != session or (info and row["f"] not in ("watch", "event")):
                continue
            if (row["f"] == "sync" and not syncs) or (row["f"] == "event" and not watches):
                continue
            acts.append(Act(row["call"], inf if info else row["returned"], row, info))
        if not linearizable(acts, (0, frozenset(), None), step, internal):
            return False
    return True
