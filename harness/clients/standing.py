"""The line of a recipe at which a client stands, for stories: ``my_lock.py:41 in acquire``."""

import linecache
import os
import re
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
    while frame is not None:
        code = frame.f_code
        if _is_of_a_recipe(str(frame.f_globals.get("__name__", "")), code.co_filename):
            text = linecache.getline(code.co_filename, frame.f_lineno).strip()
            text = "" if _CREDENTIALS.search(text) else text[:_LONGEST]
            name = Path(code.co_filename).name
            return Place(f"{name}:{frame.f_lineno} in {code.co_name}", text)
        frame = frame.f_back
    return None


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
