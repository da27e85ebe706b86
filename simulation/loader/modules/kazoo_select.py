"""kazoo's ``selector_select`` without a selector that is made and thrown away at every call.

kazoo waits with it five times a request, and its own takes a third of what a request costs. This
one does the same where one list of simulated sockets is waited for, which is all that kazoo does
with it; anything else it leaves to kazoo's own.
"""

from collections.abc import Callable, Sequence
from typing import Any

from rumpus.simulation.kernel.errors import ProcessKilled
from rumpus.simulation.loader.modules.descriptor import READ, WRITE, wait_for_any
from rumpus.simulation.loader.modules.simulated_socket import SimulatedSocket
from rumpus.simulation.loader.runtime import Runtime

_Lists = tuple[list[Any], list[Any], list[Any]]


def selector_select(runtime: Runtime, kazoos_own: Callable[..., _Lists]) -> Callable[..., _Lists]:
    """The function for one process.

    Args:
        runtime: of the process.
        kazoos_own: what it stands in for.
    """
    simulator = runtime.simulator
    process = runtime.process

    def select(
        rlist: Sequence[Any],
        wlist: Sequence[Any],
        xlist: Sequence[Any],
        timeout: float | None = None,
        **others: Any,
    ) -> _Lists:
        if simulator.interrupts is not None:
            simulator.interrupts.at_primitive(simulator)
        if process.dead:
            raise ProcessKilled
        if wlist:
            files, events = wlist, WRITE
        else:
            files, events = rlist, READ
        if (
            others
            or (wlist and rlist)
            or len(files) > MOST_FILES
            or type(timeout) not in _TIMEOUTS
            or (timeout is not None and timeout < 0)
        ):
            return kazoos_own(rlist, wlist, xlist, timeout, **others)
        ready = []
        for file in files:
            if not isinstance(file, SimulatedSocket) or file.number < 0:
                return kazoos_own(rlist, wlist, xlist, timeout)
            if file.ready_to_write if wlist else file.ready_to_read:
                ready.append(file)
        if len(files) == MOST_FILES and files[0] is files[1]:
            return kazoos_own(rlist, wlist, xlist, timeout)
        if not ready and (timeout is None or timeout > 0):
            wait_for_any(runtime.files, [(file, events) for file in files], timeout, "select")
            for file in files:
                if (file.ready_to_write if wlist else file.ready_to_read) and file.number >= 0:
                    ready.append(file)  # noqa: PERF401 - a comprehension is a call
        return ([], ready, []) if wlist else (ready, [], [])

    return select


MOST_FILES = 2
"""kazoo waits for its connection alone, or also for what wakes it up."""
_TIMEOUTS = (int, float, type(None))


def install(runtime: Runtime, utils: Any) -> None:
    """Have a private copy of ``kazoo.handlers.utils`` use it, if it is a kazoo that has it."""
    original = getattr(utils, "selector_select", None)
    if original is not None:
        utils.selector_select = selector_select(runtime, original)
