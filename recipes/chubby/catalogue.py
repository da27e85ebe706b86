"""Chubby's interface."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
# from rumpus.recipes.chubby import faulty_chubby
from rumpus.recipes.chubby.file_lock import (
    ExclusiveContest,
    ExclusiveSide,
    FileLock,
    SharedContest,
    SharedSide,
)
from rumpus.recipes.chubby.library import Chubby
from rumpus.recipes.contests.common_mutants import contest_mutants, wrong_timeouts
from rumpus.recipes.contests.faulty_contenders import HalvesTimeout, IgnoresTimeout


def with_parts(**parts: type[Any]) -> type[Chubby]:
    """A library whose handles have other parts."""

    class Changed(Chubby):
        pass

    Changed.parts = replace(Chubby.parts, **parts)
    return Changed


CHUBBY: Final[Mapping[str, CatalogueEntry[Chubby]]] = {"library": sound(Chubby)}
