"""Converting histories of znodes for the models of ZooKeeper's guarantees."""

from collections.abc import Collection, Iterator
from typing import NotRequired, TypedDict

import msgspec

from rumpus.checker.history import History, Op


class Seen(TypedDict):
    """The result of an operation on a znode: its content, and the session that saw it.

    ``zxid`` is that of the last write; None if there was none.
    """

    key: str
    value: NotRequired[str | None]
    version: int
    zxid: NotRequired[int | None]
    session: str


class Version(TypedDict):
    """The result of a transaction that writes: the version that it gave to the last node."""

    version: int


class Held(Version):
    """The result of a read of all nodes at one moment: node -> value."""

    values: dict[str, str | None]


_change = msgspec.structs.replace

_EVENTS = 1_000_000
"""Processes that stand for events are numbered from this number times the number of clients."""


def writes_by_comparison(history: History) -> History:
    """Convert each ``cas`` [expected version, value] into a ``write`` of its value.

    The version -1, which stands for an absent node, is removed from results.
    """
    ops = (_as_write(op) for op in history)
    return History(ops, clients=history.clients, truncated=history.truncated)


def watches_by_connection(history: History, keys: Collection[str]) -> History:
    """Writes and reads of some znodes, and the events that the links recorded of them.

    A watch is lost with its connection, because kazoo does not set it anew. So every connection
    counts as a session of its own. It is not known to which connection an operation belongs that
    was open when the connection changed.
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
        elif isinstance(op.process, int):
            client = history.client_of(op.process)
            now = connection.get(client, 0)
            value = op.value or {}
            if op.type == "invoke":
                if value.get("key") in keys:
                    began[op.process] = now
                    ops.append(op)
                continue
            called = began.pop(op.process, None)
            if called is None:  # of another znode
                continue
            if op.type != "ok":  # it may name no znode
                ops.append(op)
            elif called == now:
                ops.append(_change(op, value={**value, "session": f"c{client}/{now}"}))
            elif op.f == "write":
                ops.append(_change(op, value={**value, "session": f"write {op.index}"}))
            else:
                ops.append(_change(op, type="info", value={"key": value.get("key")}))
    return History(ops, clients=history.clients, truncated=history.truncated)


def transactions_as_register(history: History) -> History:
    """Treat the nodes that a transaction writes together as one versioned register.

    A ``read`` -> {values: {node: value}, version} whose values differ is torn. It becomes
    ``info``, because another check reports it. A ``write_if`` {value, version} becomes a ``cas``.
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
