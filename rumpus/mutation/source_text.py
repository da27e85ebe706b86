"""A module's source as text with places in it: what mistakes are cut out of and pasted into."""

import ast
import difflib
from itertools import accumulate
from typing import NamedTuple


class Span(NamedTuple):
    """A piece of source, by offsets in bytes of UTF-8; ``end`` is behind it."""

    start: int
    end: int


class SourceText:
    """The source of a module.

    Args:
        text: the source.

    Attributes:
        tree: its syntax.
        lines: without their ends.

    Raises:
        SyntaxError: it is no Python.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self.lines = text.split("\n")
        self._bytes = text.encode()
        ends = accumulate(len(line) for line in self._bytes.split(b"\n"))
        self._starts = [0, *(end + number for number, end in enumerate(ends, 1))]

    def span(self, first: ast.AST, last: ast.AST | None = None) -> Span:
        """Where a node is, or the nodes from one to another."""
        last = first if last is None else last
        begin = self._starts[first.lineno - 1] + first.col_offset  # type: ignore[attr-defined] # of statements and expressions
        end = self._starts[last.end_lineno - 1] + last.end_col_offset  # type: ignore[attr-defined] # as above
        return Span(begin, end)

    def said(self, node: ast.AST) -> str:
        """The source of a node."""
        return self.at(self.span(node))

    def at(self, span: Span) -> str:
        """The source at a place."""
        return self._bytes[span.start : span.end].decode()

    def before(self, offset: int) -> str:
        """The source up to a place."""
        return self._bytes[:offset].decode()

    def after(self, offset: int) -> str:
        """The source from a place on."""
        return self._bytes[offset:].decode()

    def replaced(self, span: Span, text: str) -> str:
        """The source of the module with other words at a place."""
        return (self._bytes[: span.start] + text.encode() + self._bytes[span.end :]).decode()


def whole_diff(path: str, before: str, after: str) -> str:
    """A unified diff between two sources of a module, with three lines around each change.

    Args:
        path: of the module, as a patch names it.
        before: the source.
        after: what becomes of it.
    """
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    )
    unended = "\n\\ No newline at end of file\n"  # as diff and Git say it
    return "".join(line if line.endswith("\n") else line + unended for line in lines)
