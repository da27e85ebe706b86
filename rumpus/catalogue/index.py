"""What rumpus has, read from ``index.json``: nothing of it need be imported to be listed.

The file is made from the declarations (``declared``) by ``python -m docs.generators.index_file``.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

FILE: Final = Path(__file__).with_name("index.json")


class Recipes(NamedTuple):
    """The names of a workload's recipes: those without a known mistake, and those with one."""

    sound: list[str]
    mutants: list[str]


@cache
def index() -> dict[str, Any]:
    """All that the file has. It is read once, so nobody may change it."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def recipes() -> dict[str, Recipes]:
    """The recipes on ZooKeeper of every workload, in the order of its catalogue."""
    return {
        workload["name"]: Recipes(
            [each["name"] for each in workload["recipes"] if not each["faulty"]],
            [each["name"] for each in workload["recipes"] if each["faulty"]],
        )
        for workload in index()["workloads"]
    }
