"""The iteration order of Java's ``HashSet`` of strings.

A real server answers with children in this order. It is not sorted, so programs that rely on a
sorted order fail here as well.
"""

from collections.abc import Iterable
from functools import lru_cache


@lru_cache(maxsize=4096)  # every server lists the same names again and again
def hash_code(text: str) -> int:
    """The hash that ``HashMap`` uses: ``String.hashCode``, spread; 32 bits, unsigned."""
    code = 0
    for character in text:
        code = code * 31 + ord(character) & 0xFFFFFFFF
    return code ^ code >> 16


def grown_capacity(most: int, smallest: int = 16) -> int:
    """Buckets of a set that has had at most ``most`` elements: doubled at a load of 3/4."""
    capacity = smallest
    while most * 4 > capacity * 3:
        capacity *= 2
    return capacity


def copied_capacity(count: int) -> int:
    """Buckets of a copy of a set with ``count`` elements."""
    wanted = int(count / 0.75 + 1)
    return 1 << (wanted - 1).bit_length()


def in_hash_order(texts: Iterable[str], capacity: int) -> list[str]:
    """The elements in iteration order; ``texts`` has them in the order of insertion."""
    ordered = list(texts)
    if len(ordered) < 2:
        return ordered
    mask = capacity - 1
    return sorted(ordered, key=lambda text: hash_code(text) & mask)
