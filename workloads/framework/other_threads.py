"""What other threads of a program do with its client while one of them uses a recipe."""

import threading
from collections.abc import Callable

from rumpus.harness.clients.client_body import ClientContext


class Chatter:
    """Requests that a holder sends again and again, and does not wait for, until it has released.

    A client library may take what it sends for a sign that it is connected. With each request the
    program looks whether it still holds.

    Args:
        context: the client's.
        path: what it asks for.
        pause: seconds between two requests.
    """

    def __init__(self, context: ClientContext, path: str, pause: float) -> None:
        self._context, self._path, self._pause = context, path, pause
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._thread.start()

    def _go_on(self) -> None:
        while not self._over.wait(self._pause):
            self._context.kazoo.exists_async(self._path)
            self._context.look_at_belief()

    def end(self) -> None:
        """Send no more."""
        self._over.set()
        self._thread.join()


class Meanwhile:
    """One thing that another thread of the program does to the client during a use.

    Args:
        deed: what it does.
        after: seconds from the beginning of the use.
    """

    def __init__(self, deed: Callable[[], None], after: float) -> None:
        self._deed, self._after = deed, after
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._wait_and_do, daemon=True)
        self._thread.start()

    def _wait_and_do(self) -> None:
        if not self._over.wait(self._after):
            self._deed()

    def end(self) -> None:
        """Return once it is done; it is not begun any more."""
        self._over.set()
        self._thread.join()
