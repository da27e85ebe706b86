"""``signal``: handlers can be registered; no signal but the fatal ones is ever delivered."""

import signal
from types import ModuleType
from typing import Any

from rumpus.simulation.loader.modules.refused_modules import refusing
from rumpus.simulation.loader.modules.simulated_module import simulated
from rumpus.simulation.loader.runtime import Runtime


def build(runtime: Runtime) -> ModuleType:
    """The ``signal`` of a process."""
    handlers: dict[int, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGPIPE: signal.SIG_IGN,
    }

    def register(signalnum: int, handler: Any) -> Any:
        before = handlers.get(signalnum, signal.SIG_DFL)
        handlers[signalnum] = handler
        return before

    def getsignal(signalnum: int) -> Any:
        return handlers.get(signalnum, signal.SIG_DFL)

    wakeup = -1

    def set_wakeup_fd(fd: int, /, *, warn_on_full_buffer: bool = True) -> int:
        nonlocal wakeup
        del warn_on_full_buffer  # nothing is ever written to it
        before, wakeup = wakeup, fd
        return before

    refused = {
        name: refusing(runtime, f"signal.{name}")
        for name in (
            "alarm",
            "pause",
            "pthread_kill",
            "raise_signal",
            "setitimer",
            "sigpending",
            "sigtimedwait",
            "sigwait",
            "sigwaitinfo",
        )
        if hasattr(signal, name)
    }
    return simulated(
        signal,
        getsignal=getsignal,
        set_wakeup_fd=set_wakeup_fd,
        pthread_sigmask=lambda _how, _mask: set(),
        siginterrupt=lambda _signalnum, _flag: None,
        signal=register,
        **refused,
    )
