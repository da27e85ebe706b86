"""Calls that may never return, so that a client can give up waiting for them and go on."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class StillRunning(Exception):  # noqa: N818 - a state, not a fault of the program
    """The call has not returned yet."""


class PatientCall(Generic[Result]):
    """A call on a thread of its own, begun at once; it goes on whether anybody waits or not."""

    def __init__(self, function: Callable[[], Result]) -> None:
        self._function = function
        self._results: list[Result] = []
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="patient call", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._results.append(self._function())
        except Exception as error:  # raised where the result is asked for
            self._error = error

    @property
    def running(self) -> bool:
        """Whether it has not returned yet."""
        return self._thread.is_alive()

    def result(self, patience: float) -> Result:
        """What it returned, waiting up to so many seconds for it.

        Raises:
            StillRunning: it has not returned.
            Exception: what it raised.
        """
        self._thread.join(patience)
        if self._thread.is_alive():
            raise StillRunning
        if self._error is not None:
            raise self._error
        return self._results[0]
