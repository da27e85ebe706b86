"""Which seeds a part of an exploration takes."""

import re
from dataclasses import dataclass

MOST_PARTS = 1_000_000


@dataclass(frozen=True)
class Shard:
    """A part of an exploration: the seeds that another one leaves to it.

    Attributes:
        index: which part, from 0.
        of: how many there are.
    """

    index: int = 0
    of: int = 1

    def has(self, seed: int) -> bool:
        """Whether a seed belongs to the part. Seeds go in threes: there are three kinds of run."""
        return seed // 3 % self.of == self.index

    def __str__(self) -> str:
        """As on the command line."""
        return f"{self.index}/{self.of}"


def shard_of(text: str) -> Shard:
    """A part by its words on the command line.

    Raises:
        ValueError: they name none.
    """
    found = re.fullmatch(r"(\d{1,7})/(\d{1,7})", text)
    if found is None or not int(found[1]) < int(found[2]) <= MOST_PARTS:
        raise ValueError(f"{text!r} is not one of 0/N, 1/N, ... of N parts")
    return Shard(int(found[1]), int(found[2]))
