"""Ends a world in which a program did what cannot be simulated, and says who did it.

An exception alone would not do: a program may catch it, or take it for an outcome that nobody
knows, and go on. Nothing that happens afterwards can be trusted.
"""

import os
import sys
from types import FrameType
from typing import Final, NamedTuple, NoReturn

from rumpus.simulation.kernel.errors import SimulationError
from rumpus.simulation.kernel.process import World

REMEDY: Final = "use real servers and processes: --ensemble docker"
"""What a message tells the user of a program that cannot be simulated."""


class Forbidden(SimulationError):  # noqa: N818 - says what it is
    """A real clock, socket, thread or the like was about to be used inside a simulated world."""


class CannotSimulate(Forbidden):
    """A program of the world does what only a real process can; the message has line and remedy."""


class Culprit(NamedTuple):
    """Who called a function that is not simulated."""

    who: str
    """The innermost function outside of standard library and loader: module, file and line."""
    by: str
    """The innermost function of the user's own code, if that is another one; else ""."""
    is_rumpus: bool
    """Whether nobody but rumpus itself is to blame."""


_STANDARD_LIBRARY: Final = os.path.dirname(os.__file__) + os.sep  # noqa: PTH120 - as in co_filename
_LOADER: Final = os.path.dirname(__file__) + os.sep  # noqa: PTH120 - as above
_RUMPUS: Final = os.path.dirname(os.path.dirname(_LOADER[:-1])) + os.sep  # noqa: PTH120 - as above
_INSTALLED: Final = ("site-packages", "dist-packages")


def is_of_rumpus(filename: str) -> bool:
    """Whether a file (``co_filename``) is one of rumpus."""
    return filename.startswith(_RUMPUS)


def culprit() -> Culprit:
    """The caller of a function of the loader's that refuses something."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - there is no other way
    last = who = own = frame
    found = False
    while frame is not None:
        last = frame
        filename = frame.f_code.co_filename
        if not _is_passed_over(filename):
            if not found:
                who, found = frame, True
            if not _is_of_others(filename):
                own = frame
                break
        frame = frame.f_back
    else:
        own = None
    if not found:
        who = last
    assert who is not None, "there is a caller"
    is_rumpus = own is None and who.f_code.co_filename.startswith(_RUMPUS)
    return Culprit(_words(who), "" if own in (None, who) else _words(own), is_rumpus)


def _words(frame: FrameType | None) -> str:
    if frame is None:
        return ""
    code = frame.f_code
    module = frame.f_globals.get("__name__", "?")
    return f"{module}.{code.co_qualname} ({code.co_filename}:{frame.f_lineno})"


def _is_passed_over(filename: str) -> bool:
    return filename.startswith(("<frozen", _LOADER)) or (
        filename.startswith(_STANDARD_LIBRARY) and not _is_installed(filename)
    )


def _is_of_others(filename: str) -> bool:
    return _is_installed(filename) or filename.startswith((_RUMPUS, "<"))


def _is_installed(filename: str) -> bool:
    return any(place in filename for place in _INSTALLED)


def refuse(world: World, what: str, why: str, advice: str = "") -> NoReturn:
    """End the world because of what the current caller does.

    The error is put among the world's failures, so a program that catches it changes nothing.

    Args:
        world: the simulated world.
        what: what is called.
        why: why that cannot be.
        advice: what to do if the caller is rumpus itself, as a defect of it.

    Raises:
        CannotSimulate: a program does it.
        Forbidden: rumpus itself does it.
    """
    who, by, is_rumpus = culprit()
    kind = Forbidden if is_rumpus else CannotSimulate
    remedy = advice if is_rumpus and advice else REMEDY
    called = f", called by {by}," if by else ""
    error = kind(f"{who}{called} calls {what}{why}: {remedy}")
    world.failures.append((world.now, who, error))
    world.stop()
    raise error
