"""How long one simulated run may take, in real time: a small file may ask for a very long one."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

RUN_S: Final = 120.0
"""Seconds that a simulated run may take by default where a file says what to run. One of 15 virtual
seconds takes 1 to 3."""

BUDGET: Final = "--budget"
"""The option of commands that gives a run more time."""

_LONGEST: Final[ContextVar[tuple[float, str]]] = ContextVar("longest", default=(math.inf, BUDGET))


class RunTooLong(Exception):  # noqa: N818 - says what the run is
    """A run was ended, as nobody waits for it any longer; the message is `too_long`."""


def too_long(seconds: float, option: str = BUDGET) -> str:
    """That a run was ended, in words, with the remedy: the option that gives more time."""
    return f"ended after {seconds:.3g} s: there was no more time for it ({option} gives more)"


@contextmanager
def for_seconds(seconds: float, option: str = BUDGET) -> Iterator[None]:
    """Let each simulated run that the block performs in this process take so long.

    Args:
        seconds: of processor time; a run that takes longer raises `RunTooLong`.
        option: what gives more, for its message.
    """
    token = _LONGEST.set((seconds, option))
    try:
        yield
    finally:
        _LONGEST.reset(token)


def longest() -> float:
    """How many seconds of processor time a simulated run may take here."""
    return _LONGEST.get()[0]


def ended() -> RunTooLong:
    """The error of a run that has taken as long as it may here."""
    return RunTooLong(too_long(*_LONGEST.get()))
