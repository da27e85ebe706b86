"""Which steps two versions of ZooKeeper answer alike: all but those that are known to differ.

What differs is written down in `rumpus.conformance.version_differences`.
"""

from collections.abc import Iterable
from typing import Any

from tests.simulation.differential.steps import Step

Request = tuple[str, tuple[Any, ...]]

NEWER_THAN_3_4 = frozenset(
    {
        "create2",
        "create_container",
        "create_ttl",
        "multi_read",
        "add_watch",
        "remove_watches",
        "check_watches",
        "get_ephemerals",
        "get_all_children_number",
        "who_am_i",
        "reconfig",
    }
)

FREE_OR_REFUSED = ("open", "twice", "empty", "bad scheme", "bad world", "bad digest", "bad ip")
"""ACLs by which all may delete: others are told in 3.4 whether the znode is there."""


def alike(steps: Iterable[Step], version: str) -> list[Step]:
    """The steps without the requests that a version answers otherwise than 3.8.0."""
    kept = []
    for step in steps:
        if step.action == "batch":
            parts = tuple(part for part in step.arguments if _is_alike(part, version))
            if parts:
                kept.append(step._replace(arguments=parts))
        elif _is_alike((step.action, step.arguments), version):
            kept.append(step)
    return kept


def _is_alike(request: Request, version: str) -> bool:
    name, arguments = request
    if name in ("multi", "odd_multi"):
        parts = arguments[0]
        if version.startswith("3.4."):
            return name == "multi" and all(_is_alike(part, version) for part in parts)
        return not any(part[0] == "create2" or _acl(part) == "null" for part in parts)
    if version.startswith("3.4."):
        return not (
            name in NEWER_THAN_3_4
            or name in ("truncated", "refused_auth", "unknown_operation")
            or not {"/zookeeper", "/zookeeper/config"}.isdisjoint(arguments)
            or (name == "create" and arguments[2] not in (0, 1, 2, 3))
            or _acl(request) not in (None, *FREE_OR_REFUSED)
            or (name == "set_watches" and len(arguments) > 4)
        )
    # exists asks for READ, and watches of several modes live side by side. A watch that is set
    # again tells of a znode only sessions that may read it.
    return name not in ("truncated", "exists", "add_watch", "set_watches")


def _acl(request: Request) -> str | None:
    """The name of the ACL that a request gives a znode; None if it gives none."""
    name, arguments = request
    if name in ("create", "create2"):
        return str(arguments[3])
    return str(arguments[1]) if name == "set_acl" else None
