"""A table of named things whose modules are imported when they are looked up.

So a program that needs one of them does not import all. ``__import__`` and no ``importlib``: in
the simulation it finds a process's own copy of a module.
"""

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

Entry = TypeVar("Entry")


class ImportedWhenUsed(Mapping[str, Entry], Generic[Entry]):
    """Entries by name.

    Args:
        package: the package of all modules.
        places: name -> ``module:constant``, the module below the package.
    """

    def __init__(self, package: str, places: Mapping[str, str]) -> None:
        self._package = package
        self._places = places

    def __getitem__(self, name: str) -> Entry:
        module, _, constant = self._places[name].partition(":")
        found: Entry = getattr(
            __import__(f"{self._package}.{module}", fromlist=[constant]), constant
        )
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
