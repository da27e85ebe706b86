"""Semaphores."""

from collections.abc import Mapping
from typing import Final

from recipes.semaphore import Semaphore

SEMAPHORES: Final[Mapping[str, type[Semaphore]]] = {
    "fair": Semaphore,
}
