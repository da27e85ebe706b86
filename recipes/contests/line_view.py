"""Who is first in a line, for clients that need not contend themselves."""

import re
from dataclasses import dataclass
from typing import Final

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from rumpus.recipes.promises import Line
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session, Unanswered

_NUMBER: Final = re.compile(r"-?\d{10}")


@dataclass(frozen=True)
class Stand:
    """One contender's node, as it was when somebody looked.

    ``session`` owns it (signed 64 bits), ``data`` is what its maker wrote, ``version`` and
    ``czxid`` are its Stat's.
    """

    node: str
    session: int
    data: bytes
    version: int
    czxid: int


def first_in_line(
    client: KazooClient, session: Session, line: Line, deadline: Deadline
) -> Stand | None:
    """Who is first; None if the line is empty.

    The server that answers may lag, so this is who was first a while ago.

    Raises:
        Unanswered: no answer in time, or the line kept moving on.
        SessionExpiredError, ZookeeperError: as ``Session.ask``.
    """
    while True:
        try:
            node = _first(client, session, line, deadline)
            if node is None:
                return None
            data, stat = session.ask(deadline, client.get_async, node)
        except NoNodeError:
            if line.kind == "single":
                return None
            if deadline.passed:
                raise Unanswered(f"{line.path}: the line kept moving on") from None
            continue
        return Stand(node, stat.ephemeralOwner, data, stat.version, stat.czxid)


def _first(client: KazooClient, session: Session, line: Line, deadline: Deadline) -> str | None:
    if line.kind == "single":
        return line.path
    try:
        children = session.ask(deadline, client.get_children_async, line.path)
    except NoNodeError:
        return None
    numbered = [
        (int(number), child)
        for child in children
        if line.mark in child and _NUMBER.fullmatch(number := child.rpartition(line.mark)[2])
    ]
    return f"{line.path}/{min(numbered)[1]}" if numbered else None
