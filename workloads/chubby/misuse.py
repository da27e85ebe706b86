"""Handles that must not be used any more, or not in such a way, and calls of them."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from kazoo.security import OPEN_ACL_UNSAFE, READ_ACL_UNSAFE

from rumpus.recipes.chubby.handle import Handle, Mode, WrongMode
from rumpus.recipes.chubby.lease import HandleInvalid
from rumpus.recipes.contests.interfaces import NotHeld
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown

ALLOWED: Final = [*OPEN_ACL_UNSAFE, *READ_ACL_UNSAFE]
"""An access control list."""

ANY: Final = Mode.READ | Mode.WRITE | Mode.CHANGE_ACL

CALL_S: Final = 1.0

CALLS: Final[Mapping[str, Callable[[Handle], Any]]] = {
    "read": lambda handle: handle.get_contents_and_stat(CALL_S),
    "stat": lambda handle: handle.get_stat(CALL_S),
    "dir": lambda handle: handle.read_dir(CALL_S),
    "write": lambda handle: handle.set_contents(b'""', None, CALL_S),
    "set-acl": lambda handle: handle.set_acl(ALLOWED, CALL_S),
    "delete": lambda handle: handle.delete(CALL_S),
    "lock": lambda handle: handle.try_acquire("shared"),
    "verify": lambda handle: handle.check_sequencer("exclusive:1:/nowhere/1", CALL_S),
    "sequencer": lambda handle: handle.get_sequencer(),
    "release": lambda handle: handle.release(),
}
"""What can be done with a handle."""

READING: Final = ("read", "stat", "dir")
WRITING: Final = ("write", "lock", "delete")
ALL: Final = (*READING, "verify", "set-acl", *WRITING)


class Misuse(NamedTuple):
    """A state in which calls are refused.

    Args:
        refused: the calls.
        by: the error by which they are refused.
        mode: what the handle is opened for.
        begin: brings the handle into the state; raises ``NotDone`` if it cannot now.
    """

    refused: tuple[str, ...]
    by: type[NotDone]
    mode: Mode = ANY
    begin: Callable[[Handle], object] = lambda _handle: None


def _hold(handle: Handle) -> None:
    if not handle.try_acquire("exclusive"):
        raise NotDone("somebody else holds it")


def _hold_poisoned(handle: Handle) -> None:
    _hold(handle)
    handle.poison()


MISUSES: Final[Mapping[str, Misuse]] = {
    "closed": Misuse(ALL, HandleInvalid, begin=lambda handle: handle.close()),
    "poisoned": Misuse(ALL, HandleInvalid, begin=lambda handle: handle.poison()),
    "for reading": Misuse((*WRITING, "set-acl"), WrongMode, Mode.READ),
    "for writing": Misuse((*READING, "set-acl"), WrongMode, Mode.WRITE),
    "for lists": Misuse((*READING, *WRITING), WrongMode, Mode.CHANGE_ACL),
    "holding": Misuse(("lock",), NotDone, begin=_hold),
    "holding, poisoned": Misuse(("sequencer",), NotHeld, begin=_hold_poisoned),
    "not holding": Misuse(("sequencer", "release"), NotHeld),
}
"""A handle's state -> which calls must be refused, and how."""


def answered(handle: Handle, state: str) -> list[str]:
    """The calls that were not refused, although they should have been.

    Raises:
        NotDone, OutcomeUnknown: one was refused for another reason, or the handle could not be
            brought into that state.
    """
    misuse = MISUSES[state]
    misuse.begin(handle)
    found: list[str] = []
    for call in misuse.refused:
        try:
            CALLS[call](handle)
        except misuse.by:
            continue
        except (NotDone, OutcomeUnknown):
            if found:  # what was answered before that is enough
                break
            raise
        found.append(call)
    return found
