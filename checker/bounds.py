"""How short and how long anything of a run may be."""

from typing import Final

SHORTEST_S: Final = 0.001
LONGEST_S: Final = 10_000_000
