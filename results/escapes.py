"""Escaping of untrusted text: one function for each kind of output, called just before writing.

Histories, descriptions and names of files are untrusted. Control characters steer terminals,
overrides of the writing direction make text look like other text, and Markdown's special characters
make links. Whatever is printed or written passes one of these functions as a whole, so that no
piece of it can be forgotten. HTML is escaped by its templates and XML by its writer;
`escaped_lines` then escapes the control characters that both leave in. Text in Python is a literal
of `in_python`: it never stands in a docstring or a comment, where it could end what it is in.
"""

import json
import re
import shlex
import string
from collections.abc import Iterable

LONGEST_IN_MARKDOWN = 2000
"""Characters of one text that a page of Markdown shows; the rest is cut off."""

_SPECIAL = re.compile(r"[\\`*_\[\]<>&|~]|:(?=//)|(?<=www)\.")
_BEGINS_A_BLOCK = re.compile(r"^([0-9]{0,9})([#=]|[-+.)](?=[ -]|$))")
_IN_HTML = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


class Markdown(str):
    """Text that is Markdown already, so that `in_markdown` leaves it as it is."""

    __slots__ = ()


def escaped(words: str) -> str:
    r"""Words in one line, with escapes like ``\x1b``, ``\u202e`` or ``\n`` for the unprintable.

    Unprintable (``str.isprintable``) are control characters, overrides of the writing direction,
    halves of surrogate pairs and invisible characters.
    """
    if words.isprintable():
        return words
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in words)


def escaped_lines(text: str) -> str:
    """Text for a terminal, or a whole document: as `escaped`, line by line."""
    return text if text.isprintable() else "\n".join(map(escaped, text.split("\n")))


def in_json(document: bytes) -> bytes:
    """A document in JSON for a terminal, with JSON's escapes for unprintable characters.

    Such characters can only be inside its strings, so it stays the same document.
    """
    text = document.decode()
    if text.isprintable():
        return document
    return "\n".join(map(_escaped_in_json, text.split("\n"))).encode()


def in_markdown(value: object) -> Markdown:
    """Text as one line of plain words in Markdown: no markup, link or HTML, no start of a block."""
    if isinstance(value, Markdown):
        return value
    words = " ".join(str(value).split())
    if len(words) > LONGEST_IN_MARKDOWN:
        words = f"{words[:LONGEST_IN_MARKDOWN]}…"
    words = _SPECIAL.sub(lambda mark: _IN_HTML.get(mark[0], f"\\{mark[0]}"), escaped(words))
    return Markdown(_BEGINS_A_BLOCK.sub(r"\1\\\2", words, count=1))


def in_python(text: str) -> str:
    """An expression of Python that is the text: a literal, over several lines if it has several."""
    quotes = '"""' if "\n" in text or '"' in text else '"'
    if quotes in text or text.endswith(('"', "\\")) or not text.replace("\n", "").isprintable():
        return ascii(text)
    return ("r" if "\\" in text else "") + quotes + text + quotes


def in_python_name(text: str) -> str:
    """The end of a name in Python: small letters, digits and underscores of ASCII."""
    return re.sub(r"[^0-9a-z]+", "_", text.lower()).strip("_")


def in_shell(words: Iterable[object]) -> str:
    """The words as a command in one line, as bash and zsh read it."""
    return " ".join(_word_in_shell(str(word)) for word in words)


_PLAIN_IN_SHELL = frozenset(string.ascii_letters + string.digits + "./_:=,+@")
"""What stands for itself in the format of ``printf`` between single quotes."""

LONGEST_NAME = 120
"""Characters of a part of a file's name; file systems allow 255 for the whole."""


def in_file_name(text: str) -> str:
    """A part of a file's name: letters, digits, dots, hyphens and underscores of ASCII.

    So no text leads into another directory, and none has to be quoted for a shell. It is cut where
    file systems would refuse it.
    """
    return re.sub(r"[^0-9A-Za-z._-]+", "-", text).lstrip(".-")[:LONGEST_NAME]


def in_workflow_command(text: str) -> str:
    """The message of a workflow command of GitHub Actions: in one line, with no command inside.

    The runner reads ``%0A`` as the end of a line and ``%25`` as a percent sign.
    """
    return escaped_lines(text).replace("%", "%25").replace("\n", "%0A")


def in_workflow_property(text: str) -> str:
    """A property of such a command, whose properties end at commas and colons."""
    return in_workflow_command(text).replace(":", "%3A").replace(",", "%2C")


def fenced(code: str, language: str) -> Markdown:
    """A block of code in Markdown, with a fence that nothing in the code closes."""
    words = escaped(code)
    longest = max(map(len, re.findall("`+", words)), default=0)
    fence = "`" * max(3, longest + 1)
    return Markdown(f"{fence}{language}\n{words}\n{fence}")


def _word_in_shell(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    # $'...' is not for every shell: another one would read the word as the end of the quotation.
    inside = "".join(c if c in _PLAIN_IN_SHELL else _bytes_in_shell(c) for c in word)
    return f"\"$(printf '{inside}')\""


def _bytes_in_shell(letter: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in letter.encode(errors="surrogatepass"))


def _escaped_in_json(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)
