"""Locks that end the process in which they are used."""

import ctypes
import os
from pathlib import Path

from kazoo.recipe.lock import Lock


class Deadly(Lock):
    """Each acquire ends the process, by a fault of a C library as it were."""

    def acquire(self, *_, **__):
        return ctypes.string_at(0)


class DeadlyOnce(Lock):
    """The first acquire of all ends the process."""

    def acquire(self, *arguments, **named):
        mark = Path(os.environ["DEADLY_ONCE"])
        if not mark.exists():
            mark.touch()
            ctypes.string_at(0)
        return super().acquire(*arguments, **named)
