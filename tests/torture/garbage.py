"""Bytes, texts and values that readers do not expect."""

import json
import re
import string
from random import Random
from typing import Any

TEXTS = (
    "\x1b[2J\x1b]0;x\x07",
    "\x00",
    "\x9b31m",
    "\u202e",
    "\ud800",
    "<script>alert(1)</script>",
    "[x](javascript:alert(1))",
    "'" * 1000,
    '"' * 1000,
    "(" * 1000,
    "[" * 100_000,
    '{"a":' * 10_000,
    "#_" * 1000,
    "^" * 1000,
    "\\u0000",
    "\\ud800",
    "1e999",
    "-0",
    "NaN",
    "9" * 400,
    "0x" + "f" * 40,
    "\ufeff",
    "\r\n",
    "\n\n",
    "null",
    "../../../../etc/passwd",
    "%s%n{0}{{1}}[/red]",
)

VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1 << 31,
    1 << 63,
    -(1 << 63),
    10**30,
    0.5,
    1e300,
    "",
    "x" * 100_000,
    [],
    [[]] * 1000,
    {},
    {"a": {"b": {"c": 1}}},
    *(text.encode(errors="replace").decode() for text in TEXTS if len(text) < 5000),
)


TOKENS = b"nil null true false 0 -1 7 99999999999999999999 1e9 0.5 ok fail info invoke".split()
_TOKEN = re.compile(rb"[\w.-]+")


def strange_value(chance: Random) -> Any:
    """A value of JSON."""
    return chance.choice(VALUES)


def flipped(data: bytes, chance: Random) -> bytes:
    """The same with some bytes changed."""
    changed = bytearray(data or b"\0")
    for _ in range(chance.choice([1, 1, 2, 20])):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def changed_text(data: bytes, chance: Random) -> bytes:
    """The same with a piece of it cut, doubled, moved, or something strange put in."""
    at = chance.randrange(len(data) + 1)
    end = min(len(data), at + chance.choice([1, 5, 50, 500]))
    match chance.randrange(5):
        case 0:
            return data[:at] + data[end:]
        case 1:
            return data[:end] + data[at:]
        case 2:
            return data[end:] + data[:at] + data[at:end]
        case 3:
            letter = chance.choice(string.printable).encode()
            return data[:at] + letter + data[at + 1 :]
        case _:
            strange = chance.choice(TEXTS).encode(errors="surrogatepass")
            return data[:at] + strange + data[at:]


def changed_tokens(data: bytes, chance: Random) -> bytes:
    """The same with one or more of its words and numbers replaced, most often by others of it."""
    for _ in range(chance.choice([1, 1, 3, 10])):
        found = list(_TOKEN.finditer(data))
        if not found:
            return data
        old, other = chance.choice(found), chance.choice(found)
        new = other.group() if chance.random() < 0.6 else chance.choice(TOKENS)
        data = data[: old.start()] + new + data[old.end() :]
    return data


def changed_lines(data: bytes, chance: Random) -> bytes:
    """The same with some lines dropped, doubled, swapped, or the first ones put last."""
    lines = data.splitlines(keepends=True) or [b""]
    at, more = chance.randrange(len(lines)), chance.choice([1, 2, 10, 100])
    match chance.randrange(4):
        case 0:
            lines[at : at + more] = []
        case 1:
            lines[at:at] = lines[at : at + more]
        case 2:
            other = chance.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        case _:
            lines = lines[at:] + lines[:at]
    return b"".join(lines)


def changed_record(data: bytes, chance: Random) -> bytes:
    """The same lines of JSON with one field of one record as it is in another, or strange."""
    lines = data.splitlines()
    at = chance.randrange(len(lines))
    try:
        record, other = json.loads(lines[at]), json.loads(chance.choice(lines))
    except ValueError:
        return data  # it has been damaged before
    if not isinstance(record, dict) or not record:
        return data
    lines[at] = json.dumps(with_another_value(record, other, chance)).encode()
    return b"\n".join(lines) + b"\n"


def with_another_value(document: Any, other: Any, chance: Random) -> Any:
    """A document with something else at one of its leaves: what stands there in the other one, or
    something strange."""
    parent, key = document, chance.choice(_keys(document))
    if chance.random() < 0.7 and isinstance(document, dict) and document.get("value"):
        key = "value"
    while isinstance(parent[key], dict | list) and parent[key] and chance.random() < 0.85:
        parent, other = parent[key], _at(other, key)
        key = chance.choice(_keys(parent))
    found = _at(other, key)
    parent[key] = strange_value(chance) if found is None or chance.random() < 0.25 else found
    return document


def _at(document: Any, key: Any) -> Any:
    if isinstance(document, dict):
        return document.get(key)
    return document[key] if isinstance(document, list) and key in range(len(document)) else None


def _keys(parent: Any) -> list[Any]:
    return sorted(parent) if isinstance(parent, dict) else list(range(len(parent)))
