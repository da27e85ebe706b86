"""What passed on the clients' links: sessions asked for, requests, and the servers' answers.

The links write a record when a request was answered, or when its connection is over: in the order
in which the server sent its answers and events. Data, lists
of children and access control lists are kept as sums, so that a record is short and has no secret;
passwords are compared where they pass, and not kept.

Times are nanoseconds on the run's clock, at the link: a server gets a request no earlier than it
was ``sent``, and has answered no later than it was ``answered``. A reply is recorded when it
comes from the server, whether or not a fault lets it through to the client.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal, NamedTuple
from zlib import crc32

import msgspec

WRITES = frozenset(
    {
        "create",
        "create2",
        "create-container",
        "create-ttl",
        "delete",
        "set-data",
        "set-acl",
        "check",
        "multi",
        "reconfig",
    }
)
"""Requests that get a transaction, even if they are refused."""

READS = frozenset(
    {
        "exists",
        "get-data",
        "get-acl",
        "get-children",
        "get-children2",
        "get-ephemerals",
        "count-children",
        "multi-read",
    }
)
"""Requests whose answers the tree decides."""

SET_WATCHES = frozenset({"set-watches", "set-watches2"})
"""Requests whose answer may follow events that the tree decides."""

COUNTED_AS = {
    "create2": "create",
    "create-container": "create",
    "create-ttl": "create",
    "get-children2": "get-children",
    "set-watches2": "set-watches",
    "multi-read": "opcode-22",
}
"""Requests that the links count under another name, those in the history's ``link requests``."""

Long = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
"""An integer of 64 bits, as those of the protocol and of the clock are.

Any number of longer ones can have the same hash in Python, and then a table of them takes
quadratic time.
"""

Milliseconds = Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 31)]
"""A timeout, which has 32 bits on the wire."""

Stat = tuple[Long, Long, Long, Long, Long, Long, Long, Long, Long, Long, Long]
"""A Stat in its order on the wire; the fields of ``StatFields``."""


class StatFields(NamedTuple):
    """The fields of a Stat, under ZooKeeper's names, in their order on the wire."""

    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    ephemeralOwner: int  # noqa: N815 - ZooKeeper's
    dataLength: int  # noqa: N815
    numChildren: int  # noqa: N815
    pzxid: int


class Handshake(msgspec.Struct, tag="handshake", omit_defaults=True, gc=False):
    """A client that asks a server for a session, and the server's answer.

    ``connection`` is the connection's number among the client's, ``node`` the server. ``asked`` is
    the id of the session to be resumed, 0 for a new one; ``wanted`` the timeout asked for, in ms;
    ``seen`` the last zxid that the client says it has seen. ``session`` and ``timeout`` are what
    was granted, both 0 if the server refused. ``proved`` tells whether the password was that of
    the session asked for; None if no link has seen that session being granted.
    """

    client: Long
    connection: Long
    node: str
    sent: Long
    answered: Long | None = None
    asked: Long = 0
    wanted: Milliseconds = 0
    seen: Long = 0
    session: Long = 0
    timeout: Milliseconds = 0
    proved: bool | None = None


EventKind = Literal["created", "deleted", "changed", "child"]


class Event(msgspec.Struct, tag="event", omit_defaults=True, gc=False):
    """A watch event that a server sent.

    ``what`` is ``created``, ``deleted``, ``changed`` (its data) or ``child`` (a child was created
    or deleted).
    """

    client: Long
    connection: Long
    sent: Long
    what: EventKind
    path: str


class Part(msgspec.Struct, omit_defaults=True, gc=False):
    """An operation of a ``multi`` or ``multi-read``, and its result; a request has these, too.

    Asked: ``path``, ``version`` (expected; -1: any), ``flags`` (of a create), ``data`` (length and
    CRC-32 of the data).

    Answered: ``error`` (0, or a negative code of ``KeeperException``; None: not answered), ``made``
    (path of the created znode), ``stat``, ``told`` (length and CRC-32 of the data), ``children``
    (their number, and the sum of the CRC-32 of their names), ``count`` (of all znodes below).
    ``acl`` is the CRC-32 of an access control list as it was sent, asked or answered.
    """

    name: str
    path: str = ""
    version: Long | None = None
    flags: Long | None = None
    data: tuple[Long, Long] | None = None
    error: Long | None = None
    made: str = ""
    stat: Stat | None = None
    told: tuple[Long, Long] | None = None
    children: tuple[Long, Long] | None = None
    acl: Long | None = None
    count: Long | None = None


class Request(Part, kw_only=True, tag="request", omit_defaults=True, gc=False):
    """A request on a connection, and its answer.

    ``zxid`` is that of the reply's header: the last transaction that the server had applied.
    ``parts`` are those of a ``multi`` or ``multi-read``. ``watch`` tells whether a read leaves a
    watch; ``mode`` is that of an ``add-watch``, or the type of a ``remove-watches``. What a
    ``set-watches`` asks for is in ``watches`` (paths: data, exists, children, persistent,
    recursive) and ``since``, the last zxid that the client has seen. ``who`` is the scheme and the
    id that an ``auth`` proves, as access control lists have them. ``at`` is the line of the recipe
    at which the client stood, as ``my_lock.py:41 in acquire``; empty if that is not known.
    """

    client: Long
    connection: Long
    xid: Long
    sent: Long
    answered: Long | None = None
    zxid: Long = 0
    parts: list[Part] = []
    watch: bool = False
    who: tuple[str, str] | None = None
    mode: Long | None = None
    watches: list[list[str]] = []
    since: Long = 0
    at: str = ""


Wire = Handshake | Request | Event


class MalformedWire(ValueError):  # noqa: N818 - says what the file is
    """A line that is no record of the wire."""


def sum_of(data: bytes | None) -> tuple[int, int]:
    """Length and CRC-32 of a znode's data."""
    return (len(data), crc32(data)) if data else (0, 0)


def sum_of_names(names: Iterable[bytes]) -> tuple[int, int]:
    """How many names, and the sum of their CRC-32, which does not depend on their order."""
    sums = [crc32(name) for name in names]
    return len(sums), sum(sums)


_DECODER = msgspec.json.Decoder(Wire)


class WireRecords:
    """The records of a file, decoded anew whenever they are asked for.

    A run of half an hour has a million. Decoded they would take a gigabyte; as they lie in the file
    they take a quarter of that.

    Args:
        content: of the file. A line without an end is of a run that was cut off, and is ignored.

    Attributes:
        sessions: session -> the client on whose connection it was granted first.

    Raises:
        MalformedWire: a line is no record; the message has its number.
    """

    def __init__(self, content: bytes = b"") -> None:
        self._content = content[: content.rfind(b"\n") + 1]
        self.sessions: dict[int, int] = {}
        whole = 0
        try:
            for record in self:
                whole += 1
                if isinstance(record, Handshake) and record.session:
                    self.sessions.setdefault(record.session, record.client)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise MalformedWire(f"line {whole + 1} is no record of the wire ({error})") from error

    def __bool__(self) -> bool:
        return bool(self._content)

    def __iter__(self) -> Iterator[Wire]:
        for _, record in self.located():
            yield record

    def located(self) -> Iterator[tuple[int, Wire]]:
        """Where each record is, and the record, in the order in which they were written."""
        content, start = self._content, 0
        while start < len(content):
            end = content.find(b"\n", start)
            end = len(content) if end == -1 else end
            yield start, _DECODER.decode(content[start:end])
            start = end + 1

    def request_at(self, place: int) -> Request:
        """The request at a place that ``located`` has told."""
        end = self._content.find(b"\n", place)
        found = _DECODER.decode(self._content[place : None if end == -1 else end])
        assert isinstance(found, Request)
        return found
