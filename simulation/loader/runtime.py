"""The state of the Python runtime of one simulated process, which its simulated modules use."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO

from rumpus.simulation.kernel.process import Process, Task
from rumpus.simulation.kernel.synchronization import Locks
from rumpus.simulation.loader.modules.descriptor import OpenFiles

if TYPE_CHECKING:
    from types import ModuleType


CPU_COUNT: Final = 4
"""Processors of every simulated host."""


class AsyncGeneratorHooks(NamedTuple):
    """What ``sys.get_asyncgen_hooks`` returns."""

    firstiter: Callable[[Any], object] | None = None
    finalizer: Callable[[Any], object] | None = None


class Runtime(ABC):
    """Modules, open files, streams and main thread of one process, from its start to its end.

    Args:
        process: the process in which the program runs.
        network: the network of its sockets (``simulation.network.network.Network``).
        stdout: the process's standard output; None: the real one.
        stderr: the process's standard error; None: the real one.
        argv: its command line.
    """

    def __init__(
        self,
        process: Process,
        network: Any,
        *,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
        argv: Sequence[str] = (),
    ) -> None:
        self.process = process
        self.simulator = process.simulator
        self.network = network
        self.locks = Locks(process)
        self.stdout = stdout
        self.stderr = stderr
        self.argv = list(argv)
        self.modules: dict[str, ModuleType] = {}
        """What the process has imported, as its own ``sys.modules``; shared modules included."""
        self.files = OpenFiles(process)
        self.at_exit: list[tuple[Callable[..., object], tuple[Any, ...], dict[str, Any]]] = []
        """Functions registered with ``atexit``, which are called in reverse order."""
        self.generator_hooks: dict[Task | None, AsyncGeneratorHooks] = {}
        """Of the event loops that are running, by their thread."""
        self.main_task: Task | None = None

    @abstractmethod
    def load(self, name: str) -> Any:
        """Import a module for this process.

        Raises:
            ImportError: as an ``import`` statement does.
        """

    def start(self, function: Callable[..., object], *arguments: Any, name: str = "main") -> Task:
        """Start the process's main thread.

        When it returns, the process goes on as a Python program does: it waits for its
        non-daemon threads, calls what was registered with ``atexit``, and ends. An exception
        is put among the simulator's failures.
        """

        def main() -> None:
            try:
                function(*arguments)
            except SystemExit:
                pass
            except Exception as error:
                self.report(f"{self.process.name}/{name}", error)
            self.exit()

        self.main_task = self.process.spawn(main, name)
        return self.main_task

    def exit(self) -> None:
        """End the process in an orderly way. Called by one of its own tasks."""
        threading: Any = self.modules.get("threading")
        if threading is not None and self.simulator.current is self.main_task:
            threading._shutdown()  # noqa: SLF001 - as the interpreter calls it when it ends
        while self.at_exit:
            function, arguments, keywords = self.at_exit.pop()
            function(*arguments, **keywords)
        self.process.kill()

    def report(self, where: str, error: BaseException) -> None:
        """Put an exception that nobody caught among the simulator's failures."""
        simulator = self.simulator
        simulator.trace.append(f"{where}: {type(error).__name__}")
        simulator.failures.append((simulator.now, where, error))


def runtime_of(frame: FrameType) -> Runtime | None:
    """The runtime of the private module that a frame's code is of; None: the module is shared."""
    owner = getattr(frame.f_builtins.get("__import__"), "__self__", None)
    return owner if isinstance(owner, Runtime) else None
