"""The process of one client: ``python -m rumpus.harness.clients.worker FD``.

FD is the descriptor of its channel. The first frame on the channel says who it is and what it
runs. The process ends with its channel, and within seconds of the control process's death,
however that dies.
"""

import ctypes
import importlib
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from rumpus.harness.clients.client_body import ClientBody
from rumpus.harness.clients.handlers import HANDLERS, make_handler
from rumpus.harness.clients.home import DirectoryHome
from rumpus.harness.clients.messages import Command, Frames, Report, frame
from rumpus.recipes.servers import Servers

HOST = "127.0.0.1"
"""Where clients' processes listen for one another."""


class Assignment(msgspec.Struct, frozen=True, tag=True, tag_field="message"):
    """Which client a worker is. ``build`` names a callable as ``module:function``.

    It is called with ``options`` and gives the function that makes a workload's client from
    its context. The run's clock is the system's monotonic clock less ``origin`` nanoseconds.
    ``home`` is the directory of the client's files (``harness.clients.home``).
    ``handler`` is one of ``handlers.HANDLERS``. ``servers``, if it is not empty, says where servers
    are that are not ZooKeeper's (``recipes.servers.Servers``).
    """

    client: int
    hosts: str
    session_timeout: float
    build: str
    options: dict[str, Any]
    parent: int
    origin: int
    home: str
    handler: str = HANDLERS[0]
    servers: str = ""


class Channel:
    """A blocking message channel over a stream socket, safe to send on from any thread."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._frames: Frames[Any] = Frames(Command | Assignment)
        self._ready: list[Any] = []
        self._sending = threading.Lock()

    def send(self, report: Report) -> None:
        """Carry a report to the control process; ends this process if that is gone."""
        data = frame(report)
        try:
            with self._sending:
                self._stream.sendall(data)
        except OSError:
            os._exit(1)

    def close(self) -> None:
        """Close this process's end: nothing can be sent, and nothing arrives any more."""
        self._stream.close()

    def receive(self) -> Any:
        """The next message, None when the control process has closed the channel."""
        while not self._ready:
            try:
                data = self._stream.recv(65536)
            except OSError:
                return None
            if not data:
                return None
            self._ready = self._frames.feed(data)[::-1]
        return self._ready.pop()


def end_with_parent_thread() -> None:
    """Have the kernel kill this process when the thread that started it ends, if it is Linux."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)


def end_with_parent(parent: int, *, of_its_thread: bool = True) -> None:
    """Make sure that this process does not outlive its parent, the control process for most.

    A thread checks every second.

    Args:
        parent: its process id.
        of_its_thread: whether the kernel sends SIGKILL, too, which also reaches a stopped process,
            as soon as the thread ends that started this process (on Linux).
    """
    if of_its_thread:
        end_with_parent_thread()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()


def keep_apart(channel: Channel) -> None:
    """Let copies of this process that a recipe makes (``os.fork``) have no part in the run.

    A copy that goes on like its original ends as soon as it would speak to the control process. Any
    other ends within seconds of its original.
    """
    original = os.getpid()

    def in_copy() -> None:
        nonlocal original
        # Known from before the fork: the original may have ended before its copy runs at all.
        parent, original = original, os.getpid()
        channel.close()
        end_with_parent(parent, of_its_thread=False)

    os.register_at_fork(after_in_child=in_copy)


def _stack_of_this_thread() -> Callable[[], FrameType | None]:
    ident = threading.get_ident()
    return lambda: sys._current_frames().get(ident)  # noqa: SLF001 - there is no other way


def main() -> None:
    """Receive the assignment and obey commands until the channel ends."""
    # Ctrl-C goes to the whole process group; when to stop is the control process's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent(os.getppid())
    channel = Channel(socket.socket(fileno=int(sys.argv[1])))
    keep_apart(channel)
    assignment = channel.receive()
    if not isinstance(assignment, Assignment):
        sys.exit("a worker is started by rumpus, not by hand")
    if os.getppid() != assignment.parent:
        sys.exit("the control process is gone")
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s.%(msecs)03d %(name)s %(levelname)s %(message)s"
    )
    module, _, name = assignment.build.partition(":")
    made = getattr(importlib.import_module(module), name)
    build = getattr(made, "builder", made)(**assignment.options)
    body = ClientBody(
        client=assignment.client,
        hosts=assignment.hosts,
        session_timeout=assignment.session_timeout,
        build=build,
        send=channel.send,
        receive=channel.receive,
        clock=lambda: time.monotonic_ns() - assignment.origin,
        home=DirectoryHome(Path(assignment.home)),
        host=HOST,
        stack=_stack_of_this_thread(),
        make_handler=lambda: make_handler(assignment.handler),
        servers=Servers.parse(assignment.servers) if assignment.servers else None,
    )
    code = 0
    try:
        body.run()
    except SystemExit:
        logging.getLogger(__name__).exception("the recipe ended its process")
        code = 1
    logging.shutdown()
    # Threads of a recipe may still run or hang: they end here with the process.
    os._exit(code)


if __name__ == "__main__":
    main()
