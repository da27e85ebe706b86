"""Standard output and standard error, as consoles that go on working when their reader has gone."""

import contextlib
import io
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from rumpus.results.escapes import escaped_lines, in_json
from rumpus.results.store_error import StoreError

NEWLINE = "↵"
"""Printed in place of a newline that is part of a text and not the end of a line."""

_printed: list[int] = []


def notices() -> Console:
    """Standard error, for everything that is not the answer itself.

    When its reader has gone (a closed terminal, the end of a pipe), what is written is discarded
    and no error is raised: a run must come to its end all the same.
    """
    return _Escaping(file=cast("TextIO", _Unheeded(sys.stderr, OSError)))


def answers() -> Console:
    """Standard output, for commands whose answer is text.

    When its reader has gone, what is written is discarded. Where writing fails for another
    reason, printing raises ``StoreError``.
    """
    return _Escaping(file=cast("TextIO", _Unheeded(sys.stdout, BrokenPipeError)))


def print_json(document: bytes) -> None:
    """Put a JSON document on standard output; errors are handled as by `answers`."""
    print_text([in_json(document).decode()])
    _printed.append(len(document))


def print_document(document: object) -> None:
    """Put a document on standard output as JSON that people can read."""
    import msgspec  # noqa: PLC0415 - most commands have no use for it

    print_json(msgspec.json.format(msgspec.json.encode(document)) + b"\n")


def documents_printed() -> int:
    """How many whole JSON documents this process has put on standard output."""
    return len(_printed)


def print_text(pieces: Iterable[str]) -> None:
    """Put text on standard output as it is; errors are handled as by `answers`."""
    stream = _Unheeded(sys.stdout, BrokenPipeError)
    for piece in pieces:
        stream.write(piece)
    stream.flush()


def shown(path: Path) -> Path:
    """A path for people to read: relative to the working directory if it is inside that."""
    try:
        here = Path.cwd()
    except OSError:  # it has been removed
        return path
    return path.relative_to(here) if path.is_relative_to(here) else path


class Lines:
    """Text that is printed as several lines.

    In any other text a newline is printed as `NEWLINE`, so that no part of a text from a file
    looks like a line of rumpus's own.

    Args:
        text: the lines; a newline at the end makes no difference.
        style: the style of all lines.
    """

    def __init__(self, text: str, style: str = "") -> None:
        self._lines = text.removesuffix("\n").split("\n")
        self._style = style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """The lines, one after the other."""
        return (Text(line, style=self._style) for line in self._lines)


class _Escaping(Console):
    """A console that prints text as it is: control characters as escapes, ``:lock:`` as such.

    So no text steers the terminal, and references like ``module:Lock`` are not read as emoji.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"emoji": False, **options})

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """The segments to print; the console's own control codes are left as they are."""
        if type(renderable) is Text and "\n" in renderable.plain:
            renderable = renderable.copy()
            renderable.plain = renderable.plain.replace("\n", NEWLINE)
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(escaped_lines(segment.text), segment.style)


class _Unheeded(io.TextIOBase):
    """A text stream that sends everything to the null device once a write has failed.

    Errors of the type ``suffered`` are ignored; others raise ``StoreError``, once.
    """

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
