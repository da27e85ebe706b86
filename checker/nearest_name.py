"""What somebody may have meant who wrote a name that is not known."""

from collections.abc import Iterable
from typing import Final

_ALIKE: Final = 0.7
"""How alike two names must be, of 1: two letters of four that have changed places are."""
_SHORT_ALIKE: Final = 0.6
"""The same for names of three letters."""
_BEGINNING: Final = 3
"""So many letters name what begins with them, if only one name does."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like a name; None if none is. Case, ``_`` and ``-`` are alike."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for those who mistype

    plain = {_plain(each): each for each in reversed([*known])}
    wanted = _plain(name)
    alike = _SHORT_ALIKE if len(wanted) <= _BEGINNING else _ALIKE
    if found := get_close_matches(wanted, plain, n=1, cutoff=alike):
        return plain[found[0]]
    longer = [each for each in plain if each.startswith(wanted)]
    return plain[longer[0]] if len(longer) == 1 and len(wanted) >= _BEGINNING else None


def meant(name: str, known: Iterable[str], *, more: str = "", page: str = "") -> str:
    """How a message about an unknown name goes on: with the one that was meant, or with all.

    Args:
        name: the name.
        known: the names that there are.
        more: what may be given besides them, to be added after all of them.
        page: where they can be read, if they are too many for a message.
    """
    names = [*known]
    near = nearest(name, names)
    if not near and page:
        return f"there are {len(names)}: see {page}"
    return f"did you mean {near}?" if near else f"there are {', '.join(names) or 'none'}{more}"


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").lstrip("-")
