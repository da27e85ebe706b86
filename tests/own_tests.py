"""What the test module of a family says of it, for the tests that ask of every family.

That module is ``tests/recipes/<family>/test_<family>.py``, with underscores for hyphens. It may
have

- ``LONE``: as an entry of ``tests.rumpus.lone_histories.LONE``;
- ``LONG_CALL``: an operation that ends in time, and its values, if the recipes promise that;
- ``RECOUNTS``: (check, stat) -> the count, from a run's files (``tests.recount``).
"""

from importlib import import_module
from pathlib import Path

from rumpus.workloads.registry import WORKLOADS

HERE = Path(__file__).parent


def of_families(name):
    """Family -> what its test module says by this name, of families whose module says it."""
    found = {}
    for family in WORKLOADS:
        word = family.replace("-", "_")
        if (HERE / "recipes" / word / f"test_{word}.py").exists():
            module = import_module(f"tests.recipes.{word}.test_{word}")
            if hasattr(module, name):
                found[family] = getattr(module, name)
    return found
