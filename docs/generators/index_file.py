"""Makes ``rumpus/catalogue/index.json``, which ``rumpus list`` prints, from the declarations.

``python -m docs.generators.index_file`` writes the file.
"""

import json
from typing import Any

from rumpus.catalogue.declared import declared
from rumpus.catalogue.index import FILE

_DEEPEST = 3
"""Where recipes begin: below the document, the list of workloads, and a workload."""


def index_file() -> str:
    """The contents of the file: a recipe, a fault or a mutant a line, so that changes are seen."""
    return _lines(declared(), 0) + "\n"


def _lines(value: Any, depth: int) -> str:
    """A value as JSON, spread over lines if it is, or has, something with several values."""
    margin = " " * depth
    if isinstance(value, dict) and depth < _DEEPEST and not _is_flat(value):
        within = [f"{json.dumps(key)}: {_lines(each, depth + 1)}" for key, each in value.items()]
    elif isinstance(value, list) and not _is_flat(dict(enumerate(value))):
        within = [_lines(each, depth + 1) for each in value]
    else:
        return json.dumps(value, ensure_ascii=False)
    first, last = "{}" if isinstance(value, dict) else "[]"
    return f"{first}\n{margin} " + f",\n{margin} ".join(within) + f"\n{margin}{last}"


def _is_flat(values: dict[Any, Any]) -> bool:
    return not any(isinstance(each, dict | list) for each in values.values())


if __name__ == "__main__":
    FILE.write_text(index_file(), encoding="utf-8")
