"""Where people read: consoles that outlive their readers."""

import contextlib
import io
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from rumpus.results.escapes import escaped_lines, in_json
from rumpus.results.store_error import StoreError

NEWLINE = "↵"
"""Stands on a terminal for a newline in the middle of a line."""

_printed: list[int] = []


def notices() -> Console:
    """Standard error, for everything that is not the answer itself.

    When its reader has gone (a closed terminal, the end of a pipe) what is written is lost and
    nothing fails: a run must come to its end all the same.
    """
    return _Escaping(file=cast("TextIO", _Unheeded(sys.stderr, OSError)))


def answers() -> Console:
    """Standard output, for commands whose answer is text. Its reader may have gone, too.

    Printing raises ``StoreError`` when it cannot be written for another reason.
    """
    return _Escaping(file=cast("TextIO", _Unheeded(sys.stdout, BrokenPipeError)))


def print_json(document: bytes) -> None:
    """Put a JSON document on standard output; likewise."""
    print_text([in_json(document).decode()])
    _printed.append(len(document))


def documents_printed() -> int:
    """How many whole JSON documents this process has put on standard output."""
    return len(_printed)


def print_text(pieces: Iterable[str]) -> None:
    """Put text on standard output as it is; likewise."""
    stream = _Unheeded(sys.stdout, BrokenPipeError)
    for piece in pieces:
        stream.write(piece)
    stream.flush()


def shown(path: Path) -> Path:
    """A path as people read it: from here where it is below here."""
    try:
        here = Path.cwd()
    except OSError:  # it has been removed
        return path
    return path.relative_to(here) if path.is_relative_to(here) else path


class Lines:
    """Text of several lines; any other is one, so that nothing in it looks like a line of ours.

    Args:
        text: the lines; a newline at the end makes no difference.
        style: of all of them.
    """

    def __init__(self, text: str, style: str = "") -> None:
        self._lines = text.removesuffix("\n").split("\n")
        self._style = style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """The lines, one after the other."""
        return (Text(line, style=self._style) for line in self._lines)


class _Escaping(Console):
    """A console on which nothing that is printed can give orders to the terminal."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """The pieces that are printed; orders of the console's own are no text."""
        if type(renderable) is Text and "\n" in renderable.plain:
            renderable = renderable.copy()
            renderable.plain = renderable.plain.replace("\n", NEWLINE)
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(escaped_lines(segment.text), segment.style)


class _Unheeded(io.TextIOBase):
    """A text stream that does not mind certain errors: all that follows goes nowhere."""

    def __init__(self, stream: TextIO, suffered: type[OSError]) -> None:
        self._stream = stream
        self._suffered = suffered

    @property
    def encoding(self) -> str:  # type: ignore[override] # a stream's own
        return self._stream.encoding

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def write(self, text: str) -> int:
        encoding = self._stream.encoding or "utf-8"
        with self._suffering():
            # A path may have bytes that are not UTF-8, and a stream may take nothing but ASCII.
            self._stream.write(text.encode(encoding, errors="replace").decode(encoding))
        return len(text)

    def flush(self) -> None:
        with self._suffering():
            self._stream.flush()

    @contextlib.contextmanager
    def _suffering(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            # What is still buffered would fail again at the program's end.
            with contextlib.suppress(io.UnsupportedOperation):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self._stream.fileno())
                os.close(nowhere)
            if not isinstance(error, self._suffered):
                raise StoreError(
                    Path("standard output"),
                    f"cannot be written ({error.strerror})",
                    "free some space, or send it elsewhere",
                ) from error
