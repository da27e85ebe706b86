"""What nights cost: their scheduling, and their store: to note runs, to compare nights, in size.

- *noted*: 1,000 runs of 100 subjects put into the store, each a transaction of its own; every
  tenth shows one of 20 failures.
- *compared*: `rumpus compare last~1 last` of two nights of 200 runs of 20 subjects, in this
  process: with the store opened twice and the text made, without the start of Python.
- *a year*: three nights of 5,000 runs of 100 subjects, two of which are thinned. From the sizes of
  a full and a thinned night follows that of a year: 30 full ones, 335 thinned ones.
- *scheduling*: a night of three recipes, of 30 seconds, with all processors. The processor time of
  the thread that schedules, notes and writes, as a share of the night.

``python -m benchmarks.nights [--quick]``
"""

import functools
import io
import os
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.command_line import Scale, run_alone
from rumpus.nights.comparing.comparing import compare
from rumpus.nights.comparing.comparison_text import print_comparison
from rumpus.nights.comparing.sides import side_of
from rumpus.nights.memory.store import Store
from rumpus.nights.night_file import Job, NightFile
from rumpus.nights.performing import Order, perform_night
from rumpus.nights.planning import make_plan
from rumpus.nights.records import FailureRow, NightRow, RunRow, Subject
from rumpus.project_names import names_here
from rumpus.results.figures import FIGURES
from rumpus.results.fingerprint import Fingerprint

NOTED = 1_000
COMPARED = 200
A_NIGHT = 5_000
SUBJECTS = 100
FULL, THINNED = 30, 335
DAY = 86_400.0
SCHEDULED = ("lock", "queue", "election")

FAILURES = [
    FailureRow(workload="lock", recipe=f"recipe-{n}", fingerprint=Fingerprint(kind=f"kind-{n}"))
    for n in range(20)
]


def drawn_run(source: random.Random, number: int, subjects: int) -> RunRow:
    """A run as large as real ones are."""
    which = number % subjects
    broken = source.random() < 0.1
    failure = FAILURES[which % len(FAILURES)]
    return RunRow(
        role="run",
        subject=Subject(workload="lock", recipe=f"recipe-{which}").key,
        kind=("usual", "swarm", "short")[number % 3],
        seed=source.getrandbits(62),
        outcome="violation" if broken else "valid",
        why="two clients held the lock at the same time for 1204 ms" if broken else "",
        exit_code=int(broken),
        at=float(number),
        seconds=source.random(),
        cpu_seconds=source.random(),
        virtual_seconds=15 + source.random(),
        operations=source.randrange(1000),
        digest=f"{source.getrandbits(256):064x}",
        versions={"kazoo": "2.11.0", "python": "3.11.2", "rumpus": "0.1.0"},
        figures={name: float(f"{source.lognormvariate(2, 0.3):.6g}") for name in FIGURES},
        failures=(failure.id,) if broken else (),
        faults=("kill", "pause", "partition"),
    )


def put_night(store: Store, day: int, runs: int, subjects: int) -> float:
    """Put a night into the store; how long that took, in seconds."""
    source = random.Random(day)
    rows = [drawn_run(source, number, subjects) for number in range(runs)]
    name = store.new_name(f"day-{day}")
    began = time.perf_counter()
    store.begin_night(NightRow(name=name, began=day * DAY))
    for failure in FAILURES:
        store.note_failure(failure)
    for row in rows:
        store.note_run(name, row)
    return time.perf_counter() - began


@contextmanager
def emptied() -> Iterator[Path]:
    """The path of a store that does not exist yet."""
    with tempfile.TemporaryDirectory(prefix="rumpus-bench-") as place:
        yield Path(place) / "nights.sqlite"


def noted(runs: int) -> float:
    """Seconds that it takes to note so many runs."""
    with emptied() as path, Store.opened(path, write=True) as store:
        return put_night(store, 1, runs, SUBJECTS)


def compared(runs: int) -> float:
    """Seconds that it takes to compare two nights."""
    with emptied() as path:
        with Store.opened(path, write=True) as store:
            for day in (1, 2):
                put_night(store, day, runs, 20)
        opened = functools.partial(Store.opened, path)
        began = time.perf_counter()
        found = compare(side_of("last~1", opened), side_of("last", opened))
        print_comparison(found, Console(file=io.StringIO(), width=160))
        return time.perf_counter() - began


def sizes(runs: int) -> tuple[float, float]:
    """Bytes of a night with all of its rows, and of a thinned one."""
    with emptied() as path:
        found = []
        for day in (1, 2, 3):
            with Store.opened(path, write=True) as store:
                put_night(store, day, runs, SUBJECTS)
            found.append(path.stat().st_size)
        with Store.opened(path, write=True) as store:
            store.thin(keep=1)
        full = (found[2] - found[0]) / 2
        return full, (path.stat().st_size - full) / 2


def scheduling(seconds: float) -> float:
    """The share of a night in which its own thread was busy."""
    file = NightFile(budget=seconds, jobs=(Job(workloads=SCHEDULED, recipes="built-in"),))
    began = time.time()
    night = NightRow(name="night", began=began, budget=seconds, asked={})
    with emptied() as path, Store.opened(path, write=True) as store:
        store.begin_night(night)
        plan = make_plan(
            file,
            path,
            names_here(),
            past={},
            last=(),
            random=random.Random(0),
            why_no_engine=None,
        )
        order = Order(
            plan=plan,
            night=night,
            store=store,
            directory=path.parent,
            jobs=len(os.sched_getaffinity(0)),
            dask=None,
            say=lambda _: None,
            show=lambda _: None,
        )
        spent, clock = time.thread_time(), time.monotonic()
        document = perform_night(order)
        share = (time.thread_time() - spent) / (time.monotonic() - clock)
        if not document.runs:
            raise RuntimeError("the night has performed nothing")
        return share


def measure(scale: Scale) -> Table:
    """The table of all of them."""
    table = Table("store of nights", "measured", "target", title="nights")
    runs = scale.count(NOTED)
    seconds = noted(runs)
    table.add_row(f"{runs} runs noted", f"{seconds:.2f} s", "5 s for 1000")
    runs = scale.count(COMPARED)
    seconds = min(compared(runs) for _ in range(scale.rounds(3)))
    table.add_row(f"two nights of {runs} runs compared", f"{seconds:.2f} s", "2 s for 200")
    runs = scale.count(A_NIGHT)
    full, thinned = sizes(runs)
    table.add_row(f"a night of {runs} runs", f"{full / 1e6:.2f} MB", "")
    table.add_row("the same, thinned", f"{thinned / 1e6:.2f} MB", "")
    year = (FULL * full + THINNED * thinned) / 1e6
    table.add_row(f"a year of nights of {runs} runs", f"{year:.0f} MB", "2000 MB for 5000")
    seconds = 30.0 if scale.count(NOTED) == NOTED else 5.0
    table.add_row(f"scheduling of {seconds:g} s", f"{scheduling(seconds):.2%}", "2 %")
    return table


if __name__ == "__main__":
    run_alone(__doc__, measure)
