"""kazoo's handlers: what a client's threads, locks and sockets are made of.

A program that uses gevent or eventlet replaces those of the standard library before it does
anything else, and gives kazoo a handler of that library. A client's process does the same.
"""

import importlib
from typing import Any, Final, Literal, get_args

Handler = Literal["threading", "gevent", "eventlet"]
"""The value of ``--handler``. The first one is kazoo's own choice."""

HANDLERS: Final[tuple[Handler, ...]] = get_args(Handler)


def patch(handler: str) -> None:
    """Replace the threads, locks and sockets of the standard library in this process.

    Args:
        handler: one of ``HANDLERS``; nothing is replaced for ``threading``.

    Raises:
        ImportError: the library is not installed.
    """
    if handler == "gevent":
        importlib.import_module("gevent.monkey").patch_all()
    elif handler == "eventlet":
        importlib.import_module("eventlet").monkey_patch()


def make_handler(handler: str) -> Any:
    """The handler that a ``KazooClient`` is given.

    Args:
        handler: one of ``HANDLERS``.

    Raises:
        ImportError: the library is not installed, or kazoo does not run with this version of it.
    """
    module = importlib.import_module(f"kazoo.handlers.{handler}")
    return getattr(module, f"Sequential{handler.title()}Handler")()
