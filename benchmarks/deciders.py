"""How the time to decide a model's history grows with its length, and how much memory it takes.

Measured is `checker.deciders.decide.decide` on a valid history, from columns in memory to the
answer: the best of several rounds, and in brackets by how much it grows when the history's length
doubles, from the column before to this one (at most 2.2 is asked for). Memory is that of the
columns and the most that Python and numpy held on top, for the longest history.

``python -m benchmarks.deciders [--quick] [CASE ...]``
"""

import argparse
import gc
import math
import time
import tracemalloc
from collections.abc import Collection

from rich.console import Console
from rich.table import Table

from benchmarks.command_line import Scale, add_quick_option
from benchmarks.decider_cases import exclusion, queues, registers, tokens
from benchmarks.decider_cases.case import Case
from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.checker.deciders.registry import MODELS

CASES: dict[str, Case] = {
    **exclusion.CASES,
    **queues.CASES,
    **registers.CASES,
    **tokens.CASES,
}
SIZES = (10**4, 10**5, 10**6, 10**7)
ENOUGH_S = 1.0


def seconds(case: Case, history: OperationTable, enough_s: float) -> float:
    """The best of several rounds, repeated for about ``enough_s`` seconds."""
    spent: list[float] = []
    gc.collect()
    while len(spent) < 3 or (sum(spent) < enough_s and len(spent) < 50):
        began = time.perf_counter()
        decision = decide(MODELS[case.model], history, case.initial)
        spent.append(time.perf_counter() - began)
        if decision.valid is not True:
            raise AssertionError(f"{decision.valid}: {decision.witness or decision.unknown}")
    return min(spent)


def megabytes(case: Case, history: OperationTable) -> float:
    """Of the columns, and at most on top while deciding."""
    values = [history.argument, history.result, *history.fields.values()]
    nbytes = sum(value.numbers.nbytes for value in values)
    nbytes += history.f.nbytes + history.outcome.nbytes + history.process.nbytes
    nbytes += history.call.nbytes + history.returned.nbytes + history.refused.nbytes
    nbytes += history.index.nbytes + history.completion.nbytes
    tracemalloc.start()
    decide(MODELS[case.model], history, case.initial)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (nbytes + most) / 1e6


def measure(scale: Scale, names: Collection[str] = ()) -> Table:
    table = Table(title="Deciding a model's history: ms (growth a doubling)")
    table.add_column("history")
    for size in SIZES:
        table.add_column(f"{size:.0e}".replace("e+0", "e"), justify="right")
    table.add_column("target at 1e6", justify="right")
    table.add_column("MB, longest", justify="right")
    for name, case in CASES.items():
        if names and name not in names:
            continue
        cells: list[str] = []
        before = memory = None
        for size in SIZES:
            if size > (SIZES[0] if scale.quick else case.largest):
                cells.append("")
                continue
            history = case.build(size)
            took = seconds(case, history, scale.seconds(ENOUGH_S)) / len(history) * size
            growth = f" ({(took / before) ** math.log10(2):.2f})" if before else ""
            cells.append(f"{took * 1e3:.1f}{growth}")
            before = took
            if size == min(case.largest, 10**6) or size == case.largest:
                memory = megabytes(case, history)
        target = f"{case.target * 1e3:.0f}" if case.target else ""
        table.add_row(name, *cells, target, f"{memory:.0f}" if memory else "")
    return table


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_quick_option(parser)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    options = parser.parse_args()
    if unknown := set(options.cases) - set(CASES):
        parser.error(f"no case {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    Console().print(measure(Scale(options.quick), options.cases))
