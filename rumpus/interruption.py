"""Ctrl-C and other signals that ask a run to end: noted in a flag that the run polls.

So no step of the run is cut off in the middle.
"""

import queue
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, plain ``kill``, and the closing of the terminal."""

FIRST = "interrupted: healing, gathering, checking what there is, tearing down"
AGAIN = "already ending, in some seconds; nothing would be gained by force"


class Interruption:
    """Whether somebody has asked the run to end."""

    def __init__(self) -> None:
        self._requested = bool(_wishes)  # before now, and swallowed by an import, say
        self._signal: int | None = None
        _wishes.clear()

    def requested(self) -> bool:
        """Whether a signal to end has come."""
        return self._requested

    @contextmanager
    def listening(self, say: Callable[[str], None]) -> Iterator[None]:
        """Handle the signals while the block runs; ``say`` prints what is done about them."""
        # A signal may come in the middle of a print, so another thread prints the messages.
        sayings: queue.SimpleQueue[str | None] = queue.SimpleQueue()

        def speak() -> None:
            while (words := sayings.get()) is not None:
                say(words)

        def ask(number: int, *_: Any) -> None:
            sayings.put(AGAIN if self._requested else FIRST)
            self._requested, self._signal = True, number
            _come.append(number)

        speaker = threading.Thread(target=speak, name="interruption", daemon=True)
        speaker.start()
        try:
            with _handling(ask):
                yield
        finally:
            sayings.put(None)
            speaker.join()

    @contextmanager
    def passed_on(self) -> Iterator[None]:
        """End the block by a signal, and deliver it once more, to whoever handles it there.

        Within the block the first one raises ``KeyboardInterrupt``, but where it is listened to: so
        what the block has made is removed also if a signal would end the process. At the end Ctrl-C
        raises ``KeyboardInterrupt``, unless the program handles it in another way.
        """

        def cut_off(number: int, *_: Any) -> None:
            first, self._requested, self._signal = not self._requested, True, number
            _come.append(number)
            if first:
                raise KeyboardInterrupt

        try:
            with _handling(cut_off):
                yield
        finally:
            if self._signal is not None:
                signal.raise_signal(self._signal)


_wishes: list[int] = []
"""Signals that have come and ended nothing yet: their ``KeyboardInterrupt`` may be swallowed."""

_come: list[int] = []
"""All signals that have come."""


def has_come() -> bool:
    """Whether a signal that asks the program to end has come at any time."""
    return bool(_come)


def wish(number: int, *_: Any) -> None:
    """A signal handler: notes the signal and raises ``KeyboardInterrupt``."""
    _wishes.append(number)
    _come.append(number)
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
        yield  # only the main thread can set signal handlers
        return
    # A signal that is ignored already stays ignored (nohup, a shell's background job).
    heeded = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]
    earlier = {number: signal.signal(number, handler) for number in heeded}
    try:
        yield
    finally:
        for number, former in earlier.items():
            signal.signal(number, former)
