"""ZooKeeper's tree and watches in the plainest way, written from their description only.

Nodes are dictionaries by path, children are found by looking at all paths, watches by looking at
all registrations.
"""

from copy import deepcopy
from typing import Any

Operation = tuple[Any, ...]
"""("create", path, data, flags), ("delete", path, version), ("set", path, data, version),
("check", path, version), ("multi", operations), or ("close",)."""

ANY = -1


class Failed(Exception):  # noqa: N818 - what happens to a request
    """Carries the error code."""


def parent_of(path: str) -> str:
    return path.rsplit("/", 1)[0] or "/"


class Model:
    def __init__(self) -> None:
        self.nodes: dict[str, dict[str, Any]] = {"/": self._node(0, b"", 0), "/zookeeper": {}}
        self.nodes["/"]["changes"] = -1
        self.nodes["/"]["made"] = 0
        self.happened: list[tuple[str, str]] = []
        """("created" | "deleted" | "set", path), of the last request."""

    @staticmethod
    def _node(zxid: int, data: bytes | None, owner: int) -> dict[str, Any]:
        return {
            "data": data,
            "version": 0,
            "made": 0,
            "changes": 0,
            "czxid": zxid,
            "mzxid": zxid,
            "pzxid": zxid,
            "owner": owner,
        }

    def children(self, path: str) -> list[str]:
        return [other for other in self.nodes if other != "/" and parent_of(other) == path]

    def stat(self, path: str) -> dict[str, int]:
        node = self.nodes[path]
        return {
            "czxid": node["czxid"],
            "mzxid": node["mzxid"],
            "pzxid": node["pzxid"],
            "version": node["version"],
            "cversion": node["changes"],
            "aversion": 0,
            "owner": node["owner"],
            "length": len(node["data"] or b""),
            "children": len(self.children(path)),
        }

    def perform(self, zxid: int, session: int, operation: Operation) -> Any:
        """An error code; or a path, a stat, 0; of a multi a list of those."""
        self.happened = []
        if operation[0] != "multi":
            try:
                return getattr(self, operation[0])(zxid, session, *operation[1:])
            except Failed as failed:
                return failed.args[0]
        before = deepcopy(self.nodes)
        results: list[Any] = []
        operations = operation[1]
        for part in operations:
            try:
                results.append(getattr(self, part[0])(zxid, session, *part[1:]))
            except Failed as failed:
                self.nodes = before
                self.happened = []
                left = len(operations) - len(results) - 1
                return [0] * len(results) + [failed.args[0]] + [-2] * left
        return results

    def create(self, zxid: int, session: int, path: str, data: bytes | None, flags: int) -> str:
        parent = parent_of(path)
        if parent not in self.nodes:
            raise Failed(-101)
        if flags >= 2:
            path += str(self.nodes[parent]["made"]).rjust(10, "0")
        if path in self.nodes:
            raise Failed(-110)
        if self.nodes[parent]["owner"]:
            raise Failed(-108)
        self.nodes[path] = self._node(zxid, data, session if flags % 2 else 0)
        self.nodes[parent]["made"] += 1
        self.nodes[parent]["changes"] += 1
        self.nodes[parent]["pzxid"] = zxid
        self.happened.append(("created", path))
        return path

    def _at_version(self, path: str, version: int) -> dict[str, Any]:
        if path not in self.nodes:
            raise Failed(-101)
        if version not in (ANY, self.nodes[path]["version"]):
            raise Failed(-103)
        return self.nodes[path]

    def delete(self, zxid: int, _session: int, path: str, version: int) -> int:
        self._at_version(path, version)
        if self.children(path):
            raise Failed(-111)
        self._remove(zxid, path)
        return 0

    def _remove(self, zxid: int, path: str) -> None:
        del self.nodes[path]
        self.nodes[parent_of(path)]["changes"] += 1
        self.nodes[parent_of(path)]["pzxid"] = zxid
        self.happened.append(("deleted", path))

    def set(
        self, zxid: int, _session: int, path: str, data: bytes | None, version: int
    ) -> dict[str, int]:
        node = self._at_version(path, version)
        node["data"] = data
        node["version"] += 1
        node["mzxid"] = zxid
        self.happened.append(("set", path))
        return self.stat(path)

    def check(self, _zxid: int, _session: int, path: str, version: int) -> int:
        self._at_version(path, version)
        return 0

    def close(self, zxid: int, session: int) -> int:
        for path in [path for path, node in self.nodes.items() if node.get("owner") == session]:
            self._remove(zxid, path)
        return 0


class WatchModel:
    """Registrations in a list: (table, connection, path, mode), the first being the oldest."""

    def __init__(self) -> None:
        self.registrations: dict[tuple[str, int, str], str] = {}

    def register(self, table: str, connection: int, path: str, mode: str) -> None:
        self.registrations[table, connection, path] = mode

    def happens(self, what: str, path: str) -> list[tuple[int, int, str]]:
        """(connection, kind, path) of the events, in the order of each connection."""
        if what == "set":
            return self._fire("data", 3, path)
        if what == "created":
            return self._fire("data", 1, path) + self._fire("child", 4, parent_of(path))
        of_data = self._fire("data", 2, path)
        of_children = self._fire("child", 2, path)
        told = {connection for connection, _, _ in of_data}
        return (
            of_data
            + [event for event in of_children if event[0] not in told]
            + self._fire("child", 4, parent_of(path))
        )

    def _fire(self, table: str, kind: int, path: str) -> list[tuple[int, int, str]]:
        told = []
        for key, mode in list(self.registrations.items()):
            where, connection, watched = key
            if where != table:
                continue
            if mode == "recursive":
                below = watched == "/" or path.startswith(watched + "/")
                if kind != 4 and (path == watched or below):
                    told.append(connection)
            elif path == watched:
                told.append(connection)
                if mode == "once":
                    del self.registrations[key]
        return [(connection, kind, path) for connection in dict.fromkeys(told)]
