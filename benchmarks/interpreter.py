"""How many operations a second the interpreter alone can decide on, with no-op workers.

An operation is a dispatch, the observation of its call, and that of its completion. The
generator is that of a lock workload: every process cycles through acquire and release under a
time limit, while the nemesis starts and stops faults. Time is virtual: every call and return
takes 1 µs; all that is open is completed whenever nobody is free.

``python -m benchmarks.interpreter [--quick]``
"""

import time

from rich.table import Table

from benchmarks.command_line import Scale, run_alone
from rumpus.checker.history import Op, OpType
from rumpus.harness.generators.combinators import (
    any_of,
    cycle,
    each_process,
    on_clients,
    on_nemesis,
    sequence,
    sleep,
    time_limit,
)
from rumpus.harness.generators.generator import Generator, Invocation
from rumpus.harness.generators.interpreter import Dispatch, Interpreter, Wait

OPERATIONS = 100_000
ROUNDS = 3
TARGET = 20_000


def lock_workload() -> Generator:
    acquire_release = sequence(Invocation("acquire"), Invocation("release"))
    fault = sequence(sleep(0.01), Invocation("start"), sleep(0.01), Invocation("stop"))
    return time_limit(
        3600, any_of(on_clients(each_process(cycle(acquire_release))), on_nemesis(cycle(fault)))
    )


def run(clients: int, operations: int) -> int:
    """Run so many operations; returns how many of them were the nemesis's."""
    interpreter = Interpreter(lock_workload(), clients=clients, cleanup={"acquire": "release"})
    now = 0
    completed = faults = 0
    open_operations: list[Dispatch] = []
    while completed < operations:
        now += 1_000
        step = interpreter.poll(now)
        if isinstance(step, Dispatch):
            interpreter.observe(Op(time=now, process=step.process, type="invoke", f=step.f))
            open_operations.append(step)
            continue
        assert isinstance(step, Wait), "the generator has no end within the time limit"
        if not open_operations:
            assert step.until is not None
            now = step.until
        for dispatch in open_operations:
            now += 1_000
            outcome: OpType = "ok" if isinstance(dispatch.process, int) else "info"
            interpreter.observe(Op(time=now, process=dispatch.process, type=outcome, f=dispatch.f))
            completed += 1
            faults += dispatch.thread == "nemesis"
        open_operations.clear()
    return faults


def measure(scale: Scale) -> Table:
    operations = scale.count(OPERATIONS)
    table = Table(title=f"Interpreter with no-op workers, target {TARGET:,} operations/s")
    for heading in ("clients", "operations", "nemesis's", "operations/s", "µs/operation"):
        table.add_column(heading, justify="right")
    for clients in (1, 5, 20, 100):
        fastest = float("inf")
        faults = 0
        for _ in range(scale.rounds(ROUNDS)):
            begin = time.perf_counter()
            faults = run(clients, operations)
            fastest = min(fastest, time.perf_counter() - begin)
        table.add_row(
            f"{clients}",
            f"{operations:,}",
            f"{faults:,}",
            f"{operations / fastest:,.0f}",
            f"{fastest / operations * 1e6:.1f}",
        )
    return table


if __name__ == "__main__":
    run_alone(__doc__, measure)
