"""Simulated file descriptors: open files that tasks wait for until they are ready."""

import errno
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rumpus.simulation.kernel.errors import ProcessKilled, SimulationError

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Process, Task

FIRST_NUMBER: Final = 1 << 20
"""Descriptors are numbered from here on: no real one, which other modules may hold, is so large."""

READ: Final = 1
WRITE: Final = 2


class OpenFiles:
    """The open files of one process, as far as they are simulated: sockets and pipes.

    Args:
        process: whose files these are.
    """

    def __init__(self, process: "Process") -> None:
        self.process = process
        self.by_number: dict[int, Descriptor] = {}
        self._next_number = FIRST_NUMBER

    def add(self, descriptor: "Descriptor") -> int:
        """Give an open file its number; numbers are never used again."""
        number = self._next_number
        self._next_number += 1
        self.by_number[number] = descriptor
        return number

    def find(self, number: int) -> "Descriptor":
        """The open file of a number.

        Raises:
            OSError: EBADF, if there is none.
        """
        found = self.by_number.get(number)
        if found is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return found


class Descriptor:
    """One open file of a process, with the flags that ``select`` looks at."""

    def __init__(self, files: OpenFiles) -> None:
        self._open_files = files
        self._simulator = files.process.simulator
        self.number = files.add(self)
        self.ready_to_read = False
        self.ready_to_write = False
        self.waiting: list[Task] = []
        """Tasks to wake when one of the flags becomes true."""

    def wake(self) -> None:
        """Have the waiting tasks look at the flags."""
        for task in self.waiting:
            task.wake()

    def primitive(self) -> None:
        """What every operation of a program begins with."""
        simulator = self._simulator
        if simulator.interrupts is not None:
            simulator.interrupts.at_primitive(simulator)
        if self._open_files.process.dead:
            raise ProcessKilled

    def wait(self, events: int, timeout: float | None, waits_for: str) -> bool:
        """Block the current task until it is ready to be read or written.

        Args:
            events: ``READ`` or ``WRITE``.
            timeout: seconds on the process's clock; None: for ever.
            waits_for: in words, for dumps.

        Returns:
            False if the time is over.

        Raises:
            OSError: EBADF, if another task closes it meanwhile.
        """
        return wait_for_any(self._open_files, [(self, events)], timeout, waits_for, self)

    @property
    def closed(self) -> bool:
        """Whether its number is free again."""
        return self.number < 0

    def close(self) -> None:
        """Close it, as ``os.close`` does."""
        self.release()

    def release(self) -> None:
        """Give its number back, and let those who wait for it notice."""
        self._open_files.by_number.pop(self.number, None)
        self.number = -1
        self.wake()


def wait_for_any(
    files: OpenFiles,
    wanted: Sequence[tuple[Descriptor, int]],
    timeout: float | None,
    waits_for: str,
    needed: Descriptor | None = None,
) -> bool:
    """Block the current task until one of the descriptors is ready for the events wanted of it.

    Args:
        files: those of the process whose task it is.
        wanted: descriptors and their events.
        timeout: seconds on the process's clock; None: for ever.
        waits_for: in words, for dumps.
        needed: a descriptor without which there is nothing to wait for.

    Returns:
        False if the time is over.

    Raises:
        OSError: EBADF, if ``needed`` is closed.
    """
    task = files.process.simulator.current
    if task is None:
        raise SimulationError(f"a callback of the main loop would block on {waits_for}")
    clock = files.process.clock
    left = None if timeout is None else int(timeout * 1e9)
    deadline = 0 if left is None else clock.monotonic() + left
    while True:
        for descriptor, _ in wanted:
            descriptor.waiting.append(task)
        try:
            in_time = task.park(left, waits_for)
        finally:
            for descriptor, _ in wanted:
                descriptor.waiting.remove(task)
        if needed is not None and needed.number < 0:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        for descriptor, events in wanted:
            if (events & READ and descriptor.ready_to_read) or (
                events & WRITE and descriptor.ready_to_write
            ):
                return True
        if not in_time:
            return False
        if left is not None:
            left = deadline - clock.monotonic()
            if left <= 0:
                return False
