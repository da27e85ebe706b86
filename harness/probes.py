"""What the auditor asks a server besides its tree: requests that servers must refuse, and others.

Workloads ask what sound programs ask. A server may ignore a version, a right or a password, and no
program would notice that behaves. So where servers themselves are tested, the auditor's sessions
ask for what must not be granted, too. Nothing is expected here: the check of what passes on the
links decides (`checker.server_promises`).

Pure: requests as bytes.
"""

import struct
from collections.abc import Sequence

Asked = tuple[int, bytes]
"""Opcode and body of a request."""

CREATE, DELETE, EXISTS, GET_DATA, SET_DATA, GET_ACL, SET_ACL, GET_CHILDREN = range(1, 9)
CHECK, MULTI, CREATE2, REMOVE_WATCHES, MULTI_READ = 13, 14, 15, 18, 22
GET_EPHEMERALS, COUNT_CHILDREN, SET_WATCHES2, ADD_WATCH = 103, 104, 105, 106
CLOSE = -11
RECONFIG, CREATE_CONTAINER, CREATE_TTL = 16, 19, 21

_PERSISTENT, _RECURSIVE = 0, 1
_BOTH_TABLES = 3
_EPHEMERAL, _SEQUENTIAL, _CONTAINER, _TTL = 1, 2, 4, 5
_ANY = -1
_ALL, _READ_AND_WRITE = 31, 3

LONGEST_REQUEST = 0xFFFFF
"""``jute.maxbuffer`` by default: the bytes of a request that a server reads."""

OUT_OF_BOUNDS = (0x7FFFFFFF, 1, 0, -5)
"""Session timeouts (ms) that no server grants."""

_QUOTA = "/zookeeper/quota"
_SHORT_TTL_MS, _LONG_TTL_MS = 200, 3_600_000

_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")
_PART = struct.Struct(">i?i")  # the header before each part of a multi: opcode, done, error


def text(value: str) -> bytes:
    """A string, or data, as it is sent."""
    raw = value.encode()
    return _INT.pack(len(raw)) + raw


def _acl(permissions: int, scheme: str, name: str) -> bytes:
    return _INT.pack(1) + _INT.pack(permissions) + text(scheme) + text(name)


_OPEN = _acl(_ALL, "world", "anyone")
_OF_NOBODY = _acl(_ALL, "digest", "nobody:hash")
_NOT_ADMIN = _acl(_READ_AND_WRITE, "world", "anyone")


def create(path: str, flags: int = 0, acl: bytes = _OPEN, data: str = "") -> Asked:
    """Create a znode, and be told its Stat."""
    return CREATE2, text(path) + text(data) + acl + _INT.pack(flags)


def delete(path: str, version: int = _ANY) -> Asked:
    """Delete a znode at a version."""
    return DELETE, text(path) + _INT.pack(version)


def set_data(path: str, data: str = "x", version: int = _ANY) -> Asked:
    """Set a znode's data at a version."""
    return SET_DATA, text(path) + text(data) + _INT.pack(version)


def _set_acl(path: str, acl: bytes, version: int) -> Asked:
    return SET_ACL, text(path) + acl + _INT.pack(version)


def _check(path: str, version: int) -> Asked:
    return CHECK, text(path) + _INT.pack(version)


def _get(path: str, *, watch: bool = False, opcode: int = GET_DATA) -> Asked:
    return opcode, text(path) + bytes([watch])


def _with_mode(opcode: int, path: str, mode: int) -> Asked:
    return opcode, text(path) + _INT.pack(mode)


def _several(opcode: int, *parts: Asked) -> Asked:
    packed = [_PART.pack(kind, False, -1) + body for kind, body in parts]
    return opcode, b"".join([*packed, _PART.pack(-1, True, -1)])


def of_versions(root: str) -> list[Asked]:
    """Versions that the znode does not have, znodes that are in the way, sequence numbers."""
    node, child, made = f"{root}/a", f"{root}/a/b", f"{root}/s-"
    return [
        create(root),
        create(node),
        set_data(node, "1", 0),
        set_data(node, "2", 0),
        set_data(node, "3", 7),
        _set_acl(node, _OPEN, 0),
        _set_acl(node, _OPEN, 0),
        _set_acl(node, _OPEN, 7),
        delete(node, 0),
        create(node),
        create(child),
        delete(node),
        create(f"{root}/e", _EPHEMERAL),
        create(f"{root}/e/child"),
        create(made, _SEQUENTIAL),
        create(made, _SEQUENTIAL),
        delete(f"{made}{3:010d}"),
        create(made, _SEQUENTIAL),
        delete(f"{root}/nowhere"),
        set_data(f"{root}/nowhere"),
    ]


def of_transactions(root: str) -> list[Asked]:
    """Transactions that must be carried out as a whole, or not at all."""
    node = f"{root}/a"
    return [
        _several(MULTI, create(f"{root}/never"), _check(node, 9), set_data(node)),
        _several(MULTI, set_data(node, "4"), set_data(node, "5", 7)),
        _several(MULTI, create(f"{root}/m", _EPHEMERAL), set_data(node, "6")),
        _several(MULTI, create(f"{root}/n"), create(f"{root}/n/o"), delete(f"{root}/n/o")),
        _get(f"{root}/never", opcode=EXISTS),
        _get(node),
    ]


def of_rights(root: str) -> list[Asked]:
    """Znodes of which the auditor may not do everything."""
    locked, shared = f"{root}/locked", f"{root}/shared"
    return [
        create(locked, acl=_OF_NOBODY, data="secret"),
        create(shared, acl=_NOT_ADMIN),
        _get(locked),
        _get(locked, opcode=GET_CHILDREN),
        _get(locked, opcode=EXISTS),
        set_data(locked),
        create(f"{locked}/child"),
        _several(MULTI_READ, _get(f"{root}/a"), _get(locked), _get(shared)),
        set_data(shared),
        _set_acl(shared, _OPEN, _ANY),
        create(f"{shared}/child"),
        (GET_ACL, text(shared)),
        delete(locked),
    ]


def of_watches(root: str) -> list[Asked]:
    """Watches of every kind, and changes that they must tell of, or not."""
    node, child, grandchild, gone = f"{root}/a", f"{root}/a/b", f"{root}/a/b/c", f"{root}/w"
    return [
        _get(gone, watch=True, opcode=EXISTS),
        _get(f"{root}/n", watch=True),
        _get(root, watch=True, opcode=GET_CHILDREN),
        _with_mode(ADD_WATCH, child, _PERSISTENT),
        _with_mode(ADD_WATCH, node, _RECURSIVE),
        create(gone),
        set_data(gone),
        delete(f"{root}/n", 7),
        set_data(f"{root}/n", version=7),
        set_data(f"{root}/n"),
        set_data(f"{root}/n"),
        set_data(child),
        create(grandchild),
        set_data(grandchild),
        delete(grandchild),
        set_data(child),
        _with_mode(REMOVE_WATCHES, child, _BOTH_TABLES),
        set_data(child),
        create(grandchild),
        _get(root, opcode=GET_CHILDREN),
    ]


def of_lists(root: str) -> list[Asked]:
    """What is below a znode, and whose."""
    return [
        (COUNT_CHILDREN, text(root)),
        (COUNT_CHILDREN, text(f"{root}/a")),
        (GET_EPHEMERALS, text(root)),
        (GET_EPHEMERALS, text("/")),
    ]


def of_containers(root: str) -> list[Asked]:
    """Znodes that a server removes by itself, some of them before the probes are over."""
    used, unused, full = (f"{root}/{name}" for name in ("used", "unused", "full"))
    return [
        *(_container(each) for each in (used, unused, full)),
        create(f"{used}/child"),
        create(f"{full}/child"),
        delete(f"{used}/child"),
        _mortal(f"{root}/short", _SHORT_TTL_MS),
        _mortal(f"{root}/long", _LONG_TTL_MS),
    ]


def _container(path: str) -> Asked:
    return CREATE_CONTAINER, create(path, _CONTAINER)[1]


def _mortal(path: str, ttl_ms: int) -> Asked:
    return CREATE_TTL, create(path, _TTL)[1] + _LONG.pack(ttl_ms)


def of_quotas(root: str) -> list[Asked]:
    """A quota, what is counted for it, and the count."""
    node, quota = f"{root}/q", f"{_QUOTA}{root}"
    count = _get(f"{quota}/q/zookeeper_stats")
    return [
        create(node),
        create(quota),
        create(f"{quota}/q"),
        create(f"{quota}/q/zookeeper_limits", data="count=9,bytes=-1"),
        create(f"{quota}/q/zookeeper_stats", data="count=0,bytes=0"),
        create(f"{node}/a", data="some"),
        create(f"{node}/b", _EPHEMERAL, data="more"),
        count,
        delete(f"{node}/b"),
        set_data(f"{node}/a", "something"),
        count,
    ]


def of_length(root: str) -> list[Asked]:
    """The longest request that a server reads, and its undoing."""
    node = f"{root}/big"
    return [create(node), _as_long_as(node, LONGEST_REQUEST), delete(node)]


def too_long(root: str) -> list[Asked]:
    """A request on which a server must hang up."""
    return [_as_long_as(root, LONGEST_REQUEST + 1)]


def _as_long_as(path: str, length: int) -> Asked:
    """A setData that has so many bytes with its header."""
    least = 8 + len(set_data(path, "")[1])
    return set_data(path, "x" * (length - least))


def of_members() -> list[Asked]:
    """A reconfig that would leave the members as they are."""
    return [(RECONFIG, 3 * _INT.pack(-1) + _LONG.pack(-1))]


def of_a_connection_that_follows(root: str, seen: int) -> list[Asked]:
    """What a session asks on its next connection: its watches are set anew.

    Args:
        root: of the probes.
        seen: the last zxid that the session has been shown.
    """
    node, child = f"{root}/a", f"{root}/a/b"
    tables = [[node, f"{root}/n"], [f"{root}/later"], [root], [child], []]
    packed = b"".join(_INT.pack(len(each)) + b"".join(map(text, each)) for each in tables)
    return [
        set_data(node),
        (SET_WATCHES2, _LONG.pack(seen) + packed),
        create(f"{root}/later"),
        set_data(f"{root}/n"),
        set_data(child),
        create(f"{root}/last"),
        _get(root, opcode=GET_CHILDREN),
    ]


def of_a_session_that_sleeps(root: str) -> list[Asked]:
    """What a session asks before it is silent until it must be over, and again after that."""
    return [create(f"{root}/z", _EPHEMERAL)]


def of_the_end(root: str) -> list[Asked]:
    """What another session asks when the first is over: its ephemerals, and nothing shall stay."""
    quota = ("/q/zookeeper_stats", "/q/zookeeper_limits", "/q", "")
    below = ("later", "last", "w", "n", "a/b/c", "a/b", "a", "shared", "locked", "m", "e", "z")
    mortal = ("used/child", "used", "unused", "full/child", "full", "short", "long")
    numbers = [f"s-{number:010d}" for number in range(2, 8)]
    return [
        _get(f"{root}/e", opcode=EXISTS),
        _get(f"{root}/m", opcode=EXISTS),
        *(delete(f"{root}/{name}") for name in (*below, *mortal, "big", "q/a", "q", *numbers)),
        delete(root),
        *(delete(f"{_QUOTA}{root}{name}") for name in quota),
    ]


def all_of(root: str) -> Sequence[Asked]:
    """The probes of the first connection."""
    groups = (
        of_versions,
        of_transactions,
        of_rights,
        of_watches,
        of_lists,
        of_containers,
        of_quotas,
    )
    return [each for group in groups for each in group(root)]
