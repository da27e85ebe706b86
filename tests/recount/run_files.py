"""A run as its files have it: records of the history and of the servers' logs, as plain data.

Nothing here, nor in ``counts``, comes from the program: what it counted is counted again from the
bytes that it left. The layout of the servers' logs is that of ZooKeeper's ``FileTxnLog``.
"""

import json
import struct
from collections import Counter
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

CREATES, DELETES, SET, MULTI, CLOSE = (1, 15, 19, 21), (2, 20), 5, 14, -11


class Txn(NamedTuple):
    """One logged transaction.

    ``changes`` are ("create", "set" or "delete", path, data) in their order. A close of a session
    deletes the paths of its changes. ``ms`` is the leader's wall clock.
    """

    zxid: int
    session: str
    cxid: int
    ms: int
    kind: int
    changes: tuple


class Call(NamedTuple):
    """An operation: its two records, the second None while it is open."""

    process: int
    client: int
    f: str
    value: object
    called: int
    returned: int
    type: str
    answer: object
    error: str | None


class RunFiles:
    """What a run left in its directory."""

    def __init__(self, directory):
        self.directory = Path(directory)
        self.results = json.loads((self.directory / "results.json").read_text())
        self.test = json.loads((self.directory / "test.json").read_text())
        lines = (self.directory / "history.jsonl").read_text().splitlines()
        records = [{"value": None, "error": None, **json.loads(line)} for line in lines]
        self.records = sorted(records, key=lambda record: record["time"])
        self.clients = self.test["clients"]
        self.end = self.records[-1]["time"]

    def stat(self, check, name):
        (found,) = [each for each in self.results["checks"] if each["name"] == check]
        return found["stats"][name]

    def calls_of(self, nemesis=False):
        waiting, found = {}, []
        for record in self.records:
            process = record["process"]
            if (process == "nemesis") is not nemesis or (not nemesis and type(process) is not int):
                continue
            if record["type"] == "invoke":
                waiting[process] = len(found)
                found.append([record, None])
            else:
                found[waiting.pop(process)][1] = record
        return found

    @cached_property
    def calls(self):
        return [
            Call(
                call["process"],
                call["process"] % self.clients,
                call["f"],
                call["value"],
                call["time"],
                done["time"] if done else self.end + 1,
                done["type"] if done else "info",
                done["value"] if done else None,
                done["error"] if done else "open",
            )
            for call, done in self.calls_of()
        ]

    def of(self, *functions, type=None):  # noqa: A002 - the field's name
        return [c for c in self.calls if c.f in functions and type in (None, c.type)]

    def told(self, process, f=None):
        return [r for r in self.records if r["process"] == process and f in (None, r["f"])]

    @cached_property
    def final(self):
        """When the final phase began; after everything if it never did."""
        phases = [r for r in self.told("control", "phase") if r["value"]["phase"] == "final"]
        return phases[0]["time"] if phases else self.end + 1

    # -- the servers' logs ---------------------------------------------------------------------

    @cached_property
    def log(self):
        """What a majority of the servers logged, in order of zxid."""
        seen, votes = {}, Counter()
        for node in sorted((self.directory / "nodes").glob("*/")):
            own = {}
            for file in sorted((node / "version-2").glob("log.*")):
                own.update({txn.zxid: txn for txn in _read_log(file.read_bytes())})
            votes.update(own.keys())
            seen.update(own)
        majority = self.test["nodes"] // 2 + 1
        times = self._true_times
        return [
            seen[zxid]._replace(ms=times.get(str(zxid), seen[zxid].ms))
            for zxid in sorted(seen)
            if votes[zxid] >= majority
        ]

    @cached_property
    def _true_times(self):
        found = list((self.directory / "nodes").glob("*.json"))
        return json.loads(found[0].read_text()) if found else {}

    @cached_property
    def closes(self):
        """Session -> the transaction that ended it; a server's own has no client's request."""
        return {txn.session: txn for txn in self.log if txn.kind == CLOSE}

    @property
    def expired(self):
        return {session: txn for session, txn in self.closes.items() if txn.cxid == 0}

    @cached_property
    def nodes(self):
        """Every life of every znode: path, data, czxid, who made it, who deleted it, and when."""
        lives, alive = [], {}
        for txn in self.log:
            for what, path, data in txn.changes:
                if what == "create":
                    alive[path] = life = {
                        "path": path,
                        "data": data,
                        "czxid": txn.zxid,
                        "by": txn.session,
                        "ms": txn.ms,
                        "end": None,
                    }
                    lives.append(life)
                elif what == "delete" and path in alive:
                    alive.pop(path)["end"] = txn
        return lives

    def on_our_clock(self, ms):
        """A server's time in nanoseconds of the run, by the anchors around it."""
        wall = ms * 1_000_000
        anchors = [(a["wall"], a["monotonic"]) for a in self.test["clock_anchors"]]
        anchors.sort()
        for (w0, m0), (w1, m1) in pairwise(anchors):
            if w0 <= wall <= w1 and w1 > w0:
                return m0 + (wall - w0) * (m1 - m0) // (w1 - w0)
        near = min(anchors, key=lambda anchor: abs(anchor[0] - wall))
        return near[1] + wall - near[0]


def _read_log(data):
    at = 16
    while at + 12 <= len(data):
        length = struct.unpack_from(">i", data, at + 8)[0]
        payload = data[at + 12 : at + 12 + length]
        if length <= 0 or data[at + 12 + length : at + 13 + length] != b"B":
            return
        session, cxid, zxid, ms, kind = struct.unpack_from(">qiqqi", payload)
        changes = tuple(_changes(kind, payload[32:]))
        yield Txn(zxid, f"0x{session & (1 << 64) - 1:x}", cxid, ms, kind, changes)
        at += 13 + length


def _changes(kind, body):
    if kind in CREATES:
        path, at = _buffer(body, 0)
        yield "create", path.decode(), _buffer(body, at)[0]
    elif kind == SET:
        path, at = _buffer(body, 0)
        yield "set", path.decode(), _buffer(body, at)[0]
    elif kind in DELETES:
        yield "delete", _buffer(body, 0)[0].decode(), None
    elif kind == CLOSE and len(body) >= 4:
        number, at = struct.unpack_from(">i", body)[0], 4
        for _ in range(number):
            path, at = _buffer(body, at)
            yield "delete", path.decode(), None
    elif kind == MULTI:
        number, at = struct.unpack_from(">i", body)[0], 4
        parts = []
        for _ in range(number):
            part, length = struct.unpack_from(">ii", body, at)
            parts.append((part, body[at + 8 : at + 8 + length]))
            at += 8 + length
        if all(part != -1 for part, _ in parts):  # a part that failed undoes the others
            for part, inner in parts:
                yield from _changes(part, inner)


def _buffer(body, at):
    length = struct.unpack_from(">i", body, at)[0]
    return body[at + 4 : at + 4 + max(length, 0)], at + 4 + max(length, 0)
