"""When leases began and ended on servers that are not ZooKeeper's, from what these have executed.

A lease is a key with its holder's random value and a time to live. The value stands for the
holder's session (``LeaseLock.session``), so the checks of exclusion apply as they are. A lease of
etcd that is kept alive is itself a session, and has a key of its own (see
``recipes.etcd.etcd_session``).
"""

import re
from base64 import b64decode
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from rumpus.checker.untrusted_file import read_lines

LARGEST: Final = 1 << 28
"""Bytes that a log may have."""

TTL_MS: Final = 2000
"""The time to live of the recipes' leases. etcd's log does not tell it; a lease that lasted so long
has ended by itself."""

FOR_EVER: Final = 1 << 53
"""The end of what was never seen to end, in milliseconds."""

_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_TIME = re.compile(rb"(\d{1,12})\.(\d{6}) ")
_OPTIONS = {b"PX": 1, b"EX": 1000}
_UNTIL = {b"PXAT": 1, b"EXAT": 1000}
_SET = re.compile(rb"clock (-?\d{1,6})")
_DIGITS = re.compile(rb"\d{1,19}")


class Lease(NamedTuple):
    """One server's lease: its holder's value, when it began, and when its time is over.

    Both in milliseconds of the wall clock. ``expired``: it lasted until then; else its holder
    removed it before. ``keys``, of a session: the create revisions of its keys that were removed
    because it ended; None if the lease is not a session's.
    """

    value: int
    start: int
    end: int
    expired: bool
    keys: tuple[int, ...] | None = None


def leases_of_redis(log: Path) -> list[Lease]:
    """The leases that one server was asked for, from the output of its ``MONITOR``.

    Whether the server refused a request is not in there. It does not matter: a value's requests
    come within milliseconds of each other, and only values count with which a client was granted
    the lock.

    Raises:
        OSError, UnfitFile: the file cannot be read.
    """
    leases: dict[int, Lease] = {}
    caller: list[bytes] = []
    clock = _ServerClock()
    for line in read_lines(log, LARGEST).splitlines():
        if (set_to := _SET.fullmatch(line)) is not None:
            clock.is_set(int(set_to[1]) * 1000)
        found = _TIME.match(line)
        if found is None:
            continue
        at = clock.right(int(found[1]) * 1000 + int(found[2]) // 1000)
        words = list(_quoted(line))
        command = words[0].lower() if words else b""
        if b" lua]" not in line[: line.find(b'"')]:
            caller = words
        if command == b"set" and len(words) > 3:
            end = _end(words[3:], at, clock.ahead)
            if end is not None and _DIGITS.fullmatch(words[2]):
                value = int(words[2])
                leases[value] = Lease(value, at, end, expired=True)
        elif command == b"del":
            # By the script of a release, which names the value that it removes.
            for word in caller:
                held = leases.get(int(word)) if _DIGITS.fullmatch(word) else None
                if held is not None and at < held.end:
                    leases[held.value] = held._replace(expired=False)
    return list(leases.values())


def _quoted(line: bytes) -> Iterator[bytes]:
    """The strings of a line, as they are written; what follows a quote without an end is none."""
    at = line.find(b'"')
    while at >= 0 and (found := _QUOTED.match(line, at)) is not None:
        yield found[1]
        at = line.find(b'"', found.end())


class _ServerClock:
    """Converts times of a server's wall clock, which a fault may have set wrong, to right ones.

    The log is told of that just before, so the next lines may still have the old time. The one
    that is nearer to the line before is right: the steps are whole seconds, and clients ask all
    the time.
    """

    def __init__(self) -> None:
        self.ahead = 0
        self._next: int | None = None
        self._latest = 0

    def is_set(self, ahead: int) -> None:
        """The clock is being set so many milliseconds ahead."""
        self._next = ahead

    def right(self, shown: int) -> int:
        """The right time when the clock shows this; all in milliseconds."""
        coming = self._next
        if coming is not None and abs(shown - coming - self._latest) < abs(
            shown - self.ahead - self._latest
        ):
            self.ahead, self._next = coming, None
        self._latest = shown - self.ahead
        return self._latest


def _end(options: Sequence[bytes], at: int, ahead: int) -> int | None:
    """When a key ends that is set at a time with these options; None: never.

    ``ahead``: of the right time, the clock that counts seconds since 1970.
    """
    for name, number in pairwise(options):
        if not _DIGITS.fullmatch(number):
            continue
        if (unit := _OPTIONS.get(name.upper())) is not None:
            return at + unit * int(number)
        if (unit := _UNTIL.get(name.upper())) is not None:
            return unit * int(number) - ahead
    return None


_OF_SESSION = re.compile(rb"-sessions/([0-9a-f]{16})$")
"""The end of the key by which a session says that its lease lasts: the lease's number."""


class _KeyValue(msgspec.Struct):
    key: str
    value: str = ""
    lease: int = 0
    create_revision: int = 0
    mod_revision: int = 0


class _Event(msgspec.Struct):
    kv: _KeyValue
    type: int | str = 0

    @property
    def removes(self) -> bool:
        """Whether the key was removed; else it was written."""
        return self.type in (1, "DELETE")


class _Answer(msgspec.Struct):
    events: list[_Event] = msgspec.field(name="Events", default_factory=list)


def leases_of_etcd(log: Path) -> list[Lease]:
    """The leases that one server has seen, from what its ``watch`` has printed, with times.

    Each line is a time in seconds and an answer of ``etcdctl watch --write-out=json``. A key is
    removed when its lease ends, or by its holder; the event is the same, so a lease that was
    removed before its time (``TTL_MS``) counts as released. A session's key goes when its lease
    does, however long that was kept alive; nobody else removes it. The session's other keys that
    are removed in the same revision were removed by its end, and not by their holder.

    Raises:
        OSError, UnfitFile: the file cannot be read.
    """
    leases: dict[int, Lease] = {}
    held: dict[str, int] = {}
    sessions: dict[int, Lease] = {}
    keys = _KeysOfSessions()
    decoder = msgspec.json.Decoder(_Answer)
    for line in read_lines(log, LARGEST).splitlines():
        found = _TIME.match(line)
        if found is None:
            continue
        at = int(found[1]) * 1000 + int(found[2]) // 1000
        try:
            answer = decoder.decode(line[found.end() :])
        except msgspec.MsgspecError:
            continue  # the last line of a server that was killed
        for event in answer.events:
            key = event.kv.key
            keys.see(event)
            if (session := _session(event.kv)) is not None:
                known = sessions.setdefault(session, Lease(session, at, FOR_EVER, expired=True))
                if event.removes and known.end == FOR_EVER:
                    sessions[session] = known._replace(end=at)
                continue
            if event.removes:
                ended = held.pop(key, None)
                # A watch that began again repeats ends, too: the first time is the right one.
                if ended is not None and leases[ended].end == FOR_EVER:
                    leases[ended] = _removed(leases[ended], at)
                continue
            text = b64decode(event.kv.value)
            if _DIGITS.fullmatch(text) and (value := int(text)) not in leases:
                held[key] = value
                leases[value] = Lease(value, at, FOR_EVER, expired=True)
            elif _DIGITS.fullmatch(text):
                held[key] = int(text)  # the watch began again, from the first revision
    of_sessions = [each._replace(keys=keys.ended_with(each.value)) for each in sessions.values()]
    return [*leases.values(), *of_sessions]


def _removed(lease: Lease, at: int) -> Lease:
    """A lease whose key was removed at a time: it has expired, or was released before."""
    expired = at - lease.start >= TTL_MS
    return lease._replace(end=at if expired else lease.start + TTL_MS, expired=expired)


class _KeysOfSessions:
    """Which keys of sessions were removed in the revision in which their session ended."""

    def __init__(self) -> None:
        self._owners: dict[str, tuple[int, int]] = {}
        self._removed: dict[int, dict[int, int]] = {}
        self._ended: dict[int, int] = {}

    def see(self, event: _Event) -> None:
        """Take note of an event; the same one may come again."""
        pair = event.kv
        if (session := _session(pair)) is not None:
            if event.removes:
                self._ended[session] = pair.mod_revision
        elif not event.removes:
            self._owners[pair.key] = pair.lease, pair.create_revision
        elif (owner := self._owners.pop(pair.key, None)) is not None:
            session, created = owner
            self._removed.setdefault(session, {})[created] = pair.mod_revision

    def ended_with(self, session: int) -> tuple[int, ...]:
        """The create revisions of the keys that a session's end removed."""
        end = self._ended.get(session)
        removed = self._removed.get(session, {})
        return tuple(created for created, revision in removed.items() if revision == end)


def _session(pair: _KeyValue) -> int | None:
    """The session whose key this is, as a signed number of 64 bits."""
    found = _OF_SESSION.search(b64decode(pair.key))
    if found is None:
        return None
    number = int(found[1], 16)
    return number - (1 << 64) if number >= 1 << 63 else number
