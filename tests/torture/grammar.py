"""Documents that are changed after they were read: plain data, by type, and written again.

What results is still JSON, TOML or EDN, and most of it is still such a document. So it gets past
its reader, to what follows.
"""

from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

NUMBERS = (0, 1, -1, 2, 9, 10, 1 << 31, 1 << 53, (1 << 63) - 1, -(1 << 63), 10**30)
FLOATS = (0.0, -0.0, 0.5, 1e-9, 1e9, 1e300)
WORDS = ("", "ok", "null", "0", "n1", "c1", "x" * 300, "\x1b[2J", "\u202e", "a/../b", "9" * 40)

Place = tuple[Any, Any, str]
"""A dictionary or a list, a key of it, and the name of the nearest field around it."""


def pool_of(document: Any) -> dict[str, list[Any]]:
    """The values that a document has, by the name of their field."""
    found: dict[str, list[Any]] = {}
    for parent, key, name in _places(document, ""):
        found.setdefault(name, []).append(parent[key])
    return found


def changed(document: Any, pool: dict[str, list[Any]], chance: Random) -> Any:
    """A copy with one thing changed, or a few.

    Args:
        document: dictionaries, lists, texts, numbers, truth values and None.
        pool: values to put in, of this document or of others (``pool_of``).
        chance: decides.
    """
    copy = deepcopy(document)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        places = list(_places(copy, ""))
        if places:
            _change(chance.choice(places), pool, chance)
    return copy


def _places(document: Any, name: str) -> Iterator[Place]:
    if isinstance(document, dict):
        for key, value in document.items():
            yield document, key, str(key)
            yield from _places(value, str(key))
    elif isinstance(document, list):
        for key, value in enumerate(document):
            yield document, key, name
            yield from _places(value, name)


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
        far = NUMBERS if isinstance(value, int) else FLOATS
        nearby = value + chance.choice((-1, 1)), -value, value * 2
        parent[key] = chance.choice(nearby if chance.random() < 0.6 else far)
    elif isinstance(value, str):
        words = [each for each in pool.get(name, ()) if isinstance(each, str)]
        parent[key] = chance.choice([*words[:50], *WORDS])
    elif isinstance(value, list) and value:
        _change_list(value, chance.randrange(len(value)), chance)
    elif isinstance(value, dict) and value and chance.random() < 0.5:
        del value[chance.choice(list(value))]
    elif isinstance(value, dict):
        name = chance.choice(list(pool))
        value[name] = deepcopy(chance.choice(pool[name]))
    else:
        parent[key] = chance.choice((*NUMBERS, *FLOATS, *WORDS, None, [], {}))


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
