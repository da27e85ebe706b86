"""References, ``package.module:Name``: how a run names code of another repository.

Modules are imported with the builtin ``__import__``, which finds a simulated process's own copy.
"""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from rumpus.checker.nearest_name import nearest


class NotFound(Exception):  # noqa: N818 - says what it is
    """A reference that names nothing usable; the message says why and what to do."""


def is_reference(name: str) -> bool:
    """Whether a name is ``package.module:Name``, not a name in a catalogue."""
    return ":" in name


def referred(reference: str) -> Any:
    """What ``package.module:Name`` names; ``Name`` may have dots.

    Raises:
        NotFound: the module cannot be imported, or has nothing of that name.
    """
    module_name, _, attributes = reference.partition(":")
    if "/" in module_name or module_name.endswith(".py"):
        path = Path(module_name).with_suffix("")
        module = ".".join(part for part in path.parts if part not in ("/", ".", ".."))
        raise NotFound(f"{module_name!r} is a file; name its module: {module}:{attributes}")
    # Python imports `.this` as well, which is no name: who looks for it first finds nothing there.
    if not all(map(str.isidentifier, module_name.split("."))) or module_name == "__main__":
        raise NotFound(f"{module_name!r} is no module's name: write it like package.module:Name")
    found = _module(module_name)
    for attribute in attributes.split("."):
        try:
            found = getattr(found, attribute)
        except AttributeError:
            near = nearest(attribute, [name for name in dir(found) if not name.startswith("_")])
            hint = f"; did you mean {near}?" if near else ""
            raise NotFound(f"{module_name!r} has no {attributes!r}{hint}") from None
    return found


def unknown_recipe(name: str, workload: str, entries: Mapping[str, Any]) -> str:
    """What to say of a recipe's name that is unknown: which is meant, or which there are.

    Args:
        name: the name.
        workload: the workload's name.
        entries: the workload's recipes; of those with a known mistake only the number is told.
    """
    mutants = [each for each, entry in entries.items() if getattr(entry, "faulty", False)]
    sound = [each for each in entries if each not in mutants]
    if near := nearest(name, sound) or nearest(name, mutants):
        told = f"did you mean {near}?"
    elif "." in name and name.rpartition(".")[2][:1].isupper():
        told = f"did you mean {':'.join(name.rsplit('.', 1))}?"
    elif "." in name:
        told = f"for a module of your own add the class or function: {name}:NAME"
    else:
        few = f"; {len(mutants)} with a known mistake (`rumpus list`)" if mutants else ""
        more = "; or package.module:Name for one of your own"
        told = f"there are {', '.join(sound) or 'none'}{few}{more}"
    return f"unknown recipe {name!r} of workload {workload}; {told}"


def _module(name: str) -> ModuleType:
    try:
        found: ModuleType = __import__(name, fromlist=["__name__"])
    except SyntaxError as error:
        raise NotFound(_of_syntax(error)) from error
    except (Exception, SystemExit) as error:  # whatever a user's module raises
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            raise NotFound(_no_module(error.name or name)) from error
        remedy = "; install it beside rumpus" * isinstance(error, ModuleNotFoundError)
        raise NotFound(
            f"{name!r} cannot be imported: {_place(error)}{type(error).__name__}: {error}{remedy}"
        ) from error
    return found


def _no_module(name: str) -> str:
    """What to say of a module that is not there, with the one that may be meant."""
    import pkgutil  # noqa: PLC0415 - only after a mistake

    parent = name.rpartition(".")[0]
    path = getattr(_module(parent), "__path__", None) if parent else None
    if parent and path is None:
        return (
            f"there is no module {name!r}: {parent!r} is a module, not a package; name what "
            f"is in it as {parent}:NAME"
        )
    near = nearest(name.rpartition(".")[2], (each.name for each in pkgutil.iter_modules(path)))
    if near:
        return f"there is no module {name!r}; did you mean {f'{parent}.{near}'.lstrip('.')}?"
    return (
        f"there is no module {name!r}: modules are looked for beside rumpus, where it is "
        "installed, then in your project (where its pyproject.toml is) and in the working "
        "directory, if that is not a run's"
    )


def _of_syntax(error: SyntaxError) -> str:
    """What is wrong with the source of a module: its file and line, and the line with a caret."""
    what = f"{_shown(error.filename or 'a module')}, line {error.lineno}: {error.msg}"
    if not error.text:
        return what
    line = error.text.rstrip()
    indent = len(line) - len(line.lstrip())
    column = max((error.offset or 1) - 1 - indent, 0)
    return f"{what}\n    {line.lstrip()}\n    {' ' * column}^"


def _place(error: BaseException) -> str:
    """The line that raised an exception while a module was imported; empty if there is none."""
    import traceback  # noqa: PLC0415 - only after a mistake

    frames = traceback.extract_tb(error.__traceback__)
    lines = [f for f in frames if not f.filename.startswith("<") and f.filename != __file__]
    return f"{_shown(lines[-1].filename)}, line {lines[-1].lineno}: " if lines else ""


def _shown(file: str) -> str:
    """A file for people to read: relative to the working directory if it is inside that."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except (OSError, ValueError):
        return file
