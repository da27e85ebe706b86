"""Which public methods of kazoo's recipes are called by what is put on trial here, and by what.

Of each family kazoo's classes as they are and behind our adapters, in a short simulated run whose
clients call all that their recipe has. What nobody calls stands first: no flaw of it can be seen. A
profiler notes the calls.

``python -m benchmarks.kazoo_calls [--quick]``
"""

import importlib
import inspect
import pkgutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Final

import kazoo.recipe
from rich.table import Table

import rumpus
from benchmarks.command_line import Scale, run_alone
from rumpus.recipes.catalogue_entry import CatalogueEntry
from rumpus.workloads.registry import WORKLOADS

LOAD_S: Final = 4.0
LOADS_S: Final[Mapping[str, float]] = {"counter": 8.0}
"""Families in which not all is called in that time: its clients take from the third counter on."""

SPECIAL: Final = frozenset(
    f"__{name}__" for name in ("add", "bool", "call", "enter", "exit", "iter", "len", "sub")
)
"""Methods with underlines that a program calls all the same."""

USAGE: Final = "asks=0.2,batches=0.5,cancels=0.3"
"""Calls that the scripts of the families do without."""

FOLDER: Final = str(Path(kazoo.recipe.__path__[0]))

Trial = tuple[str, str]
"""A workload and a recipe."""


def trials() -> Iterator[Trial]:
    """What of kazoo's is put on trial."""
    for family, workload in WORKLOADS.items():
        for name, entry in workload.catalogue.items():
            if name.startswith("kazoo") and not (
                isinstance(entry, CatalogueEntry) and entry.faulty
            ):
                yield family, name
        yield from ((family, reference) for reference in workload.of_kazoo)


def methods() -> list[str]:
    """All public methods of kazoo's recipes, as ``lock.Lock.acquire``."""
    found = []
    for each in pkgutil.iter_modules(kazoo.recipe.__path__):
        module = importlib.import_module(f"kazoo.recipe.{each.name}")
        for owner in vars(module).values():
            if not inspect.isclass(owner) or owner.__module__ != module.__name__:
                continue
            for name, value in vars(owner).items():
                function = value.fget if isinstance(value, property) else value
                function = getattr(function, "__func__", function)
                public = not name.startswith("_") or name in SPECIAL
                if inspect.isfunction(function) and public and not owner.__name__.startswith("_"):
                    found.append(f"{each.name}.{function.__qualname__}")
    return found


def called_by(tried: Sequence[Trial]) -> Mapping[str, set[Trial]]:
    """Method -> the trials that have called it."""
    found: dict[str, set[Trial]] = defaultdict(set)

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(FOLDER):
            module = Path(code.co_filename).stem
            # 3.10 has no qualified names of code.
            found[f"{module}.{getattr(code, 'co_qualname', code.co_name)}"].add(now)

    for now in tried:
        with tempfile.TemporaryDirectory() as runs:
            sys.setprofile(note)
            try:
                rumpus.run(
                    now[0],
                    recipe=now[1],
                    seed=1,
                    ensemble="sim",
                    runs=runs,
                    time_limit=LOADS_S.get(now[0], LOAD_S),
                    nemesis=["client-pause"],
                    clients=3,
                    usage=USAGE,
                )
            finally:
                sys.setprofile(None)
    return found


def measure(scale: Scale) -> Table:
    known = list(trials())
    called = called_by(known[: scale.rounds(len(known))])
    table = Table("method of kazoo.recipe", "called by")
    for method in sorted(methods(), key=lambda each: (each in called, each)):
        by = sorted(f"{family} / {recipe}" for family, recipe in called.get(method, ()))
        more = f" and {len(by) - 1} more" if len(by) > 1 else ""
        table.add_row(method, f"{by[0]}{more}" if by else "nobody")
    return table


if __name__ == "__main__":
    run_alone(__doc__, measure)
