"""Keeps shared modules from using real clocks, sockets, threads or randomness in a running world.

Private modules (a simulated process has its own copies) get simulated ones; shared modules would
use the real ones. While a world runs, the real functions are replaced by guards that raise
``Forbidden`` and name the caller. These calls are let through:

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
from typing import Any, Final, NoReturn, ParamSpec, TypeVar

from rumpus.simulation.kernel.errors import SimulationError
from rumpus.simulation.kernel.simulator import Simulator

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


class Forbidden(SimulationError):  # noqa: N818 - says what it is
    """A real clock, socket, thread or the like was about to be used inside a simulated world."""


def culprit() -> str:
    """The caller of a guarded function: the innermost outside of standard library and loader.

    Returns:
        The function with its module, file and line.
    """
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - there is no other way
    last = frame
    while frame is not None and _is_passed_over(frame.f_code.co_filename):
        last = frame
        frame = frame.f_back
    frame = frame or last
    if frame is None:
        return "somebody"
    code = frame.f_code
    module = frame.f_globals.get("__name__", "?")
    return f"{module}.{code.co_qualname} ({code.co_filename}:{frame.f_lineno})"


_STANDARD_LIBRARY: Final = os.path.dirname(os.__file__) + os.sep  # noqa: PTH120 - as in co_filename


_LOADER: Final = os.path.dirname(__file__) + os.sep  # noqa: PTH120 - as above


def _is_passed_over(filename: str) -> bool:
    return filename.startswith(("<frozen", _LOADER)) or (
        filename.startswith(_STANDARD_LIBRARY) and "site-packages" not in filename
    )


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

    def __init__(self, guards: Guards, real: Any, name: str) -> None:
        self._guards = guards
        self._real = real
        self._name = name
        self._thread = threading.get_ident()

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Bind to an instance, where the guard stands in for a method."""
        if instance is None:
            return self
        return lambda *arguments, **keywords: self(instance, *arguments, **keywords)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if not self._lets_through(arguments):
            self._refuse()
        return self._real(*arguments, **keywords)

    def _lets_through(self, _: tuple[Any, ...]) -> bool:
        return (
            self._guards.lent
            or threading.get_ident() != self._thread
            or _stamps_a_log_record()
            or _imports_something(Simulator.run.__code__)
        )

    def _refuse(self) -> NoReturn:
        who = culprit()
        error = Forbidden(
            f"{who} calls the real {self._name} inside a simulated world: the module must be "
            "private to its process (Space's argument `private`), or must not do that"
        )
        simulator = self._guards.simulator
        # Even if the program catches the error, nothing after this can be trusted.
        simulator.failures.append((simulator.now, who, error))
        simulator.stop()
        raise error


class _EntropyGuard(_Guard):
    """Stands in for ``open``, and refuses files of random numbers such as ``/dev/urandom``."""

    def _lets_through(self, arguments: tuple[Any, ...]) -> bool:
        return not arguments or arguments[0] not in ENTROPY_FILES or super()._lets_through(())


@contextmanager
def guarded(simulator: Simulator) -> Iterator[Guards]:
    """Guard the real functions while the ``with`` block runs the world.

    Raises:
        Forbidden: in the world, at the forbidden call. It is also put among the simulator's
            failures, and the world is stopped.
    """
    guards = Guards(simulator)
    replaced: list[tuple[Any, str, Any]] = []
    place: Any
    for place, names in _GUARDED:
        for name in names:
            real = vars(place).get(name)
            if real is not None:
                replaced.append((place, name, real))
                of = getattr(place, "__qualname__", "")
                module = getattr(place, "__module__", place.__name__)
                full_name = ".".join(part for part in (module, of, name) if part)
                setattr(place, name, _Guard(guards, real, full_name))
    for place, name in ((builtins, "open"), (io, "open"), (os, "open")):
        real = getattr(place, name)
        replaced.append((place, name, real))
        setattr(place, name, _EntropyGuard(guards, real, f"{place.__name__}.{name}"))
    try:
        yield guards
    finally:
        for place, name, real in reversed(replaced):
            setattr(place, name, real)
