"""Histories of clients of a made-up ZooKeeper, which keep its promises unless they are spoilt."""

from rumpus.checker.deciders.operation_table import INFO, NEVER

KEYS = ("/a", "/b")


def generate(rng, *, watches=True):
    """Rows of a history that keeps all promises: sessions that see a growing prefix each."""
    plans = []
    for client in range(rng.choice((2, 2, 3))):
        time = rng.randrange(4)
        session = client
        for _ in range(rng.randint(1, 4)):
            call = time + rng.randrange(1, 4)
            point = call + rng.randrange(4)
            time = point + rng.randrange(4)
            if rng.random() < 0.1:
                session += 10
            plans.append((point, rng.random(), client, session, call, time))
    log = [("/a", 0, 3, 5)] if rng.random() < 0.5 else []
    zxid = 6
    seen, left = {}, {}
    rows = []
    for point, _, client, session, call, returned in sorted(plans):
        f = rng.choice(["write", "write", "read", "read", "sync", *["watch"] * (2 * watches)])
        key = rng.choice(KEYS)
        row = {"f": f, "process": client, "session": session, "call": call, "returned": returned}
        mine = seen.setdefault(session, 0)
        own = [each for each in log if each[0] == key]
        if f == "write":
            value = rng.randrange(3)
            unknown = rng.random() < 0.25
            took_effect = not unknown or rng.random() < 0.7
            row |= {"key": key, "argument": value}
            version = own[-1][2] + 1 if own else 0
            if not own:
                row["f"] = "create"
            if took_effect:
                zxid += rng.choice((1, 2))
                log.append((key, value, version, zxid))
            if unknown:
                row |= {"outcome": INFO, "returned": NEVER}
            else:
                _advance(rng, rows, left, log, client, session, mine, len(log), point)
                seen[session] = len(log)
                row |= {"version": version, "zxid": zxid}
        elif f == "sync":
            _advance(rng, rows, left, log, client, session, mine, len(log), point)
            seen[session] = len(log)
        else:
            to = rng.randint(mine, len(log)) if rng.random() < 0.7 else len(log)
            _advance(rng, rows, left, log, client, session, mine, to, point)
            seen[session] = to
            row["key"] = key
            content = [each for each in log[:to] if each[0] == key]
            if content:
                _, value, version, at = content[-1]
                row |= {"result": value, "zxid": at}
                if rng.random() < 0.8:
                    row["version"] = version
            if f == "watch":
                left.setdefault(session, set()).add(key)
            if rng.random() < 0.07:
                for name in ("result", "zxid", "version"):
                    row.pop(name, None)
                row |= {"outcome": INFO, "returned": NEVER}
        rows.append(row)
    return rows


def _advance(rng, rows, left, log, client, session, start, to, point):
    """Send a session the events of its watched znodes, as its view moves on."""
    for key, _, _, zxid in log[start:to]:
        if key in left.get(session, ()):
            left[session].discard(key)
            event = {"f": "event", "process": 100 + client, "session": session, "key": key}
            event |= {"call": point, "returned": point}
            if rng.random() < 0.5:
                event["zxid"] = zxid
            rows.append(event)


def spoil(rng, rows):
    """Change one thing; the history may still be all right."""
    rows = [dict(row) for row in rows]
    row = rng.choice(rows)
    told = [each for each in rows if "zxid" in each and each["f"] != "event"]
    reads = [each for each in told if each["f"] in ("read", "watch")]
    how = rng.choice(["content", "content", "zxid", "early", "late", "value", "version", "event"])
    if how == "content" and reads and told:
        read, other = rng.choice(reads), rng.choice(told)
        read |= {"zxid": other["zxid"], "result": other.get("result", other.get("argument"))}
        read["key"] = other["key"]
        read.pop("version", None)
    elif how == "zxid" and told:
        each = rng.choice(told)
        each["zxid"] = max(each["zxid"] + rng.choice((-3, -2, -1, 1, 2)), 1)
    elif how == "early" and row["returned"] != NEVER:
        by = rng.randrange(1, 8)
        row |= {"call": row["call"] - by, "returned": row["returned"] - by}
    elif how == "late" and row["returned"] != NEVER:
        by = rng.randrange(1, 8)
        row |= {"call": row["call"] + by, "returned": row["returned"] + by}
    elif how == "value" and reads:
        rng.choice(reads)["result"] = rng.randrange(4)
    elif how == "version" and told:
        each = rng.choice(told)
        each["version"] = each.get("version", 0) + rng.choice((-1, 1, 2))
    elif how == "event":
        events = [each for each in rows if each["f"] == "event"]
        if events and rng.random() < 0.5:
            rows.remove(rng.choice(events))
        elif events:
            rows.append(dict(rng.choice(events)))
    return rows
