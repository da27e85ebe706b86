"""ZooKeeper's promises by definition: every way in which the unknown may have gone is tried.

There must be one order of transactions in which the acknowledged writes stand at their zxids,
what was read from nobody in particular is the work of unknown writes (or from before the
history), and every session's view goes through this order, never back.
"""

from itertools import product
from math import inf

from rumpus.checker.deciders.operation_table import FAIL, INFO, OK
from tests.checker.brute_force import Act, linearizable


def allowed(rows, *, syncs=True, watches=True, changes=True):
    """Whether some outcome of what is unknown keeps all promises.

    Args:
        rows: mappings as `OperationTable.from_rows` takes them.
        syncs: whether syncs count.
        watches: whether watches and events do.
        changes: whether an event needs a change after the read that set its watch.
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
        guessed = list(zip(unknown, places, strict=True))
        if _explains(known, rows, guessed, syncs, watches, changes):
            return True
    return False


def _explains(known, rows, guessed, syncs, watches, changes):
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
        transactions[place] = row
    contents = {(row.get("key"), place): row.get("argument") for place, row in transactions.items()}
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
        if any(zxid in transactions and transactions[zxid]["f"] == "create" for zxid in own[1:]):
            return False
        if not _counts(known, key, own, transactions):
            return False
    if not _in_time(rows, known, transactions, watches and changes):
        return False
    times = dict.fromkeys((place for _, place in before), -inf)
    places = sorted(transactions)
    for number, place in enumerate(places):
        times[place] = max(transactions[each]["call"] for each in places[: number + 1])
    firsts = {key for key, _ in before}
    firsts |= {row.get("key") for row in transactions.values() if row["f"] == "create"}
    return _sessions(rows, contents, syncs, watches, (times, firsts) if changes else None)


def _counts(known, key, own, transactions):
    """Whether versions of a znode grow by one with each write."""
    firsts = set()
    for row in known:
        if row.get("key") == key and row["f"] != "event" and row.get("version") is not None:
            firsts.add(row["version"] - own.index(row["zxid"]))
    if own[0] in transactions and transactions[own[0]]["f"] == "create":
        firsts.add(0)
    return len(firsts) <= 1 and all(first >= 0 for first in firsts)


def _in_time(rows, known, transactions, events):
    """Whether no transaction was called after somebody had seen it, or a later one."""
    fs = ("read", "watch", "write", "create", *["event"] * events)
    seen = [row for row in known if row["f"] in fs and row.get("zxid", 0) > 0]
    return not any(
        row is not write and row["zxid"] >= place and _precedes(rows, row, write)
        for place, write in transactions.items()
        for row in seen
    )


def _precedes(rows, one, other):
    """Whether an operation was over before another was called; those of a process are in order."""
    if one["returned"] != other["call"] or one["process"] != other["process"]:
        return one["returned"] < other["call"]
    return [row is one for row in rows].index(True) < [row is other for row in rows].index(True)


def _sessions(rows, contents, syncs, watches, changes):
    """Whether each session has a view that goes through the contents, never back."""
    order = sorted(contents, key=lambda place: place[1])
    acknowledged = [r for r in rows if r.get("outcome", OK) == OK and r["f"] in ("write", "create")]

    def without(left, key):
        return frozenset(each for each in left if each[0] != key)

    def changed(row, read, seen):
        """Whether a change after what was read may have happened by the time of an event."""
        told = row.get("zxid", 0)
        times, firsts = changes
        if seen and 0 < told <= order[seen - 1][1]:
            return False
        if read is None and row["key"] not in firsts:
            own = [place for key, place in order if key == row["key"]]
            if told <= 0 or told < min(own, default=inf):
                return True
        later = [place for key, place in order if key == row["key"] and place > (read or 0)]
        if told > 0 and told != min(later, default=None):
            return False
        return (told <= 0 or read is None or told > read) and any(
            key == row.get("key")
            and (read is None or place > read)
            and (row.get("outcome") == INFO or times[place] <= row["returned"])
            for key, place in order
        )

    def internal(state):
        seen, left, told = state
        if seen < len(order):  # a transaction shows in all of its znodes at once
            keys = [key for key, place in order[seen:] if place == order[seen][1]]
            if not set(keys) & dict(left).keys():
                yield (seen + len(keys), left, told)

    def step(state, row):
        seen, left, told = state
        key, f = row.get("key"), row["f"]
        if f == "event":
            zxid = row.get("zxid")
            if key not in dict(left) or (
                zxid and told and (told[0] > zxid or (zxid, key) in told[1])
            ):
                return []
            if changes is not None and not changed(row, dict(left)[key], seen):
                return []
            if zxid:
                told = (zxid, (told[1] if told else frozenset()) | {(zxid, key)})
            return [(seen, without(left, key), told)]
        if f == "sync":
            done = [r["zxid"] for r in acknowledged if r["returned"] < row["call"]]
            ahead = sum(zxid <= max(done, default=-1) for _, zxid in order)
            return [state] if seen >= ahead else []
        if f in ("write", "create"):
            before = order.index((key, row["zxid"]))
            if seen != before:
                return []
            return [(seen + 1, left, told)] if key not in dict(left) else []
        visible = [zxid for each, zxid in order[:seen] if each == key]
        latest = visible[-1] if visible else None
        if row.get("outcome") != INFO and latest != row.get("zxid"):
            return []
        if f == "watch" and watches and key not in dict(left):
            return [(seen, left | {(key, latest)}, told)]
        return [state]

    for session in {row["session"] for row in rows}:
        acts = []
        for row in rows:
            info = row.get("outcome") == INFO
            if row["session"] != session or (info and row["f"] not in ("watch", "event")):
                continue
            if (row["f"] == "sync" and not syncs) or (row["f"] == "event" and not watches):
                continue
            returned = inf if info else row["returned"]
            acts.append(Act(row["call"], returned, row, info, row["process"]))
        if not linearizable(acts, (0, frozenset(), None), step, internal):
            return False
    return True
