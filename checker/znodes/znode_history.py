"""Histories of znodes rewritten for the models of ZooKeeper's promises (``guarantee_models``)."""

from collections.abc import Collection, Iterator
from typing import NotRequired, TypedDict

import msgspec

from rumpus.checker.history import History, Op


class Seen(TypedDict):
    """The answer of an operation on a znode: what is there now, and the session whose view it is.

    No zxid: nobody has written it.
    """

    key: str
    value: NotRequired[str | None]
    version: int
    zxid: NotRequired[int | None]
    session: str


class Version(TypedDict):
    """The answer of a transaction that writes: the version that the last node has by it."""

    version: int


class Held(Version):
    """The answer of a read of all nodes: what they held at one moment."""

    values: dict[str, str | None]


_change = msgspec.structs.replace

_EVENTS = 1_000_000
"""Numbers of processes from so many times the number of clients on stand for events."""


def writes_by_comparison(history: History) -> History:
    """Each ``cas`` [expected version, value] becomes the ``write`` of its value that it may be.

    Reads of what was absent, at version -1, say no version.
    """
    ops = (_as_write(op) for op in history)
    return History(ops, clients=history.clients, truncated=history.truncated)


def watches_by_connection(history: History, keys: Collection[str]) -> History:
    """Writes and reads of some znodes, and the events that the links saw of them.

    A watch is gone when its connection was, for kazoo does not leave it anew; so the session of
    every operation becomes one for each connection. Where the connection changed during an
    operation nobody knows to which it belongs.
    """
    connection: dict[int, int] = {}
    began: dict[int, int] = {}
    ops: list[Op] = []
    for op in history:
        if op.process == "session" and op.f in ("connected", "suspended", "lost", "exited"):
            client = op.value["client"]
            connection[client] = connection.get(client, 0) + 1
        elif op.process == "link" and op.f == "watch":
            key = op.value["path"].rpartition("/")[2]
            if key in keys:
                ops += _event(op, key, history.clients, connection.get(op.value["client"], 0))
        elif isinstance(op.process, int) and (op.value or {}).get("key") in keys:
            client = history.client_of(op.process)
            now = connection.get(client, 0)
            if op.type == "invoke":
                began[op.process] = now
            if op.type != "ok":
                ops.append(op)
            elif began[op.process] == now:
                ops.append(_change(op, value={**op.value, "session": f"c{client}/{now}"}))
            elif op.f == "write":
                ops.append(_change(op, value={**op.value, "session": f"write {op.index}"}))
            else:
                ops.append(_change(op, type="info", value={"key": op.value["key"]}))
    return History(ops, clients=history.clients, truncated=history.truncated)


def transactions_as_register(history: History) -> History:
    """What all nodes of a transaction held is the value of one register, with its version.

    A ``read`` -> {values: {node: value}, version} of values that differ says nothing: it is torn,
    which another check tells. A ``write_if`` {value, version} is a ``cas``.
    """
    ops = (_of_register(op) if isinstance(op.process, int) else op for op in history)
    return History(ops, clients=history.clients, truncated=history.truncated)


def _of_register(op: Op) -> Op:
    if op.f == "read" and op.type == "ok":
        values = set(op.value["values"].values())
        if len(values) > 1:
            return _change(op, type="info", value=None)
        return _change(op, value={"value": values.pop(), "version": op.value["version"]})
    if op.f == "write_if" and op.type == "invoke":
        return _change(op, f="cas", value={"value": [op.value["version"], op.value["value"]]})
    return _change(op, f="cas") if op.f == "write_if" else op


def _as_write(op: Op) -> Op:
    if not isinstance(op.process, int):
        return op
    if op.f != "cas":
        if op.type == "ok" and (op.value or {}).get("version") == -1:
            value = {name: each for name, each in op.value.items() if name != "version"}
            return _change(op, value=value)
        return op
    value = op.value
    if isinstance(value, dict) and isinstance(value.get("value"), (list, tuple)):
        value = {**value, "value": value["value"][1]}
    return _change(op, f="write", value=value)


def _event(op: Op, key: str, clients: int, connection: int) -> Iterator[Op]:
    """The arrival of an event as an operation of a process of its own."""
    client = op.value["client"]
    value = {"key": key, "session": f"c{client}/{connection}"}
    process = clients * _EVENTS + client
    yield _change(op, process=process, type="invoke", f="event", value=value)
    yield _change(op, process=process, type="ok", f="event", value=value)
