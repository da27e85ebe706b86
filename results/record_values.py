"""The types of records' values, by process and function (docs/reference/history-format.md).

Checkers and pictures rely on these types, so a run's history is checked before it is judged.
"""

from collections.abc import Mapping
from itertools import islice, starmap
from typing import Annotated, Any, Final

import msgspec

from rumpus.checker.history import History, Op
from rumpus.checker.value_shapes import MANY, all_are
from rumpus.results.first_record import first_record

_Client = Annotated[int, msgspec.Meta(ge=0, lt=10_000)]
_Process = Annotated[int, msgspec.Meta(ge=0, lt=1 << 53)]
_Share = Annotated[float, msgspec.Meta(ge=0, le=10**9)]
_Time = Annotated[int, msgspec.Meta(ge=-(1 << 62), lt=1 << 62)]


class _OfClient(msgspec.Struct):
    client: _Client


class _SessionEvent(_OfClient):
    process: _Process | None = None
    session: str | None = None
    at: str | None = None
    until: _Time | msgspec.UnsetType = msgspec.UNSET
    since: _Time | msgspec.UnsetType = msgspec.UNSET


class _End(msgspec.Struct):
    ok: list[_Process] | None = None
    fail: list[_Process] | None = None
    info: list[_Process] | None = None


class _Action(_OfClient):
    process: _Process
    accepted: bool
    order: int | None = None
    token: int | None = None


class _WatchEvent(_OfClient):
    event: str
    path: str


class _Requests(_OfClient):
    requests: dict[str, int]
    watch_events: int | None = None
    shown: int | None = None


class _Wire(msgspec.Struct):
    client: Annotated[int, msgspec.Meta(ge=0)]
    recorded: Annotated[int, msgspec.Meta(ge=0)]
    events: Annotated[int, msgspec.Meta(ge=0)] | None = None  # null in runs of old
    until: _Time | None = None


class _Leader(msgspec.Struct):
    leader: str | None


class _Host(msgspec.Struct):
    since: _Time
    late_ms: _Share
    queue: _Share | None = None


class _Outside(msgspec.Struct):
    id: int
    target: str
    since: _Time
    over: bool
    detail: str = ""


class _Walk(msgspec.Struct):
    node: str
    znodes: Annotated[int, msgspec.Meta(ge=0)]
    zxid: int
    seconds: _Share
    session: str | None = None
    error: str | None = None
    probes: list[str] | None = None
    unanswered: int = 0


class _WatchLeft(msgspec.Struct):
    client: int
    connection: int
    path: str
    kind: str
    zxid: int


class _Phase(msgspec.Struct):
    phase: str
    healed: bool = False
    detail: str = ""


class _Fault(msgspec.Struct):
    id: int | str
    kind: str
    targets: list[Any] | dict[str, Any] = msgspec.field(default_factory=list)
    verified: bool = False
    detail: str = ""
    sessions: list[str] = msgspec.field(default_factory=list)


class _Mended(msgspec.Struct):
    id: int | str | None  # null where no fault of the plan was the cause
    verified: bool
    sessions: list[str] = msgspec.field(default_factory=list)


class _Healing(msgspec.Struct):
    healed: list[_Mended] = msgspec.field(default_factory=list)
    verified: bool = False
    detail: str = ""
    sessions: list[str] = msgspec.field(default_factory=list)


class _Grant(msgspec.Struct):
    session: str | None = None
    token: int | None = None
    node: str | None = None


class _Node(msgspec.Struct):
    path: str
    owner: str | None


class _Look(msgspec.Struct):
    nodes: list[_Node]


_OF_EVENTS: Final[Mapping[tuple[str, str | None], Any]] = {
    ("session", None): _SessionEvent,
    ("witness", None): _Action,
    ("link", "requests"): _Requests,
    ("link", "wire"): _Wire,
    ("link", "watch-left"): _WatchLeft,
    ("link", None): _WatchEvent,
    ("nemesis", "start"): _Fault,
    ("nemesis", "stop"): _Healing | None,
    ("nemesis", "heal-all"): _Healing | None,
    ("nemesis", None): dict[str, Any] | None,
    ("control", "leader"): _Leader,
    ("control", "outside"): _Outside,
    ("control", "host"): _Host,
    ("control", "phase"): _Phase | None,
    ("control", "walk"): _Walk,
    ("control", "end"): _End | None,
    ("control", None): dict[str, Any] | None,
}
"""Process and function (None: any other function) -> type of the value."""

_WHEN_OK: Final[Mapping[str, Any]] = {
    "acquire": _Grant | None,
    "campaign": _Grant | None,
    "inspect": _Look,
}
"""A client's operation -> type of the value of its completion of type ``ok``."""


def check_records(history: History) -> None:
    """Check that a history has the format: types of values, one first record, calls paired.

    Raises:
        ValueError: it has not; the message names the record and the field.
    """
    if not _all_fit(history):
        for op in history:
            try:
                _check(op)
            except ValueError as error:
                raise ValueError(f"record {op.index} ({op.process} {op.f}): {error}") from error
    first_record(history)
    history.operations()
    history.operations(nemesis=True)


def _all_fit(history: History) -> bool:
    """Whether all records have the right types: a fast check, many records at a time."""
    ops = iter(history)
    while many := list(islice(ops, MANY)):
        columns: dict[Any, list[Any]] = {
            _Time: [op.time for op in many],
            _Process: [op.process for op in many if isinstance(op.process, int)],
        }
        for op in many:
            shape = _shape(op)
            if shape is not None:
                columns.setdefault(shape, []).append(op.value)
        if not all(starmap(all_are, columns.items())):
            return False
    return True


def _check(op: Op) -> None:
    _hold("time", op.time, _Time)
    if isinstance(op.process, int):
        _hold("process", op.process, _Process)
    shape = _shape(op)
    if shape is not None:
        _hold("value", op.value, shape)


def _shape(op: Op) -> Any:
    if isinstance(op.process, int):
        return _WHEN_OK.get(op.f) if op.type == "ok" else None
    return _OF_EVENTS.get((op.process, op.f), _OF_EVENTS.get((op.process, None)))


def _hold(field: str, value: Any, shape: Any) -> None:
    try:
        msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        raise ValueError(f"{field}{path.rstrip('`')}: {what}") from error
