"""The order in which Java's ``HashSet`` of strings is walked.

Clients must not rely on the order of children, so it had better not be a helpful one: this is
what a real server answers.
"""

from collections.abc import Iterable
from functools import lru_cache


@lru_cache(maxsize=4096)  # contenders' names are listed again and again, by every server
def hash_code(text: str) -> int:
    """``String.hashCode`` with its upper half mixed in, as ``HashMap`` does; 32 bits, unsigned."""
    code = 0
    for character in text:
        code = code * 31 + ord(character) & 0xFFFFFFFF
    return code ^ code >> 16


def grown_capacity(most: int, smallest: int = 16) -> int:
    """How many buckets a set has that held at most so many elements: it grows at 3/4, by 2."""
    capacity = smallest
    while most * 4 > capacity * 3:
        capacity *= 2
    return capacity


def copied_capacity(count: int) -> int:
    """How many buckets the copy of a set with so many elements has."""
    wanted = int(count / 0.75 + 1)
    return 1 << (wanted - 1).bit_length()


def in_hash_order(texts: Iterable[str], capacity: int) -> list[str]:
    """The elements, given in the order in which they were added, as a set walks them."""
    ordered = list(texts)
    if len(ordered) < 2:
        return ordered
    mask = capacity - 1
    return sorted(ordered, key=lambda text: hash_code(text) & mask)
