"""The private modules of one simulated process.

Real threads, sockets and clocks belong to the whole real process; a simulated process must have
its own. So each gets private copies of the modules that use them (kazoo, recipes, pure Python
modules such as ``threading``), executed afresh with ``__builtins__`` whose ``__import__`` hands
out simulated modules in place of ``_thread``, ``time``, ``socket`` and the like. Nothing real is
patched, module globals are not shared between processes, and a restarted process loads afresh.

Everything that is neither private nor simulated is the real module, shared by all.

Not reproducible between runs of a seed: ``id()``, ``hash()`` of strings and of objects without a
hash of their own, and the order of builtin sets that shared modules hand out. Private code has
ordered sets, so a program sees these differences only if it asks for them.
"""

import builtins
import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.util import module_from_spec
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, TextIO

from rumpus.simulation.kernel.process import Process
from rumpus.simulation.loader.finalizers import PROCESS_NAME
from rumpus.simulation.loader.module_code import module_code
from rumpus.simulation.loader.modules.ordered_set import OrderedFrozenSet, OrderedSet
from rumpus.simulation.loader.modules.refused_modules import refused
from rumpus.simulation.loader.privacy import is_private_package
from rumpus.simulation.loader.runtime import Runtime
from rumpus.simulation.loader.set_literals import HIDDEN_NAME
from rumpus.simulation.loader.simulated_modules import FINISHING, PRIVATE_SUBMODULES, SIMULATED

if TYPE_CHECKING:
    from rumpus.simulation.kernel.synchronization import RLock


_privacy: dict[tuple[object, ...], dict[str, bool]] = {}
"""What decides which modules are private -> what was decided: name of a module -> is it private."""


class Space(Runtime):
    """The runtime of one process, with the modules that it imports.

    Args:
        process: the process that the modules belong to.
        network: the network of its sockets (``simulation.network.network.Network``).
        private: names of the modules and packages, submodules included, of which it gets copies
            of its own, besides what ``loader.privacy`` finds.
        shared: exceptions: modules in private packages that are shared nevertheless. They must hold
            no state. Sharing them makes the process start faster.
        alone: modules of which it gets a copy of its own, but not of their submodules.
        shared_packages: top-level packages that are shared whatever ``loader.privacy`` finds.
        path: directories in which private modules are looked for before ``sys.path``.
        patched: private modules whose source is not what their files say: name -> source.
        stdout: the process's standard output; None: the real one.
        stderr: the process's standard error; None: the real one.
        argv: its command line.
    """

    def __init__(
        self,
        process: Process,
        network: Any,
        private: tuple[str, ...] = ("kazoo",),
        *,
        shared: tuple[str, ...] = (),
        alone: tuple[str, ...] = (),
        shared_packages: tuple[str, ...] = (),
        path: Sequence[str] = (),
        patched: Mapping[str, str] = MappingProxyType({}),
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
        argv: Sequence[str] = (),
    ) -> None:
        super().__init__(process, network, stdout=stdout, stderr=stderr, argv=argv)
        self._private = {*private, *PRIVATE_SUBMODULES}
        self._shared = shared
        self._alone = alone
        self._shared_packages = shared_packages
        self._users_files: dict[str, None] = {}
        self._path = tuple(path)
        self._patched = patched
        self._loading: dict[str, RLock] = {}
        lists = private, shared, alone, shared_packages, self._path, sys.path
        self._privacy = _privacy.setdefault(tuple(map(tuple, lists)), {})
        self.builtins: dict[str, Any] = {
            **builtins.__dict__,
            "__import__": self._import,
            **({} if stdout is None else {"print": self._print}),
            "set": OrderedSet,
            "frozenset": OrderedFrozenSet,
            HIDDEN_NAME: OrderedSet,
            PROCESS_NAME: process,
        }

    def _print(self, *objects: object, file: Any = None, **named: Any) -> None:
        """``print`` writes to the process's own standard output unless a file is given."""
        print(*objects, file=self.load("sys").stdout if file is None else file, **named)

    def is_private(self, name: str) -> bool:
        """Whether the process gets its own copy of a module."""
        known = self._privacy.get(name)
        if known is None:
            known = self._privacy[name] = self._is_private(name)
        return known

    def _is_private(self, name: str) -> bool:
        if name in self._shared:
            return False
        if name in self._alone:
            return True
        private = self._private
        place = name
        while place not in private:
            place, dot, _ = place.rpartition(".")
            if not dot:
                top = name.partition(".")[0]
                if top in SIMULATED or top in self._shared_packages:
                    return False
                return is_private_package(top, (*self._path, *sys.path))
        return True

    def is_private_file(self, filename: str) -> bool:
        """Whether code of this file (``co_filename``) has been loaded as a private module.

        True for modules of ``private`` (kazoo, recipes, a user's files), false for the copies of
        the standard library: preemption inside of these would show nothing about a program.
        """
        return filename in self._users_files

    def load(self, name: str) -> Any:
        """Import a module for this process.

        Raises:
            ImportError: as an ``import`` statement does.
        """
        module = self.modules.get(name)
        if module is not None:
            if self._loading and (lock := self._loading.get(name)) is not None:
                with lock:  # another task executes it; in the same task it may be partial
                    pass
            return module
        build = SIMULATED.get(name)
        if build is not None:
            module = build(self)
        elif (instead := refused(self, name)) is not None:
            module = instead
        elif self.is_private(name):
            return self._load_private(name)
        else:
            module = importlib.import_module(name)
            if name in self._shared:
                parent, _, leaf = name.rpartition(".")
                setattr(self.load(parent), leaf, module)
        self.modules[name] = module
        return module

    def _load_private(self, name: str) -> ModuleType:
        parent_name, _, leaf = name.rpartition(".")
        parent = self.load(parent_name) if parent_name else None
        if name in self.modules:  # the parent has imported it
            return self.modules[name]
        path = tuple(parent.__path__) if parent else (*self._path, *sys.path)
        try:
            found = module_code(name, path, self._patched.get(name))
        except ModuleNotFoundError:
            if (module_of_hook := self._load_by_hook(name, path)) is None:
                raise
            return module_of_hook
        if found is None:
            module = importlib.import_module(name)
            self.modules[name] = module
            return module
        module = ModuleType(name)
        namespace = module.__dict__
        namespace["__builtins__"] = self.builtins
        namespace["__spec__"] = found.spec
        namespace["__loader__"] = found.spec.loader
        namespace["__file__"] = found.spec.origin
        namespace["__package__"] = parent_name if found.locations is None else name
        if found.locations is not None:
            namespace["__path__"] = found.locations
        top = name.partition(".")[0]
        if found.spec.origin is not None and top not in sys.stdlib_module_names:
            self._users_files[found.spec.origin] = None
        self.modules[name] = module
        if parent is not None and (parent_name in SIMULATED or self.is_private(parent_name)):
            # A shared package is not modified.
            # Real imports set it after execution, and handle circular imports in another way.
            setattr(parent, leaf, module)
        lock = self._loading[name] = self.locks.rlock()
        task = self.process.simulator.current
        if task is not None:
            task.loads += 1
        try:
            with lock:
                if found.code is not None:
                    exec(found.code, namespace)  # noqa: S102 - this is what a loader does
        except BaseException:
            self.modules.pop(name, None)
            if parent is not None and vars(parent).get(leaf) is module:
                delattr(parent, leaf)
            raise
        finally:
            del self._loading[name]
            if task is not None:
                task.loads -= 1
        finish = FINISHING.get(name)
        if finish is not None:
            finish(self, module)
        return module

    def _load_by_hook(self, name: str, path: tuple[str, ...]) -> ModuleType | None:
        """Import a module that has no file, by an import hook of the process, as six has one."""
        system = self.modules.get("sys")
        for finder in system.meta_path if system is not None else ():
            spec = None if finder in sys.meta_path else finder.find_spec(name, path)
            if spec is not None and spec.loader is not None:
                module = self.modules[name] = module_from_spec(spec)
                try:
                    spec.loader.exec_module(module)
                except BaseException:
                    self.modules.pop(name, None)
                    raise
                parent, _, leaf = name.rpartition(".")
                if parent and self.is_private(parent):
                    setattr(self.load(parent), leaf, module)
                return module
        return None

    def _import(
        self,
        name: str,
        namespace: dict[str, Any] | None = None,
        _: object = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        """``__import__`` as private modules see it."""
        if level:
            name = _absolute(name, level, namespace or {})
        module = self.modules.get(name)
        if module is None or name in self._loading:
            module = self.load(name)
        if not fromlist:
            return module if level or "." not in name else self.load(name.partition(".")[0])
        # Of a plain module ``hasattr`` takes long to say no.
        if (type(module) is not ModuleType or "__path__" in vars(module)) and hasattr(
            module, "__path__"
        ):
            wanted = getattr(module, "__all__", ()) if "*" in fromlist else fromlist
            for item in wanted:
                if not hasattr(module, item):
                    self._load_submodule(f"{name}.{item}")
        return module

    def _load_submodule(self, name: str) -> None:
        try:
            self.load(name)
        except ModuleNotFoundError as error:
            if error.name != name:  # the submodule exists, but something that it imports does not
                raise


def _absolute(name: str, level: int, namespace: dict[str, Any]) -> str:
    package = namespace.get("__package__") or ""
    parts = package.split(".")
    if not package or level > len(parts):
        raise ImportError("attempted relative import beyond top-level package")
    base = ".".join(parts[: len(parts) - level + 1])
    return f"{base}.{name}" if name else base
