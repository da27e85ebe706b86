"""The files of the cell that the workload uses, what is told of them, and how long calls wait."""

from typing import Final

from rumpus.recipes.chubby.cell import Stat
from rumpus.recipes.chubby.handle_events import EventKind
from rumpus.recipes.chubby.library import PRIMARY

KEYS: Final = (PRIMARY, "config")
"""The files that are read and written."""

TEMPORARY: Final = "temporary"
"""The file that is deleted and created again."""

LOCK: Final = f"{PRIMARY} lock"
CHILDREN: Final = "config children"

TOPICS: Final[dict[str, tuple[str, EventKind]]] = {
    **{key: (key, EventKind.CONTENTS_CHANGED) for key in KEYS},
    LOCK: (PRIMARY, EventKind.LOCK_ACQUIRED),
    CHILDREN: ("config", EventKind.CHILD_CHANGED),
}
"""What clients wait for: a file, and the events that tell of it. Their numbers only grow."""

MORE: Final = {
    PRIMARY: frozenset({EventKind.MASTER_FAILED_OVER, EventKind.CONFLICTING_REQUEST}),
    TEMPORARY: frozenset({EventKind.HANDLE_INVALID}),
}
"""File -> the other events that its handle asks for."""

SERVERS: Final = 2
"""How many clients run a storage server."""

OPEN_S: Final = 1.0
READ_S: Final = 1.0
STORE_S: Final = 2.5
"""Longer than a storage server waits for the cell's answer about a sequencer."""

CHANGE_S: Final = 3.5
"""How long most changes wait: until the session of a client that does not answer has ended."""


def number_of(opened: Stat, kind: EventKind, children: int) -> int:
    """What an event of that kind would have told when the file was opened."""
    if kind is EventKind.CHILD_CHANGED:
        return children
    of_lock = kind is EventKind.LOCK_ACQUIRED
    return opened.lock_generation if of_lock else opened.content_generation
