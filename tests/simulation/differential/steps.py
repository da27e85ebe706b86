"""Random operation sequences: what several sessions do, as plain data that can be printed.

A sequence is a pure function of its seed. It never holds what breaks a real server for good: a
``check`` outside of a multi, or a createTTL with flags that are none of a TTL's.
"""

from random import Random
from typing import Any, NamedTuple

from rumpus.conformance import operations as op
from rumpus.conformance.operations import ALL, OPEN, READ, Acl

SESSIONS = 3

ACLS: dict[str, tuple[Acl, ...] | None] = {
    "open": OPEN,
    "read": (Acl(READ, "world", "anyone"),),
    "alice": (Acl(ALL, "digest", "alice:Zm9v"), Acl(READ, "world", "anyone")),
    "mine": (Acl(ALL, "auth", ""),),
    "mine, others read": (Acl(ALL, "auth", ""), Acl(READ, "world", "anyone")),
    "others create": (Acl(ALL, "auth", ""), Acl(op.CREATE | READ, "world", "anyone")),
    "twice": OPEN * 2,
    "net": (Acl(ALL, "ip", "10.250.0.0/16"), Acl(READ | op.WRITE, "world", "anyone")),
    "nothing": (Acl(0, "world", "anyone"),),
    "null": None,
    "empty": (),
    "bad scheme": (Acl(ALL, "nope", "x"),),
    "bad world": (Acl(ALL, "world", "bob"),),
    "bad digest": (Acl(ALL, "digest", "abc"),),
    "bad ip": (Acl(ALL, "ip", "1.2.3"),),
}
_USUAL_ACLS = ("open",) * 12
_UNUSUAL_ACLS = tuple(ACLS)

_PATHS = ("/a", "/b", "/c", "/a/x", "/a/y", "/b/z", "/a/x/p", "/a/x/q", "/b/z/r")
_PARENTS = ("/", "/a", "/b", "/c", "/a/x", "/b/z")
_BAD_PATHS = (
    "", "x", "/a/", "/a//x", "/a/.", "/a/..", "//", "/a/x\x01", "/a/\ud7ff", "/a/\ufff1", "/...",
    "/a\0", "/zookeeper", "/zookeeper/quota", "/zookeeper/config", "/zookeeper/q", "/",
)  # fmt: skip


class Step(NamedTuple):
    """What one session does: the name of an action and its arguments."""

    session: int
    action: str
    arguments: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return f"{self.session}: {self.action}({', '.join(map(repr, self.arguments))})"


def operation(action: str, arguments: tuple[Any, ...], last_zxid: int) -> op.Operation:
    """The request of a step that is a request.

    Args:
        action: the name of a function of `rumpus.conformance.operations`, or "truncated".
        arguments: its arguments; ACLs by their names, zxids as distances from ``last_zxid``.
        last_zxid: the newest zxid that the session has seen.
    """
    if action in ("create", "create2"):
        path, data, flags, acl = arguments
        return getattr(op, action)(path, data, flags=flags, acl=ACLS[acl])
    if action == "create_container":
        return op.create_container(arguments[0], arguments[1])
    if action == "create_ttl":
        return op.create_ttl(arguments[0], arguments[1], flags=arguments[2])
    if action == "set_acl":
        return op.set_acl(arguments[0], ACLS[arguments[1]], arguments[2])
    if action in ("exists", "get_data", "get_children", "get_children2"):
        return getattr(op, action)(arguments[0], watch=arguments[1])
    if action in ("multi", "multi_read", "odd_multi"):
        parts = [operation(name, details, last_zxid) for name, details in arguments[0]]
        return op.multi(parts, code=22 if action == "multi_read" else 14)
    if action == "set_watches":
        back, *lists = arguments
        more = (lists[3], lists[4]) if len(lists) > 3 else None
        return op.set_watches(max(0, last_zxid - back), lists[0], lists[1], lists[2], more)
    if action == "truncated":
        name, details, length = arguments
        request = operation(name, details, last_zxid)
        return request._replace(body=request.body[:length])
    return getattr(op, action)(*arguments)


class Generator:
    """Draws steps.

    Args:
        seed: of everything drawn.
        restarts: share of steps at which the server is killed and started again.
    """

    def __init__(self, seed: int, *, restarts: float = 0.0) -> None:
        self._random = Random(seed)
        self._restarts = restarts

    def steps(self, count: int) -> list[Step]:
        """So many requests and other doings; a batch counts once."""
        return [self._step() for _ in range(count)]

    def _step(self) -> Step:
        random = self._random
        session = random.randrange(SESSIONS)
        if random.random() < self._restarts:
            return Step(0, "restart")
        draw = random.random()
        if draw < 0.012:
            return Step(session, "reconnect")
        if draw < 0.018:
            return Step(session, "move")
        if draw < 0.030:
            return Step(session, "close")
        if draw < 0.034:
            return Step(session, "unknown_operation", (random.choice([0, 10, 99, 108, -1, 200]),))
        if draw < 0.037:
            return Step(session, "refused_auth", (random.choice(["nope", "world"]),))
        if draw < 0.040:
            return Step(session, "wrong_password")
        if draw < 0.10:
            drawn = [self._request() for _ in range(random.randrange(2, 7))]
            # The reply to auth may overtake others.
            return Step(session, "batch", tuple(each for each in drawn if each[0] != "auth"))
        return Step(session, *self._request())

    def _request(self) -> tuple[str, tuple[Any, ...]]:
        random = self._random
        kinds = (
            (20, self._create),
            (8, self._delete),
            (10, self._set_data),
            (4, self._set_acl),
            (20, self._read),
            (2, self._get_acl),
            (10, self._multi),
            (4, self._multi_read),
            (1, self._odd_multi),
            (9, self._watch_request),
            (4, self._other),
            (2, self._truncated),
        )
        (kind,) = random.choices([each for _, each in kinds], [weight for weight, _ in kinds])
        return kind()

    def _path(self) -> str:
        random = self._random
        draw = random.random()
        if draw < 0.80:
            return random.choice(_PATHS)
        if draw < 0.94:
            number = random.choice([0, 0, 1, 1, 2, 3, 4, 5, 7, 9])
            return f"{random.choice(_PARENTS).rstrip('/')}/s-{number:010}"
        return random.choice(_BAD_PATHS)

    def _existing_kind_of_path(self) -> str:
        return self._path() if self._random.random() < 0.85 else self._random.choice(_PARENTS)

    def _version(self) -> int:
        return self._random.choice([-1, -1, -1, -1, 0, 0, 1, 1, 2, 3, -2])

    def _data(self) -> bytes | None:
        random = self._random
        return None if random.random() < 0.05 else bytes(random.randbytes(random.randrange(6)))

    def _acl(self) -> str:
        unusual = self._random.random() < 0.15
        return self._random.choice(_UNUSUAL_ACLS if unusual else _USUAL_ACLS)

    def _create(self) -> tuple[str, tuple[Any, ...]]:
        random = self._random
        draw = random.random()
        if draw < 0.06:
            return "create_container", (self._path(), self._data())
        if draw < 0.08:
            return "create_ttl", (
                self._path(), random.choice([1000, 0, -1, 1 << 41]), random.choice([5, 6])
            )  # fmt: skip
        name = random.choice(["create", "create2"])
        flags = random.choices([0, 1, 2, 3, 4, 5, 9, -1], [40, 22, 12, 12, 3, 1, 1, 1])[0]
        if flags in (2, 3):
            path = f"{random.choice(_PARENTS).rstrip('/')}/{random.choice(['s-', 's-', 's-', ''])}"
        else:
            path = self._path()
        return name, (path, self._data(), flags, self._acl())

    def _delete(self) -> tuple[str, tuple[Any, ...]]:
        return "delete", (self._path(), self._version())

    def _set_data(self) -> tuple[str, tuple[Any, ...]]:
        return "set_data", (self._existing_kind_of_path(), self._data(), self._version())

    def _set_acl(self) -> tuple[str, tuple[Any, ...]]:
        return "set_acl", (self._path(), self._acl(), self._version())

    def _get_acl(self) -> tuple[str, tuple[Any, ...]]:
        return "get_acl", (self._existing_kind_of_path(),)

    def _read(self) -> tuple[str, tuple[Any, ...]]:
        random = self._random
        name = random.choice(["exists", "get_data", "get_children", "get_children2"])
        return name, (self._existing_kind_of_path(), random.random() < 0.5)

    def _multi(self) -> tuple[str, tuple[Any, ...]]:
        random = self._random
        parts = []
        for _ in range(random.choice([0, 1, 2, 2, 3, 3, 4, 5])):
            draw = random.random()
            if draw < 0.25:
                parts.append(("check", (self._existing_kind_of_path(), self._version())))
            elif draw < 0.60:
                parts.append(self._create())
            elif draw < 0.80:
                parts.append(self._delete())
            else:
                parts.append(self._set_data())
        return "multi", (tuple(parts),)

    def _multi_read(self) -> tuple[str, tuple[Any, ...]]:
        random = self._random
        parts = tuple(
            (random.choice(["get_data", "get_children"]), (self._existing_kind_of_path(), False))
            for _ in range(random.randrange(4))
        )
        return "multi_read", (parts,)

    def _odd_multi(self) -> tuple[str, tuple[Any, ...]]:
        random = self._random
        parts = [self._create(), self._random.choice([self._read, self._set_acl, self._get_acl])()]
        random.shuffle(parts)
        return "odd_multi", (tuple(parts),)

    def _watch_request(self) -> tuple[str, tuple[Any, ...]]:
        random = self._random
        path = self._existing_kind_of_path()
        draw = random.random()
        if draw < 0.40:
            return "add_watch", (path, random.choice([0, 0, 1, 1, 7]))
        if draw < 0.60:
            return "remove_watches", (path, random.choice([1, 2, 3, 3, 3, 9]))
        if draw < 0.70:
            return "check_watches", (path, random.choice([1, 2, 3]))
        lists = tuple(
            tuple(random.choice(_PATHS) for _ in range(random.randrange(3)))
            for _ in range(random.choice([3, 5]))
        )
        return "set_watches", (random.choice([0, 1, 2, 5, 20]), *lists)

    def _other(self) -> tuple[str, tuple[Any, ...]]:
        random = self._random
        draw = random.randrange(7)
        if draw == 0:
            return "sync", (random.choice(["/", "/a", "nowhere"]),)
        if draw == 1:
            return "get_ephemerals", (random.choice(["/", "/a", "/a/s", "", "/b"]),)
        if draw == 2:
            return "get_all_children_number", (self._existing_kind_of_path(),)
        if draw == 3:
            return "who_am_i", ()
        if draw == 4:
            return "auth", ("digest", random.choice([b"alice:secret", b"bob:pw", b"nocolon"]))
        if draw == 5:
            return "reconfig", ("server.9=localhost:1:2:participant;3",)
        return "ping", ()

    def _truncated(self) -> tuple[str, tuple[Any, ...]]:
        kind = self._random.choice([self._create, self._delete, self._set_data, self._read])
        return "truncated", (*kind(), self._random.randrange(4))
