"""The reference, ``package.module:Name``, of a class or function that a caller of the API has."""

import inspect
import sys
from pathlib import Path
from typing import Any

from rumpus.usage_error import UsageError


def reference_of(thing: Any, what: str) -> str:
    """The name by which clients' processes import a class or function.

    Its module's directory is added to ``sys.path`` if the module would not be found otherwise (a
    script that is run, a test module).

    Args:
        thing: the class or function; a string is taken as it is.
        what: what it is, for messages.

    Raises:
        UsageError: it cannot be imported by a name.
    """
    if isinstance(thing, str):
        return thing
    module_name = getattr(thing, "__module__", None)
    name = getattr(thing, "__qualname__", None)
    if module_name is None or name is None:
        raise UsageError(
            f"{what} {thing!r} is no class and no function: clients' processes make their own "
            "objects, so give the class, or a function of (client, path)"
        )
    if "<" in name:
        raise UsageError(
            f"{what} {name} is defined inside a function, so clients' processes cannot import it: "
            "move it to the top of its module"
        )
    if module_name == "__main__":
        file = getattr(sys.modules["__main__"], "__file__", None)
        if file is None:
            raise UsageError(f"{what} {name} was typed in: put it into a file")
        module_name = Path(file).stem
        _findable(module_name, Path(file))
    else:
        file = inspect.getsourcefile(thing)
        if file is not None:
            _findable(module_name, Path(file))
        _refuse_another(thing, what, module_name, name)
    return f"{module_name}:{name}"


def _refuse_another(thing: Any, what: str, module_name: str, name: str) -> None:
    """Refuse an object in whose place clients' processes would import another one.

    Raises:
        UsageError: its module has something else by its name.
    """
    found: Any = sys.modules.get(module_name)
    if found is None:  # it is not there yet, and is what its file says
        return
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not thing:
        raise UsageError(
            f"{what} {module_name}:{name} is another object than the one that was given, and "
            "clients' processes import what its module has by that name: give that one, or give "
            "yours a name of its own"
        )


def _findable(module_name: str, file: Path) -> None:
    """Let a module be found by its name: the directory above its packages is on the path."""
    parts = module_name.split(".")
    file = file.resolve()
    place = file.parent if file.stem != "__init__" else file.parent.parent
    for part in reversed(parts[:-1]):
        if place.name != part:
            return  # not where its name says: only its own loader finds it
        place = place.parent
    if str(place) not in {str(Path(each or ".").resolve()) for each in sys.path}:
        sys.path.append(str(place))
