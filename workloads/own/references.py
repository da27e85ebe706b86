"""References, ``package.module:Name``: how a run names code of another repository.

Modules are imported with the builtin ``__import__``, which finds a simulated process's own copy.
"""

from typing import Any


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
    try:
        found = __import__(module_name, fromlist=["__name__"])
    except (Exception, SystemExit) as error:  # whatever a user's module raises
        raise NotFound(
            f"{module_name!r} cannot be imported ({type(error).__name__}: {error}): run rumpus "
            "where `python -c 'import ...'` finds it, or install it beside rumpus"
        ) from error
    for attribute in attributes.split("."):
        try:
            found = getattr(found, attribute)
        except AttributeError:
            raise NotFound(f"{module_name!r} has no {attributes!r}") from None
    return found
