"""Which modules are simulated, and which private copies are modified after they are executed."""

from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from rumpus.simulation.loader.modules import (
    atexit_module,
    collections_module,
    condition,
    datetime_module,
    fcntl_module,
    kazoo_select,
    os_module,
    random_module,
    select_module,
    signal_module,
    socket_module,
    sys_module,
    thread_module,
    time_module,
    uuid_module,
)
from rumpus.simulation.loader.runtime import Runtime

SIMULATED: Final[dict[str, Callable[[Runtime], ModuleType]]] = {
    "_thread": thread_module.build,
    "atexit": atexit_module.build,
    "collections": collections_module.build,
    "datetime": datetime_module.build,
    "fcntl": fcntl_module.build,
    "os": os_module.build,
    "random": random_module.build,
    "select": select_module.build_select,
    "selectors": select_module.build_selectors,
    "signal": signal_module.build,
    "socket": socket_module.build,
    "sys": sys_module.build,
    "time": time_module.build,
    "uuid": uuid_module.build,
}
"""Module name to the function that builds that module for a process."""


def _in_plain_python(_: Runtime, queue: Any) -> None:
    """Use the pure Python queue: the one in C waits on a real lock, and would block the world."""
    queue.SimpleQueue = queue._PySimpleQueue  # noqa: SLF001 - it has no public name


FINISHING: Final[dict[str, Callable[[Runtime, Any], None]]] = {
    "kazoo.handlers.utils": kazoo_select.install,
    "queue": _in_plain_python,
    "threading": condition.install,
}
"""Module name to the function that replaces parts of its private copy by simulated ones."""
