"""What persons have decided of failures: which are one, and which are not.

One file for all commands that tell failures apart::

    [[one]]                                  # these are one failure
    cases = ["lock-a", "stuck-waiter of enter after kill"]
    why = "both come of the same missing check"

    [[apart]]                                # each of these is another one
    cases = ["queue-a", "3f2a90c1d4"]
    why = "they look alike, and are at different lines"

A failure is named by its case, by its fingerprint in words, or by its identifier in the nights'
store.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Final

import msgspec

from rumpus.untrusted_toml import read_toml
from rumpus.usage_error import UsageError


class Ruling(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person has decided of failures: that they are one, or that they are not."""

    cases: tuple[str, ...]
    why: str

    def names(self, names: Collection[str]) -> bool:
        """Whether it is about a failure that has these names."""
        return not set(names).isdisjoint(self.cases)


class Rulings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file in a repository that merges (``one``) and splits (``apart``) failures."""

    one: tuple[Ruling, ...] = ()
    apart: tuple[Ruling, ...] = ()

    def merges(self, names: Collection[str], others: Collection[str]) -> str:
        """Why two failures are one, in a person's words; empty if nobody has said so."""
        return next((e.why for e in self.one if e.names(names) and e.names(others)), "")

    def splits(self, names: Collection[str], others: Collection[str]) -> str:
        """Why two failures are not one, in a person's words; empty if nobody has said so."""
        same = set(names) & set(others)
        return next(
            (
                each.why
                for each in self.apart
                if each.names(names) and each.names(others) and same.isdisjoint(each.cases)
            ),
            "",
        )


NO_RULINGS: Final = Rulings()
"""Nobody has decided anything."""


_TABLES: Final = "it has tables [[one]] and [[apart]] with cases and why"


def load_rulings(path: Path, *, source: str = "--rulings") -> Rulings:
    """Read what persons have decided.

    Args:
        path: the file.
        source: who names it, for errors.

    Raises:
        UsageError: the file is malformed.
        UnreadableRun: it cannot be read.
    """
    try:
        raw = read_toml(path, "read the rulings")
    except UsageError as error:
        raise UsageError(f"{source} {error}; {_TABLES}") from error
    try:
        return msgspec.convert(raw, Rulings)
    except msgspec.ValidationError as error:
        raise UsageError(f"{source} {path}: {error}; {_TABLES}") from error
