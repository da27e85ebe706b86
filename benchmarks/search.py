"""How long the general search takes, against the classic one in Python in the same run.

Measured is from a table in memory to the verdict, preparation and longest prefix included; "with
witness" also finds the minimal witness. Each figure is the best of several rounds of the
process's own time. etcd: the 50 histories that Porcupine ships, one after the other (made-up ones
of their shape where they are not at hand). kv append: strings of 10 keys, 6 % puts; 10 clients with
370 operations by the search, as in the logs at hand, and 50 clients with 250 to 10,000 by what
decides the model "append", half of them with a violation; repeated: each client writes the same 12
pieces in each round, as Porcupine's do. hard: 1,000 operations of 8 clients on a cas register, 45
of unknown outcome, 20 values, a violation at the end; ten seeds.

``python -m benchmarks.search [--quick]``
"""

import gc
import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np
from rich.table import Table

from benchmarks.classic_search import linearizable
from benchmarks.command_line import Scale, run_alone
from benchmarks.search_histories import appends, etcd, register
from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.decision import Budget
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.checker.deciders.registry import MODELS
from rumpus.checker.linearizability.search import Backend, C, check_linearizable
from rumpus.checker.models.append import AppendRegister
from rumpus.checker.models.model import Model
from rumpus.checker.models.register import CasRegister

BACKENDS: tuple[Backend, ...] = ("python", "c") if C else ("python",)
ROUND = 12
"""How many pieces a client writes in a round of Porcupine's logs."""
Histories = Sequence[tuple[OperationTable, bool | None]]


def rounds(
    histories: Histories, verdict: Callable[[OperationTable], object], count: int
) -> list[float]:
    """For each history the best of so many rounds, in milliseconds."""
    best = [float("inf")] * len(histories)
    for _ in range(count):
        gc.collect()
        for number, (table, expected) in enumerate(histories):
            began = time.process_time()
            found = verdict(table)
            took = time.process_time() - began
            if expected is not None and found is not expected:
                raise AssertionError(f"history {number}: {found}, and not {expected}")
            best[number] = min(best[number], took * 1e3)
    return best


def windowed(
    model: Callable[[], Model], backend: Backend, *, explain: bool
) -> Callable[[OperationTable], object]:
    """The search with one new model for each round of histories."""
    kept = model()

    def verdict(table: OperationTable) -> object:
        return check_linearizable(kept, table, Budget(), backend=backend, explain=explain).valid

    return verdict


def classic(model: Model) -> Callable[[OperationTable], object]:
    def verdict(table: OperationTable) -> object:
        keys = table.fields.get("key")
        if keys is None:
            return linearizable(model, table)
        parts = (table.take(keys.numbers == key) for key in np.unique(keys.numbers))
        return all(linearizable(model, part) for part in parts)

    return verdict


def measure(scale: Scale) -> Table:
    table = Table(title="General search")
    for heading in (
        "histories",
        "search",
        "ms in all",
        "median",
        "worst",
        "classic / this",
        "target",
    ):
        table.add_column(heading, justify="left" if heading in {"histories", "search"} else "right")
    logs = etcd(5 if scale.quick else 50)
    small = [
        (appends(1, 370, 10, 10, spoilt=False), True),
        (appends(2, 370, 10, 10, spoilt=True), False),
    ]
    length = 200 if scale.quick else 1000
    hard = [
        (register(seed, length, 8, length * 45 // 1000, 20, spoilt=True), False)
        for seed in range(scale.count(10))
    ]
    for name, histories, model, target in (
        (f"etcd, {len(logs)}", logs, CasRegister, "30, c 5"),
        ("kv append, 10 clients", small, AppendRegister, ""),
    ):
        baseline = rounds(histories, classic(model()), 1)
        _row(table, name, "classic", baseline, baseline, "")
        for backend in BACKENDS:
            for explain in (False, True) if name.startswith("etcd") else (False,):
                verdict = windowed(model, backend, explain=explain)
                took = rounds(histories, verdict, scale.rounds(5))
                label = backend + (", with witness" if explain else "")
                _row(table, name, label, took, baseline, "" if explain else target)
    for backend in BACKENDS:
        took = rounds(hard, windowed(CasRegister, backend, explain=False), 1)
        _row(table, "hard", backend, took, [], "1,000 each")
    took = rounds(hard, windowed(CasRegister, "auto", explain=True), 1)
    _row(table, "hard", f"{BACKENDS[-1]}, with witness", took, [], "")
    for round_length, kind in ((None, ""), (ROUND, ", repeated")):
        for operations in (250, 2_500) if scale.quick else (250, 500, 1_000, 2_500, 5_000, 10_000):
            histories = [
                (appends(seed, operations, 50, 10, spoilt=spoilt, round_length=round_length), valid)
                for seed, spoilt, valid in ((1, False, True), (2, True, False))
            ]
            took = rounds(histories, _by_appends, scale.rounds(5))
            name = f"kv append, 50 clients, {operations:,}{kind}"
            _row(table, name, "model append", took, [], "10 each" if operations == 2_500 else "")
    return table


def _by_appends(table: OperationTable) -> object:
    return decide(MODELS["append"], table).valid


def _row(
    table: Table,
    name: str,
    search: str,
    took: list[float],
    baseline: list[float],
    target: str,
) -> None:
    total = sum(took)
    ratio = f"{sum(baseline) / total:,.0f}" if baseline else ""
    figures = (total, statistics.median(took), max(took))
    table.add_row(name, search, *(f"{figure:,.3f}" for figure in figures), ratio, target)


if __name__ == "__main__":
    run_alone(__doc__, measure)
