r"""A reader of EDN, the notation of Clojure's data, for untrusted files.

The grammar is that of <https://github.com/edn-format/edn>, and what else Clojure's printer puts
into histories: ``##Inf``, ``#"..."``, ``#<...>``, metadata, and namespaces of maps. Nothing is
evaluated: a tag, known or not, is dropped and its value kept.

=====================================  ==========================================================
EDN                                    Python
=====================================  ==========================================================
``nil true false``                     None, True, False
``12 12N 0x1f 1.5 1e3 ##Inf``          int, float
``1.5M 1/2``                           Decimal, Fraction
``"text" \c \newline``                 str
``:keyword symbol``                    str; a keyword without its colon: ``:x`` and ``"x"`` are
                                       one value
``[1 2] (1 2)``                        list
``{:a 1}``                             dict; a key that is not hashable is frozen
``#{1 2}``                             frozenset
=====================================  ==========================================================

The reader keeps its own stack, so nesting costs no recursion. If a file is one vector or list, its
elements are read one by one. So reading a history takes the memory of one record, whether the
history is one vector or has one map a line.
"""

import codecs
import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, BinaryIO, Final, NamedTuple

from rumpus.checker.deciders.values import MAX_BITS, MAX_DEPTH, freeze, refuse_alike

MAX_FORM = 16 * 1024 * 1024
"""Longest form (EDN's word for a value, here a record) that is read, in characters."""

MAX_DIGITS = 4300
"""Longest number that is read, in characters."""

MAX_BITS_OF_RATIO = 30
MAX_DECIMALS = 18
"""Bits of each part of a ratio; digits and exponent of a decimal. `MAX_BITS` is for integers.

Python's hash of a number is the number modulo 2^61 - 1. Beyond these bounds any number of unequal
numbers can have the same hash, and looking them up in a dict takes quadratic time.
"""

MAX_VALUES = 1_000_000
"""Most values and brackets in one form: 16 MiB could hold eight million, and take ten seconds."""


class MalformedEdn(ValueError):  # noqa: N818 - reads as what it is
    """A file is not EDN.

    Args:
        line: the line of the mistake, counted from 1.
        why: what is wrong there.
    """

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line}: {why}")
        self.line = line
        self.why = why


def read_forms(file: BinaryIO) -> Iterator[tuple[int, Any]]:
    """The forms of a file, each with its line; for a file that is one vector or list, its elements.

    Raises:
        MalformedEdn: it is not EDN in UTF-8, or exceeds one of the bounds `MAX_FORM`,
            `MAX_DIGITS`, `MAX_BITS`, `MAX_BITS_OF_RATIO`, `MAX_DECIMALS`, `MAX_VALUES` and
            `MAX_DEPTH`.
    """
    window = _Window(file)
    window.pass_blanks()
    outermost = _OUTERMOST.match(window.text, window.position)
    if outermost:
        window.position = outermost.end()
        window.pass_blanks()
    closing = _CLOSING[outermost[1]] if outermost else None
    while not window.at_end:
        if closing and window.text[window.position] == closing:
            window.position += 1
            window.pass_blanks()
            if not window.at_end:
                raise window.malformed("there is more after the end of the history")
            return
        line = window.line()
        yield from ((line, form) for form in _read_form(window))
        window.pass_blanks()
    if closing:
        raise window.malformed(f"the file ends before its last {closing!r}: it was cut off")


class _Window:
    """The part of a file that has been read and not passed yet, and the position in it."""

    def __init__(self, file: BinaryIO) -> None:
        self.text = ""
        self.position = 0
        self.ended = False
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._line = 1
        self._counted = 0

    @property
    def at_end(self) -> bool:
        return self.ended and self.position == len(self.text)

    def line(self) -> int:
        """The line at the position."""
        self._line += self.text.count("\n", self._counted, self.position)
        self._counted = self.position
        return self._line

    def pass_blanks(self) -> None:
        """Go to the next form, or to the end, and read on until all of the form is in the text."""
        while True:
            blanks = _BLANKS.match(self.text, self.position)
            assert blanks
            self.position = blanks.end()
            if self.ended or len(self.text) - self.position >= MAX_FORM:
                return
            if self.position == len(self.text) and ";" in blanks[0].rpartition("\n")[2]:
                self.text += ";"  # the comment goes on in what is still to be read
            self._read_on()

    def _read_on(self) -> None:
        line = self.line() + self.text.count("\n", self.position)
        data = self._file.read(MAX_FORM)
        self.ended = not data
        try:
            more = self._decoder.decode(data, final=self.ended)
        except UnicodeDecodeError as error:
            line += error.object.count(b"\n", 0, error.start)
            raise MalformedEdn(line, "it is not UTF-8") from error
        self.text = self.text[self.position :] + more
        self.position = self._counted = 0

    def malformed(self, why: str) -> MalformedEdn:
        """An error at the position."""
        return MalformedEdn(self.line(), why)


class _Frame(NamedTuple):
    """A collection (its ``kind`` is its bracket) or a prefix (its name) that has not ended yet."""

    kind: str
    start: int
    items: list[Any]


def _read_form(window: _Window) -> list[Any]:
    """The form at the position, in a list; an empty list if the form is discarded (``#_``)."""
    text = window.text
    cut = None if window.ended else len(text)  # a token that ends there may go on in the file
    stack: list[_Frame] = []
    for _ in range(MAX_VALUES):
        token = _TOKEN.match(text, window.position)
        if token is None or token.end() == cut:
            raise _not_a_token(window, stack)
        kind = token.lastgroup or ""
        window.position = token.start(kind)
        try:
            if kind == "open" or kind in _PREFIXES:
                _open(stack, token[kind] if kind == "open" else kind, window.position)
                window.position = token.end()
                continue
            value = _close(stack, token[kind]) if kind == "close" else _READERS[kind](token[kind])
        except ValueError as error:
            raise window.malformed(str(error)) from error
        window.position = token.end()
        if stack and stack[-1].kind not in _PREFIXES:
            stack[-1].items.append(value)
            continue
        # A value completes the prefixes before it. A discarded value completes only its ``#_``.
        # The first value after ``^`` is metadata: its prefix stays open for the value proper.
        found = [value]
        while stack and found and stack[-1].kind in _PREFIXES:
            prefix = stack[-1]
            if prefix.kind == "meta" and not prefix.items:
                prefix.items.append(found.pop())
            else:
                stack.pop()
                if prefix.kind == "discard":
                    found.pop()
        if not stack:
            return found
        stack[-1].items.extend(found)
    raise window.malformed(f"a record has more than {MAX_VALUES:,} values")


def _not_a_token(window: _Window, stack: list[_Frame]) -> MalformedEdn:
    """The error where no token is at the position, or one that may be longer than what was read."""
    text = window.text
    blanks = _BLANKS.match(text, window.position)
    assert blanks
    at = blanks.end()
    if not window.ended and (at == len(text) or text[at] not in _UNFIT):
        return window.malformed(f"what begins here is longer than {MAX_FORM} characters")
    if at < len(text) and text[at] != '"':
        window.position = at
        return window.malformed(f"{text[at : at + 20]!r} is no EDN")
    what = "a string that" if at < len(text) else "what"
    if at == len(text) and stack:
        window.position = stack[0].start
    return window.malformed(f"the file ends inside {what} begins here: it was cut off")


def _open(stack: list[_Frame], kind: str, position: int) -> None:
    if len(stack) > MAX_DEPTH:  # a record around a value does not count
        raise ValueError(f"nested more than {MAX_DEPTH} deep")
    stack.append(_Frame(kind, position, []))


def _close(stack: list[_Frame], bracket: str) -> Any:
    """The collection that a closing bracket completes."""
    if not stack or _CLOSING.get(stack[-1].kind) != bracket:
        raise ValueError(f"{bracket!r} closes nothing that is open")
    frame = stack.pop()
    if frame.kind == "{":
        keys, values = frame.items[::2], frame.items[1::2]
        if len(keys) != len(values):
            raise ValueError("a map has a key without a value")
        frozen = list(map(freeze, keys))
        refuse_alike(frozen)
        collected = dict(zip(frozen, values, strict=True))
        if len(collected) != len(keys):
            raise ValueError("a map has a key twice")
        return collected
    if frame.kind == "#{":
        elements = list(map(freeze, frame.items))
        refuse_alike(elements)
        return frozenset(elements)
    return frame.items


def _atom(text: str) -> Any:
    """A number, a keyword or a symbol."""
    known = _ATOMS.get(text)
    if known is None and text not in _ATOMS:
        known = _number(text) if _NUMERIC.match(text) else _name(text)
        if len(_ATOMS) < _MOST_ATOMS and len(text) < 32:
            _ATOMS[text] = known
    return known


def _name(text: str) -> str:
    name = text.removeprefix(":").removeprefix(":") if text[0] == ":" else text
    if not name:
        raise ValueError("a colon by itself is no keyword")
    return name


def _number(text: str) -> int | float | Decimal | Fraction:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number is longer than {MAX_DIGITS} characters")
    if _OCTAL.fullmatch(text):
        raise ValueError(f"{text!r} begins with 0: Clojure reads an octal number, EDN has none")
    if _INTEGER.fullmatch(text):
        return _bounded(int(text.removesuffix("N")), MAX_BITS)
    if _HEXADECIMAL.fullmatch(text):
        return _bounded(int(text.removesuffix("N"), 16), MAX_BITS)
    with contextlib.suppress(ArithmeticError):  # a division by zero, an exponent beyond all bounds
        if _RATIO.fullmatch(text):
            ratio = Fraction(text)
            if ratio.denominator == 1:
                return _bounded(ratio.numerator, MAX_BITS)
            _bounded(max(abs(ratio.numerator), ratio.denominator), MAX_BITS_OF_RATIO)
            return ratio
        if _DECIMAL.fullmatch(text):
            if not text.endswith("M"):
                return float(text)
            number = Decimal(text[:-1])
            _, digits, exponent = number.as_tuple()
            if len(digits) > MAX_DECIMALS or abs(int(exponent)) > MAX_DECIMALS:
                raise ValueError(f"a decimal has more than {MAX_DECIMALS} digits")
            return number
    raise ValueError(f"{text!r} is no number")


def _bounded(number: int, bits: int) -> int:
    if number.bit_length() > bits:
        raise ValueError(f"a number has more than {bits} bits")
    return number


def _string(text: str) -> str:
    if "\\" not in text:
        return text
    unescaped = _ESCAPE.sub(_unescaped, text)
    try:  # characters beyond 16 bits are written as two escapes
        return unescaped.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise ValueError("a string has half a character in it") from None


def _unescaped(escape: re.Match[str]) -> str:
    if escape["unicode"]:
        return chr(int(escape["unicode"], 16))
    if escape["octal"]:
        return chr(int(escape["octal"], 8))
    try:
        return _ESCAPES[escape["letter"]]
    except KeyError:
        raise ValueError(f"{escape[0]!r} is no escape") from None


def _character(text: str) -> str:
    if len(text) == 1:
        return text
    if text in _CHARACTERS:
        return _CHARACTERS[text]
    coded = _CODED.fullmatch(text)
    if not coded:
        raise ValueError(f"\\{text[:20]} is no character")
    character = chr(int(coded[1], 16) if coded[1] else int(coded[2], 8))
    if "\ud800" <= character <= "\udfff":
        raise ValueError(f"\\{text} is half a character")
    return character


_CLOSING: Final = {"[": "]", "(": ")", "{": "}", "#{": "}"}
_PREFIXES: Final = frozenset({"discard", "meta", "tag"})
_SPECIAL: Final = {"Inf": float("inf"), "-Inf": float("-inf"), "NaN": float("nan")}
_ESCAPES: Final = {"t": "\t", "r": "\r", "n": "\n", "b": "\b", "f": "\f", "\\": "\\", '"': '"'}
_CHARACTERS: Final = {
    "newline": "\n",
    "return": "\r",
    "space": " ",
    "tab": "\t",
    "backspace": "\b",
    "formfeed": "\f",
}
_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "atom": _atom,
    "string": _string,
    "regex": str,
    "unreadable": str,
    "character": _character,
    "special": _SPECIAL.__getitem__,
}

_MOST_ATOMS = 100_000
_ATOMS: dict[str, Any] = {"nil": None, "true": True, "false": False}
"""Values of atoms read before: the same ones occur again and again in a history."""

# Adjacent quantifiers that can match the same characters are possessive: no text causes
# backtracking.
_UNFIT = frozenset(map(chr, [*range(9), *range(14, 28), 127]))
_BLANK = r"(?:[\s,]++|;[^\n]*+)*+"
_END = r'\s,;"()\[\]{}\\\x00-\x1f\x7f'
_TEXT = r'[^"\\]*+(?:\\.[^"\\]*+)*+'
_BLANKS = re.compile(_BLANK)
_OUTERMOST = re.compile(rf"(?:\#[^{_END}\#_^<]++{_BLANK})?([\[(])")
_TOKEN = re.compile(
    rf"""{_BLANK}(?:
      (?P<atom>[^{_END}\#^][^{_END}]*+)
    | (?P<open>\#?\{{|[\[(])
    | (?P<close>[\])}}])
    | "(?P<string>{_TEXT})"
    | (?P<discard>\#_)
    | (?P<meta>\#?\^)
    | \#\#(?P<special>-?Inf|NaN)
    | \#"(?P<regex>{_TEXT})"
    | \#<(?P<unreadable>[^>\n]*+)>
    | \#(?P<tag>[^{_END}\#_^<][^{_END}]*+)
    | \\(?P<character>\S[^{_END}]*+)
    )""",
    re.VERBOSE | re.DOTALL,
)
_NUMERIC = re.compile(r"[+-]?[0-9]")
_INTEGER = re.compile(r"[+-]?[0-9]++N?")
_OCTAL = re.compile(r"[+-]?0[0-9]++N?")
_HEXADECIMAL = re.compile(r"[+-]?0[xX][0-9a-fA-F]++N?")
_RATIO = re.compile(r"[+-]?[0-9]++/[0-9]++")
_DECIMAL = re.compile(r"[+-]?[0-9]++(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]++)?M?")
_ESCAPE = re.compile(
    r"\\(?:u(?P<unicode>[0-9a-fA-F]{4})|(?P<octal>[0-3]?[0-7]{1,2})|(?P<letter>.))", re.DOTALL
)
_CODED = re.compile(r"u([0-9a-fA-F]{4})|o([0-3]?[0-7]{1,2})")
