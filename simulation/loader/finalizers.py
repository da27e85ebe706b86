"""Finalizers of programs whose process is dead say nothing.

The objects of a killed process are finalized when the real program collects them, and a ``__del__``
that stops a client or logs what is pending then fails, as its process has no threads and no files
any more. A real process that is killed finalizes nothing, so Python's complaints are about nobody.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final

from rumpus.simulation.kernel.errors import ProcessKilled

PROCESS_NAME: Final = "__simulated_process__"
"""Under this name the builtins of private modules have their process."""


@contextmanager
def silent_finalizers() -> Iterator[None]:
    """Leave out, in the block, what Python says of finalizers that failed in dead processes."""
    usual = sys.unraisablehook

    def tell(unraisable: Any) -> None:
        if not _is_of_dead_process(unraisable.exc_type, unraisable.exc_traceback):
            usual(unraisable)

    sys.unraisablehook = tell
    try:
        yield
    finally:
        sys.unraisablehook = usual


def _is_of_dead_process(kind: type[BaseException], place: TracebackType | None) -> bool:
    if issubclass(kind, ProcessKilled):
        return True
    while place is not None:
        known = place.tb_frame.f_globals.get("__builtins__")
        process = known.get(PROCESS_NAME) if isinstance(known, dict) else None
        if process is not None:
            return bool(process.dead)
        place = place.tb_next
    return False
