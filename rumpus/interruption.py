"""Ctrl-C and other signals to end, as a wish that is asked for, so that nothing is torn midway."""

import queue
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, a polite kill, and the end of the terminal."""

FIRST = "interrupted: healing, gathering, checking what there is, tearing down"
AGAIN = "already ending, in some seconds; nothing would be gained by force"


class Interruption:
    """Whether somebody has asked the run to end."""

    def __init__(self) -> None:
        self._requested = bool(_wishes)  # one that an import has swallowed, say
        _wishes.clear()

    def requested(self) -> bool:
        """Whether it was asked for."""
        return self._requested

    @contextmanager
    def listening(self, say: Callable[[str], None]) -> Iterator[None]:
        """Take the signals while the block runs; ``say`` is told what is done about them."""
        # A signal comes in the middle of anything, a print too: another thread does the talking.
        sayings: queue.SimpleQueue[str | None] = queue.SimpleQueue()

        def speak() -> None:
            while (words := sayings.get()) is not None:
                say(words)

        def ask(*_: Any) -> None:
            sayings.put(AGAIN if self._requested else FIRST)
            self._requested = True

        speaker = threading.Thread(target=speak, name="interruption", daemon=True)
        speaker.start()
        try:
            with _handling(ask):
                yield
        finally:
            sayings.put(None)
            speaker.join()


_wishes: list[int] = []
"""Signals that came and have not ended anything yet: what runs at the time may swallow them."""


def wish(number: int, *_: Any) -> None:
    """A handler: notes that somebody wants an end, and raises ``KeyboardInterrupt``."""
    _wishes.append(number)
    raise KeyboardInterrupt


@contextmanager
def as_keyboard_interrupt() -> Iterator[None]:
    """Let each of the signals raise ``KeyboardInterrupt``, as Ctrl-C does, while the block runs."""
    try:
        with _handling(wish):
            yield
    except KeyboardInterrupt:
        _wishes.clear()
        raise


@contextmanager
def _handling(handler: Callable[..., Any]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's alone
        return
    # One that is ignored was meant to be (nohup, a shell's background job).
    heeded = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]
    earlier = {number: signal.signal(number, handler) for number in heeded}
    try:
        yield
    finally:
        for number, former in earlier.items():
            signal.signal(number, former)
