"""Documents that are changed after they were read: plain data, by type, and written again.

What results is still JSON, TOML or EDN, and most of it is still such a document. So it gets past
its reader, to what follows.
"""

from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

from tests.torture.operations import change_operation, is_history

NUMBERS = (0, 1, -1, 2, 9, 10, 1 << 31, 1 << 53, (1 << 63) - 1, -(1 << 63), 10**30)
FLOATS = (0.0, -0.0, 0.5, 1e-9, 1e9, 1e300)
WORDS = ("", "ok", "null", "0", "n1", "c1", "x" * 300, "\x1b[2J", "\u202e", "a/../b", "9" * 40)

ITEM = "[]"
"""Ends the name of an item: one of a list's is no list."""

ALONE = {"version", "format"}
"""Fields that readers ask for first. Another number in them ends most of such documents."""

TRIES = 9
"""A change may be none: an item that is exchanged with itself."""

Place = tuple[Any, Any, str]
"""A dictionary or a list, a key of it, and the name of the nearest field around it."""


def pool_of(document: Any) -> dict[str, list[Any]]:
    """The values that a document has, by the name of their field."""
    found: dict[str, list[Any]] = {}
    for parent, key, name in _places(document, ""):
        found.setdefault(name, []).append(parent[key])
    return found


def _histories(document: Any) -> Iterator[list[Any]]:
    """The histories in a document, or the one that it is."""
    if is_history(document):
        yield document
    elif isinstance(document, dict):
        yield from (each for each in document.values() if is_history(each))


def changed(document: Any, pool: dict[str, list[Any]], chance: Random) -> Any:
    """A copy with one thing changed, or a few; it differs, unless nothing can be changed.

    Args:
        document: dictionaries, lists, texts, numbers, truth values and None.
        pool: values to put in, of this document or of others (``pool_of``).
        chance: decides.
    """
    for _ in range(TRIES):
        copy = deepcopy(document)
        for _ in range(chance.choice((1, 1, 1, 2, 4))):
            _change_somewhere(copy, pool, chance)
        if copy != document:
            break
    return copy


def _change_somewhere(document: Any, pool: dict[str, list[Any]], chance: Random) -> None:
    histories = list(_histories(document))
    if histories and chance.random() < 0.6:
        change_operation(chance.choice(histories), chance)
        return
    places = list(_places(document, ""))
    if chance.random() < 0.8:
        places = [place for place in places if place[2] not in ALONE]
    if chance.random() < 0.5:
        places = [place for place in places if not isinstance(place[0][place[1]], dict)]
    if places:
        _change(chance.choice(places), pool, chance)


def _places(document: Any, name: str) -> Iterator[Place]:
    if isinstance(document, dict):
        for key, value in document.items():
            yield document, key, str(key)
            yield from _places(value, str(key))
    elif isinstance(document, list):
        for key, value in enumerate(document):
            yield document, key, f"{name}{ITEM}"
            yield from _places(value, f"{name}{ITEM}")


def _change(place: Place, pool: dict[str, list[Any]], chance: Random) -> None:
    parent, key, name = place
    value = parent[key]
    if isinstance(parent, list) and chance.random() < 0.5:
        _change_list(parent, key, chance)
    elif chance.random() < 0.6 and name in pool:
        parent[key] = deepcopy(chance.choice(pool[name]))  # grafted
    elif isinstance(value, bool):
        parent[key] = not value
    elif isinstance(value, int | float):
        parent[key] = _number(value, chance)
    elif isinstance(value, str):
        parent[key] = _text(value, pool.get(name, []), chance)
    elif isinstance(value, list) and value:
        _change_list(value, chance.randrange(len(value)), chance)
    elif isinstance(value, list) and (items := pool.get(f"{name}{ITEM}")):
        value.append(deepcopy(chance.choice(items)))
    elif isinstance(value, dict) and value and chance.random() < 0.5:
        del value[chance.choice(list(value))]
    elif isinstance(value, dict):
        name = chance.choice([each for each in pool if not each.endswith(ITEM)] or [""])
        value[name] = deepcopy(chance.choice(pool.get(name, [None])))
    else:
        parent[key] = chance.choice((*NUMBERS, *FLOATS, *WORDS, None, [], {}))


def _number(value: float, chance: Random) -> float:
    """One nearby, most often, else a far one or one with the other sign."""
    if chance.random() < 0.7:
        return chance.choice((value - 1, value + 1, value * 2, value // 2))
    return chance.choice((-value, *(NUMBERS if isinstance(value, int) else FLOATS)))


def _text(value: str, pool: list[Any], chance: Random) -> str:
    """Another of this field, most often; one with a letter less or more; else a strange one."""
    others = [each for each in pool if isinstance(each, str) and each != value]
    if others and chance.random() < 0.6:
        return chance.choice(others)
    if value and chance.random() < 0.6:
        at = chance.randrange(len(value))
        return value[:at] + value[at] * chance.choice((0, 2)) + value[at + 1 :]
    return chance.choice(WORDS)


def _change_list(items: list[Any], at: int, chance: Random) -> None:
    """Drop an item, say it twice, exchange two, move one, or turn a part of the list round."""
    other = chance.randrange(len(items))
    match chance.randrange(5):
        case 0:
            del items[at]
        case 1:
            items.insert(other, deepcopy(items[at]))
        case 2:
            items[at], items[other] = items[other], items[at]
        case 3:
            items.insert(other, items.pop(at))
        case _:
            low, high = sorted((at, min(other, at + 4)))
            items[low:high] = items[low:high][::-1]
