"""The operations of each workload, and the values that its judge reads in them.

A judge passes over a record that it does not know. So a history is held to these shapes before it
is judged: an operation that its workload has not, a key that does not exist, or an answer of
another type is refused, and does not turn a violation into a green.

A shape is any type that `msgspec.convert` knows. Fields that it does not name may be there.
"""

from collections.abc import Iterable, Mapping
from itertools import islice, starmap
from typing import Annotated, Any, Final, Literal, NamedTuple, cast

import msgspec

from rumpus.checker.history import History, Op
from rumpus.checker.value_shapes import MANY, all_are
from rumpus.workloads.partitioner import PARTS
from rumpus.workloads.znodes.ephemeral import NAMES
from rumpus.workloads.znodes.register import KEYS
from rumpus.workloads.znodes.watch import AWAITED, CHILD, GROWN, WATCHED


class Shape(NamedTuple):
    """What an operation carries: the value of its call, and that of its ``ok``."""

    call: Any = Any
    answer: Any = Any


Shapes = Mapping[str, Shape]


class _Given(NamedTuple):
    """The type of a field that may be missing, and is not null if it is there."""

    kind: Any


def _fields(optional: Mapping[str, Any] | None = None, /, **needed: Any) -> Any:
    """An object with these fields; an optional one may be null, unless its type is `_Given`."""
    more = [
        (name, kind.kind | msgspec.UnsetType, msgspec.UNSET)
        if isinstance(kind, _Given)
        else (name, None if kind is None else kind | None, None)
        for name, kind in (optional or {}).items()
    ]
    return msgspec.defstruct("Value", [*needed.items(), *more], kw_only=True)


_LIST: Any = list
_DICT: Any = dict
"""So that types made from data can stand in brackets."""

_Object = dict[str, Any]
_Session = str | None
_Token = int | None
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
_TIMEOUT = {"timeout": _Seconds}
_GRANT = _fields({"session": str, "token": int, "node": str, "until": int, "sequencer": str}) | None
_NODE = _fields(path=str, owner=str | None)
_LEFT = _fields(nodes=_LIST[_NODE])
_WORK = Shape(
    _Object | None,
    _fields({"acts": int, "asked": bool, "writes": list[tuple[int, int]], "refused": int}) | None,
)
_VALUE_OF_KEY = {"value": Any, "version": int, "zxid": int}


def _of_contest(
    acquire: str = "acquire", work: str = "work", release: str = "release", call: Any = None
) -> dict[str, Shape]:
    return {
        acquire: Shape(call or _fields({**_TIMEOUT, "mode": None}) | None, _GRANT),
        work: _WORK,
        release: Shape(),
        "inspect": Shape(answer=_LEFT),
    }


def _of_queue(element: Any) -> dict[str, Shape]:
    removed = _fields(value=str | int)
    return {
        "enqueue": Shape(element),
        "dequeue": Shape(answer=_fields({"value": str | int}) | None),
        "work": Shape(),
        "acknowledge": Shape(removed),
        "release": Shape(removed),
        "leave": Shape(),
        "inspect": Shape(answer=_fields(elements=list[Any], nodes=_LIST[_NODE])),
    }


def _one_of(names: Iterable[str]) -> Any:
    return cast("Any", Literal)[tuple(names)]


def _of_znodes(key: Any) -> Shape:
    return Shape(_fields({"value": Any}, key=key), _fields(_VALUE_OF_KEY, key=key, session=str))


_Log = Annotated[str, msgspec.Meta(pattern="^l[0-9]+$")]
_Part = _one_of(PARTS)
_Name = _one_of(NAMES)
_Register = _one_of(KEYS)
_Grown = _one_of((*GROWN, *(f"{name}/{CHILD}" for name in GROWN)))
_Watched = _one_of((*AWAITED, *WATCHED))
_Znode = Annotated[str, msgspec.Meta(pattern="^(z[0-9]+|none)$")]
_Acl = list[tuple[int, str, str]]
_STAT = _fields(
    **dict.fromkeys(
        (
            "czxid",
            "mzxid",
            "pzxid",
            "ctime",
            "mtime",
            "version",
            "cversion",
            "aversion",
            "ephemeralOwner",
            "dataLength",
            "numChildren",
        ),
        int,
    )
)
_SIGHT = _fields(
    {"stat": _Given(_STAT), "data": _Given(str), "children": _Given(list[str])}, name=_Znode
)
_OF_CHILD = Shape(_fields({"child": _Given(str)}, name=_Znode), _SIGHT)
_JOB = _fields(key=str)

OPERATIONS: Final[Mapping[str, Shapes]] = {
    "queue": _of_queue(_fields({"priority": None}, value=str | int)),
    "priority-queue": _of_queue(_fields(value=str | int, priority=int)),
    "view": {
        "follow": Shape(),
        "unfollow": Shape(),
        "look": Shape(answer=_fields(view=int, nodes=dict[str, int | None] | None)),
        "write": Shape(_fields(name=str)),
        "remove": Shape(_fields(name=str)),
        "converge": Shape(answer=_fields(seen=Any, there=Any)),
    },
    "registry": {
        "register": Shape(_fields(address=str), _fields(address=str, session=_Session)),
        "deregister": Shape(),
        "discover": Shape(answer=_fields({"settled": bool}, addresses=list[str])),
        "look": Shape(answer=_fields(addresses=list[str])),
        "gather": Shape(answer=_fields(discovered=list[str], seen=list[str])),
    },
    "partitioner": {
        "acquire": Shape(
            answer=_fields(
                {"session": str},
                parts=_DICT[_Part, _fields(node=str | None, token=_Token, session=_Session)],
            )
        ),
        "work": Shape(),
        "release": Shape(),
        "leave": Shape(),
        "own": Shape(answer=_fields(parts=_LIST[_Part])),
        "inspect": Shape(answer=_LEFT),
    },
    "jobs": {
        "submit": Shape(_JOB),
        "claim": Shape(answer=_fields(key=str, token=int)),
        "work": Shape(),
        "complete": Shape(answer=_fields(key=str, token=int, undone=bool)),
        "await": Shape(_JOB, _fields({"result": str}, key=str)),
        "ask": Shape(_JOB, _fields(key=str, known=bool)),
        "drain": Shape(),
        "collect": Shape(answer=_fields(told=list[str], untold=list[str])),
        "audit": Shape(answer=_fields(effects=dict[str, int], left=list[str])),
    },
    "register": {
        **dict.fromkeys(("read", "write", "cas"), _of_znodes(_Register)),
        "reconnect": Shape(_Object | None, _Object),
    },
    "append": {
        "append": Shape(_fields(key=_Log, value=Any)),
        "read": Shape(_fields(key=_Log), _fields(key=_Log, value=list[Any] | None)),
    },
    "watch": {
        **dict.fromkeys(("read", "watch"), _of_znodes(_Watched)),
        "write": Shape(
            _fields(key=_Watched, value=Any),
            _fields(_VALUE_OF_KEY, key=_Watched, version=int, session=str),
        ),
        "await": Shape(_fields(_TIMEOUT, key=_one_of(AWAITED), version=int)),
        "make": Shape(_fields({"ephemeral": bool}, key=_Grown)),
        "unmake": Shape(_fields(key=_Grown)),
        "survey": Shape(_fields(key=_Grown)),
        "reconnect": Shape(_Object | None, _Object),
    },
    "ephemeral": {
        "create": Shape(_fields(name=_Name), _fields(name=_Name, session=str)),
        "remove": Shape(_fields(name=_Name)),
        "look": Shape(answer=_fields(owners=_DICT[_Name, str | None], session=str)),
    },
    "sequence": {"generate": Shape(answer=int)},
    "multi": {
        "write": Shape(_fields(value=Any), _fields(version=int)),
        "write_if": Shape(_fields(value=Any, version=int), _fields(version=int)),
        "read": Shape(answer=_fields(values=dict[str, Any], version=int)),
    },
    "znode": {
        "make": Shape(_fields(name=_Znode, value=str, acl=_Acl), _SIGHT),
        "allow": Shape(_fields(name=_Znode, acl=_Acl), _SIGHT),
        "set": Shape(_fields(name=_Znode, value=str), _SIGHT),
        "read": _OF_CHILD,
        "list": _OF_CHILD,
        "grow": Shape(_fields(name=_Znode, child=str)),
        "prune": Shape(_fields(name=_Znode, child=str)),
    },
    "failover": {
        "append": Shape(int, _fields(epoch=int, at=int)),
        "read": Shape(answer=list[int]),
        "step-down": Shape(),
        "hand-back": Shape(),
        "isolate": Shape(),
        "leave": Shape(),
        "converge": Shape(answer=_fields(values=list[int])),
    },
}
"""Workload -> its clients' operations."""


def check_operations(history: History, workload: str, shapes: Shapes) -> None:
    """Hold the clients' operations to those of a workload.

    Args:
        history: the operations.
        workload: its name.
        shapes: its operations, and what they carry.

    Raises:
        ValueError: one does not fit; the message names the record, and the field or the
            operations that there are.
    """
    if _all_fit(history, shapes):
        return
    for operation in history.operations():
        call, done = operation
        shape = shapes.get(call.f)
        if shape is None:
            raise ValueError(
                f"record {call.index}: {workload} has no operation {call.f!r}; it has "
                f"{', '.join(shapes)}"
            )
        _hold(call, shape.call)
        if done is not None and done.type == "ok":
            _hold(done, shape.answer)
            asked, told = (_key(op.value) for op in operation if op is not None)
            if asked is not None and told is not None and asked != told:
                raise ValueError(
                    f"record {done.index}: {done.f} of key {told!r}, called with key {asked!r}"
                )


def _all_fit(history: History, shapes: Shapes) -> bool:
    """Whether all operations do, looked at many at a time; which one does not is not told."""
    operations = iter(history.operations())
    while many := list(islice(operations, MANY)):
        columns: dict[Any, list[Any]] = {}
        for call, done in many:
            shape = shapes.get(call.f)
            if shape is None:
                return False
            asked = call.value
            if shape.call is not Any:
                columns.setdefault(shape.call, []).append(asked)
            if done is not None and done.type == "ok":
                told = done.value
                if shape.answer is not Any:
                    columns.setdefault(shape.answer, []).append(told)
                if None not in (_key(asked), _key(told)) and _key(asked) != _key(told):
                    return False
        if not all(starmap(all_are, columns.items())):
            return False
    return True


def _hold(op: Op, shape: Any) -> None:
    if shape is Any:
        return
    try:
        msgspec.convert(op.value, shape)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        where = f"value{path.rstrip('`')}"
        raise ValueError(f"record {op.index} ({op.process} {op.f}): {where}: {what}") from error


def _key(value: Any) -> Any:
    return value.get("key") if isinstance(value, dict) else None
