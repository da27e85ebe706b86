"""Which modules are simulated, and which private copies are modified after they are executed."""

from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from rumpus.simulation.loader.modules import (
    annotation_modules,
    atexit_module,
    collections_module,
    condition,
    datetime_module,
    fcntl_module,
    importlib_module,
    kazoo_select,
    os_module,
    random_module,
    select_module,
    signal_module,
    socket_module,
    ssl_module,
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
    "ctypes": importlib_module.build_ctypes,
    "ctypes.util": importlib_module.build_ctypes_util,
    "dataclasses": annotation_modules.build_dataclasses,
    "datetime": datetime_module.build,
    "fcntl": fcntl_module.build,
    "importlib": importlib_module.build,
    "os": os_module.build,
    "random": random_module.build,
    "select": select_module.build_select,
    "selectors": select_module.build_selectors,
    "signal": signal_module.build,
    "socket": socket_module.build,
    "ssl": ssl_module.build,
    "sys": sys_module.build,
    "time": time_module.build,
    "typing": annotation_modules.build_typing,
    "uuid": uuid_module.build,
}
"""Module name to the function that builds that module for a process."""


PRIVATE_SUBMODULES: Final = ("importlib.metadata",)
"""Submodules of simulated modules that a process gets its own copy of."""


def _in_plain_python(_: Runtime, queue: Any) -> None:
    """Use the pure Python queue: the one in C waits on a real lock, and would block the world."""
    queue.SimpleQueue = queue._PySimpleQueue  # noqa: SLF001 - it has no public name


def _without_forks(_: Runtime, logging: Any) -> None:
    """Keep no list of handlers whose locks are made anew in a child of ``os.fork``: none is."""
    logging._register_at_fork_reinit_lock = lambda _: None  # noqa: SLF001 - as above


def _finding_by_itself(_: Runtime, metadata: Any) -> None:
    """Find distributions by its own finder: entry points then load the process's own modules."""
    finder = metadata.MetadataPathFinder
    find = staticmethod(lambda: [finder.find_distributions])
    metadata.Distribution._discover_resolvers = find  # noqa: SLF001 - as above


FINISHING: Final[dict[str, Callable[[Runtime, Any], None]]] = {
    "importlib.metadata": _finding_by_itself,
    "kazoo.handlers.utils": kazoo_select.install,
    "logging": _without_forks,
    "queue": _in_plain_python,
    "threading": condition.install,
}
"""Module name to the function that replaces parts of its private copy by simulated ones."""
