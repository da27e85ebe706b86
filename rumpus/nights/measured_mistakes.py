"""How often known mistakes were found, measured: the canaries that a night can choose from."""

from typing import Final

SEEDS: Final = 20
"""How many runs each was measured in: 15 s of load, the usual faults, seeds 0 to 19."""

MEASURED: Final[tuple[tuple[str, str, int], ...]] = (("lock", "persistent-node", 20),)
"""Workload, mutant (of recipes, or of servers), and how many of these runs found it."""
