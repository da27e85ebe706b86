"""Keeps shared modules from using real clocks, sockets, threads or randomness in a running world.

Private modules (a simulated process has its own copies) get simulated ones; shared modules would
use the real ones. While a world runs, the real functions are replaced by guards that end the world
and name the caller (``refusals.refuse``). These calls are let through:

- by modules that are being imported: they may read their files, and the constants that they
  compute might as well have been computed before the world began;
- from other real threads, such as that of a display;
- for the time stamps of the real program's log records;
- by functions that were explicitly lent (``Guards.lend``).
"""

import _thread
import builtins
import io
import logging
import os
import random
import secrets
import select
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, Final, ParamSpec, TypeVar

from rumpus.simulation.kernel.simulator import Simulator
from rumpus.simulation.loader.async_generators import hooks_of_tasks
from rumpus.simulation.loader.refusals import refuse

_P = ParamSpec("_P")
_T = TypeVar("_T")

ENTROPY_FILES: Final = ("/dev/random", "/dev/urandom", "/dev/hwrng")

_GUARDED: Final[tuple[tuple[Any, tuple[str, ...]], ...]] = (
    (threading.Thread, ("start",)),
    (_thread, ("start_new_thread", "start_new")),
    (threading, ("_start_new_thread",)),
    (
        time,
        (
            "sleep", "time", "time_ns", "monotonic", "monotonic_ns", "perf_counter",
            "perf_counter_ns",
        ),
    ),
    (socket.socket, ("__init__",)),
    (socket, ("create_connection", "create_server", "getaddrinfo", "gethostbyname", "socketpair")),
    (select, ("select", "poll", "epoll")),
    (os, ("urandom", "getrandom", "fork", "forkpty", "system", "popen", "pipe", "posix_spawn")),
    (subprocess.Popen, ("__init__",)),
    (uuid, ("uuid1", "uuid4")),
    (secrets, ("token_bytes", "token_hex", "token_urlsafe", "randbelow", "randbits", "choice")),
    (
        random,
        tuple(name for name in random.__all__ if name not in ("Random", "SystemRandom")),
    ),
)  # fmt: skip
"""Modules and classes, and which of their attributes are replaced."""


def _imports_something(simulator_code: CodeType) -> bool:
    """Whether the call comes from a real ``import`` inside of the world."""
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - there is no other way
    while frame is not None and frame.f_code is not simulator_code:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def _stamps_a_log_record() -> bool:
    """Whether the call comes from the real ``logging``, for a record of a shared module."""
    caller = sys._getframe(3)  # noqa: SLF001 - there is no other way
    return caller.f_globals is vars(logging)


class Guards:
    """The guards of a running world; what ``guarded`` yields."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.lent = False
        """Whether a lent function of the real program is running."""
        self.over = False
        """Whether the world has ended."""

    def lend(self, function: Callable[_P, _T]) -> Callable[_P, _T]:
        """Wrap a function of the real program so that it may be called in the world, unguarded.

        It may report to a display, say. It must not switch tasks, nor return anything that
        depends on real time, randomness or the like.
        """

        def call(*arguments: _P.args, **keywords: _P.kwargs) -> _T:
            before, self.lent = self.lent, True
            try:
                return function(*arguments, **keywords)
            finally:
                self.lent = before

        return call


class _Guard:
    """Stands in for one real function, and calls it for permitted callers."""

    def __init__(self, guards: Guards, place: Any, real: Any, name: str) -> None:
        self.guards = guards
        self._place = place
        self._real = real
        self._name = name
        self._thread = threading.get_ident()

    @property
    def in_force(self) -> bool:
        """Whether the world that it guards still runs."""
        return not self.guards.over

    def behind(self) -> Any:
        """What it stands in for: the real function, or the guard of another running world."""
        real = self._real
        while isinstance(real, _Guard) and not real.in_force:
            real = real._real  # noqa: SLF001 - of the same class
        return real

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Bind to an instance, where the guard stands in for a method."""
        if instance is None:
            return self
        return lambda *arguments, **keywords: self(instance, *arguments, **keywords)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if self.guards.over:  # a module that was imported in the world has kept the guard
            now = getattr(self._place, self._name.rpartition(".")[2])
            if isinstance(now, _Guard) and not now.in_force:  # worlds overlapped, in threads
                now = self._real
            return now(*arguments, **keywords)
        if not self._lets_through(arguments):
            refuse(
                self.guards.simulator,
                f"the real {self._name} ",
                "inside a simulated world, in a module that simulated processes share (one of "
                "Python's library, or of a package with compiled extensions)",
                "the module must be private to its process (Space's argument `private`), or must "
                "not do that",
            )
        return self._real(*arguments, **keywords)

    def _lets_through(self, _: tuple[Any, ...]) -> bool:
        return (
            self.guards.lent
            or threading.get_ident() != self._thread
            or _stamps_a_log_record()
            or _imports_something(Simulator.run.__code__)
        )


class _EntropyGuard(_Guard):
    """Stands in for ``open``, and refuses files of random numbers such as ``/dev/urandom``."""

    def _lets_through(self, arguments: tuple[Any, ...]) -> bool:
        return not arguments or arguments[0] not in ENTROPY_FILES or super()._lets_through(())


@contextmanager
def guarded(simulator: Simulator) -> Iterator[Guards]:
    """Guard the real functions while the ``with`` block runs the world.

    Raises:
        Forbidden: in the world, at the forbidden call (``refusals.refuse``). It is also put among
            the simulator's failures, and the world is stopped.
    """
    guards = Guards(simulator)
    replaced: list[tuple[Any, str]] = []
    place: Any
    for place, names in _GUARDED:
        for name in names:
            real = vars(place).get(name)
            if real is not None:
                replaced.append((place, name))
                of = getattr(place, "__qualname__", "")
                module = getattr(place, "__module__", place.__name__)
                full_name = ".".join(part for part in (module, of, name) if part)
                setattr(place, name, _Guard(guards, place, real, full_name))
    for place, name in ((builtins, "open"), (io, "open"), (os, "open")):
        real = getattr(place, name)
        replaced.append((place, name))
        setattr(place, name, _EntropyGuard(guards, place, real, f"{place.__name__}.{name}"))
    try:
        with hooks_of_tasks(simulator):
            yield guards
    finally:
        guards.over = True
        for place, name in replaced:
            guard = vars(place)[name]
            # Else a world that began later still runs: it puts back what is behind ours.
            if isinstance(guard, _Guard) and guard.guards is guards:
                setattr(place, name, guard.behind())
