"""The most memory that this process and those that it starts may take: the kernel's limit on data.

A small file may ask for a large run, and a reader may have a flaw that nobody knows. Beyond the
limit, an allocation is a ``MemoryError``, wherever it happens. Only Linux counts all private
memory; elsewhere the limit is looser.
"""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_NO_LIMIT: Final = resource.RLIM_INFINITY

_STATUS: Final = Path("/proc/self/statm")
_DATA: Final = 5
"""The place of data and stack in it, in pages."""

_MARGIN: Final = 32 << 20
"""Bytes that what is not Python needs: a greenlet that gets no memory ends the whole process."""


@contextmanager
def at_most(most: int) -> Iterator[None]:
    """Let the process take so many bytes more than it has, while the block runs.

    It never gets more than it may take already. Processes that it starts inherit the limit, each
    for itself.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    bound(most)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def bound(most: int) -> None:
    """Let the process take so many bytes more than it has, from now on; see `at_most`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [most + _taken(), *(bound for bound in (soft, hard) if bound != _NO_LIMIT)]
    # OpenBLAS, which numpy loads, would take 40 MB for each processor of the machine.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))


def allowed() -> int | None:
    """How many bytes the process may take; None if nobody has said it."""
    soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
    return None if soft == _NO_LIMIT else soft


def scarce() -> bool:
    """Whether hardly any is left of what the process may take: an error can still be told."""
    most = allowed()
    return most is not None and _taken() > most - _MARGIN


def _taken() -> int:
    try:
        pages = int(_STATUS.read_bytes().split()[_DATA])
    except FileNotFoundError:  # not Linux
        return 0
    return pages * resource.getpagesize()
