"""How far explorations of a recipe have got with a fault at every frame: the next goes on there.

A corner that was performed shows nothing new as long as recipe, settings and rumpus are the same,
so explorations of a minute, night after night, should not begin with the same ones. But one that
has found a failure is not remembered: whoever looks again must see it again.
"""

import hashlib
import sys
from collections.abc import Callable
from dataclasses import fields
from importlib.metadata import version
from typing import Final

from rumpus.campaigns.source_digest import source_digest
from rumpus.nights.sources import digest
from rumpus.nights.subjects import files_of
from rumpus.project_names import Names
from rumpus.results.store_error import StoreError
from rumpus.runs.run_settings import RunSettings
from rumpus.user_state import keep_state, read_state, state_file

_FILE: Final = "corners.json"
_MOST: Final = 1_000
"""Of how many recipes and settings it is remembered: the last ones."""

_OTHER: Final = frozenset({"argv", "seed", "runs"})
"""Settings that do not change what is at a corner."""


class CornerMemory:
    """What is remembered of some settings.

    Args:
        settings: of the exploration.
        names: the project's.

    Raises:
        UsageError: the file that keeps it is malformed.
    """

    def __init__(self, settings: RunSettings, names: Names) -> None:
        told = {
            each.name: getattr(settings, each.name)
            for each in fields(settings)
            if each.name not in _OTHER
        }
        used = {
            "kazoo": settings.kazoo or version("kazoo"),
            "python": sys.version.split()[0],
            "rumpus": source_digest(),
            "settings": repr(sorted(told.items())),
        }
        recipe = digest(files_of(settings, names), used)
        self._key = hashlib.sha256(recipe.encode()).hexdigest()[:16]
        self.first = self._read().get(self._key, 0)
        """The piece of corners that comes next."""

    def _read(self) -> dict[str, int]:
        return read_state(state_file(_FILE), dict[str, int], "record of corners")

    def went_on(self, pieces: int, say: Callable[[str], None]) -> None:
        """Remember that so many pieces more were performed.

        Args:
            pieces: how many.
            say: told if that cannot be kept, which does not hinder this command.
        """
        if not pieces:
            return
        kept = self._read()
        kept.pop(self._key, None)
        kept[self._key] = self.first + pieces
        try:
            keep_state(state_file(_FILE), dict(list(kept.items())[-_MOST:]))
        except StoreError as error:
            say(f"note: the next exploration will not go on from here: {error}")
