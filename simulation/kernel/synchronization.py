"""Locks of a simulated process, with the interface of the locks in ``_thread``.

Which waiter a release wakes is drawn from the seed. A woken waiter takes the lock only when it
runs, so another task may take it first, as with real threads.
"""

from typing import TYPE_CHECKING, Any

from rumpus.simulation.kernel.errors import ProcessKilled, SimulationError

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Process, Task, World

TIMEOUT_MAX = 9_000_000_000.0
"""Longest timeout in seconds, as ``threading.TIMEOUT_MAX``."""


class _Mutex:
    """Base class of ``Lock`` and ``RLock``."""

    __slots__ = ("__weakref__", "_draw", "_locked", "_simulator", "_waiting")

    def __init__(self, simulator: "World", draw: Any) -> None:
        self._simulator = simulator
        self._draw = draw
        self._locked = False
        self._waiting: list[Task] = []

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """As ``threading.Lock.acquire``."""
        simulator = self._simulator
        if simulator.interrupts is not None:
            simulator.interrupts.at_primitive(simulator)
        if not self._locked:
            self._locked = True
            return True
        if not blocking:
            if timeout != -1:
                raise ValueError("can't specify a timeout for a non-blocking call")
            return False
        if timeout < 0 and timeout != -1:
            raise ValueError("timeout value must be a non-negative number")
        if timeout > TIMEOUT_MAX:
            raise OverflowError("timeout value is too large")
        return self._wait(timeout)

    def _wait(self, timeout: float) -> bool:
        task = self._simulator.current
        if task is None:
            raise SimulationError("a callback of the main loop would block on a lock")
        clock = task.process.clock
        deadline = None if timeout < 0 else clock.monotonic() + int(timeout * 1e9)
        left: int | None = None
        while self._locked:
            if deadline is not None:
                left = deadline - clock.monotonic()
                if left <= 0:
                    return False
            self._waiting.append(task)
            try:
                woken = task.park(left, "a lock")
            except ProcessKilled:
                if task in self._waiting:
                    self._waiting.remove(task)
                raise
            if not woken and task in self._waiting:
                self._waiting.remove(task)
        self._locked = True
        return True

    def release(self) -> None:
        """As ``threading.Lock.release``."""
        if not self._locked:
            task = self._simulator.current
            if task is not None and task.process.dead:
                raise ProcessKilled  # it was killed where it would have taken the lock again
            raise RuntimeError("release unlocked lock")
        self._locked = False
        waiting = self._waiting
        if waiting:
            task = waiting.pop(int(self._draw() * len(waiting)) if len(waiting) > 1 else 0)
            task.wake()

    def _at_fork_reinit(self) -> None:
        self._locked = False
        self._waiting = []


class Lock(_Mutex):
    """A mutual exclusion lock for tasks; ``_thread.allocate_lock`` of a simulated process."""

    __slots__ = ()
    __module__ = "_thread"  # by which programs know the real one

    def locked(self) -> bool:
        """Whether the lock is held."""
        return self._locked

    # Fast paths for an uncontended lock, without further calls: these two are called very often.

    def __enter__(self) -> bool:
        if self._locked or self._simulator.interrupts is not None:
            return self.acquire()
        self._locked = True
        return True

    def __exit__(self, *_: object) -> None:
        if self._waiting or not self._locked:
            self.release()
        else:
            self._locked = False


class RLock(_Mutex):
    """A re-entrant lock; ``_thread.RLock`` of a simulated process."""

    __slots__ = ("_count", "_owner")
    __module__ = "_thread"  # as above

    def __init__(self, simulator: "World", draw: Any) -> None:
        super().__init__(simulator, draw)
        self._owner: Task | None = None
        self._count = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """As ``threading.RLock.acquire``."""
        simulator = self._simulator
        me = simulator.current
        if self._count and self._owner is me:
            self._count += 1
            return True
        if self._locked or simulator.interrupts is not None:
            if not _Mutex.acquire(self, blocking, timeout):
                return False
        else:
            self._locked = True
        self._owner = me
        self._count = 1
        return True

    def release(self) -> None:
        """As ``threading.RLock.release``."""
        if not self._count or self._owner is not self._simulator.current:
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1
        if not self._count:
            self._owner = None
            if self._waiting:
                _Mutex.release(self)
            else:
                self._locked = False

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    # What threading.Condition needs of its lock.

    def _is_owned(self) -> bool:
        return self._count > 0 and self._owner is self._simulator.current

    def _release_save(self) -> "tuple[int, Task | None]":
        if not self._count:
            raise RuntimeError("cannot release un-acquired lock")
        state = self._count, self._owner
        self._count, self._owner = 0, None
        _Mutex.release(self)
        return state

    def _acquire_restore(self, state: "tuple[int, Task | None]") -> None:
        _Mutex.acquire(self)
        self._count, self._owner = state

    def _recursion_count(self) -> int:
        return self._count if self._owner is self._simulator.current else 0

    def _at_fork_reinit(self) -> None:
        super()._at_fork_reinit()
        self._owner, self._count = None, 0


class Locks:
    """Makes the locks of one process."""

    def __init__(self, process: "Process") -> None:
        self._simulator = process.simulator
        self._draw = process.simulator.random(f"locks of {process.name} {process.pid}").random

    def lock(self) -> Lock:
        """A new lock."""
        return Lock(self._simulator, self._draw)

    def rlock(self) -> RLock:
        """A new re-entrant lock."""
        return RLock(self._simulator, self._draw)
