"""The line of a recipe at which a client stands, for stories: ``my_lock.py:41 in acquire``."""

import linecache
import os
import re
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

_STANDARD_LIBRARY: Final = str(Path(os.__file__).parent) + os.sep
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})


_HARNESS: Final = Path(__file__).resolve().parents[1]
_LONGEST: Final = 200
"""Letters of a line's code."""

_CREDENTIALS: Final = re.compile("auth|credential|digest|passw|secret", re.IGNORECASE)
"""What a line has that may hold a password: its code is not told, as a run may be shown."""


class Place(NamedTuple):
    """A line of a recipe: ``my_lock.py:41 in acquire``, and its code.

    The code is empty if it is unknown, or may hold a password.
    """

    line: str
    code: str


def standing(frame: FrameType | None) -> Place | None:
    """The innermost line of a recipe on a stack; None if the stack has none.

    A recipe's code is that of a project, of kazoo's recipes, or of rumpus's without how these send
    their requests. Other installed packages are libraries: those of a client's servers, gevent's
    hub. So a recipe that is itself installed is not told.

    Args:
        frame: the innermost frame of the thread that performs the client's operations.
    """
    frame = _of_a_recipe(frame)
    if frame is None:
        return None
    text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    return Place(_line(frame), "" if _CREDENTIALS.search(text) else text[:_LONGEST])


def standing_line(frame: FrameType | None) -> str:
    """The line of ``standing`` without its code, for every request; empty if there is none."""
    frame = _of_a_recipe(frame)
    return "" if frame is None else _line(frame)


def _line(frame: FrameType) -> str:
    code = frame.f_code
    return f"{Path(code.co_filename).name}:{frame.f_lineno} in {code.co_name}"


def _of_a_recipe(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of a recipe; None if there is none."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if _is_of_a_recipe(module, frame.f_code.co_filename):
            return frame
        frame = frame.f_back
    return None


@cache
def _is_of_a_recipe(module: str, file: str) -> bool:
    package, _, rest = module.partition(".")
    if package == "kazoo":
        return rest.startswith("recipe.")
    if package == "rumpus":
        return rest.startswith("recipes.") and not rest.startswith("recipes.requests.")
    if module == "__main__" and Path(file).resolve().is_relative_to(_HARNESS):
        return False  # the program of a client's process
    is_project = not file.startswith(("<", _STANDARD_LIBRARY))
    return is_project and _INSTALLED.isdisjoint(Path(file).parts)
