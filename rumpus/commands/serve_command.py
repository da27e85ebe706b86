"""``rumpus serve``: the pages of nights, runs in progress and their files, for a browser."""

import argparse
import contextlib
import socket
from pathlib import Path

from rumpus.consoles import answers, notices
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.serving.application import Answers, application
from rumpus.serving.bounded_server import bounded
from rumpus.usage_error import UsageError


def serve_command(arguments: argparse.Namespace) -> int:
    """Serve until interrupted; the address is printed once it can be asked; the exit code.

    Raises:
        UnreadableRun, StoreError: the store cannot be read.
        EnvironmentRefusal: the port cannot be opened.
    """
    told = Answers(arguments.store, Path(arguments.runs))
    with contextlib.suppress(UsageError):  # no night was performed yet
        told.page("index.html")
    with _listening(arguments.host, arguments.port) as listener:
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        server = bounded(application(told, arguments.host))
        answers().print(f"http://{shown}:{port}/", markup=False, highlight=False, soft_wrap=True)
        notices().print("Ctrl-C ends it", highlight=False)
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listener])
        notices().print("ended", highlight=False)
    return 0


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        EnvironmentRefusal: there is no such address here, or the port is taken.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise EnvironmentRefusal(
            f"nothing can be served at {host}:{port} ({error.strerror or error}); choose another "
            "--port, or --host"
        ) from error
