"""The line of a recipe at which a client stands, for stories: ``my_lock.py:41 in acquire``."""

import os
from pathlib import Path
from types import FrameType
from typing import Final

_STANDARD_LIBRARY: Final = str(Path(os.__file__).parent) + os.sep
_RUMPUS: Final = str(Path(__file__).parents[2]) + os.sep
_RECIPES: Final = f"{_RUMPUS}recipes{os.sep}"
_REQUESTS: Final = f"{_RECIPES}requests{os.sep}"
_INSTALLED: Final = ("site-packages", "dist-packages")
_KAZOO: Final = f"{os.sep}kazoo{os.sep}"


def standing(frame: FrameType | None) -> str | None:
    """The innermost line of a recipe on a stack; None if the stack has none.

    A recipe's code is what is neither Python's own, nor kazoo's without its recipes, nor rumpus's
    without its recipes. How these send their requests does not count either.

    Args:
        frame: the innermost frame of the thread that performs the client's operations.
    """
    while frame is not None:
        code = frame.f_code
        if _is_of_a_recipe(code.co_filename):
            return f"{Path(code.co_filename).name}:{frame.f_lineno} in {code.co_name}"
        frame = frame.f_back
    return None


def _is_of_a_recipe(file: str) -> bool:
    if file.startswith("<"):
        return False
    if file.startswith(_RUMPUS):
        return file.startswith(_RECIPES) and not file.startswith(_REQUESTS)
    if any(place in file for place in _INSTALLED):
        return _KAZOO not in file or f"{_KAZOO}recipe{os.sep}" in file
    return not file.startswith(_STANDARD_LIBRARY)
