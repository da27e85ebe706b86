"""Many seeds of one workload in the simulation, each judged and performed twice.

``python -m tests.harness.seeds --workload lock --recipe fair --seeds 2000`` draws the number of
servers and some kinds of fault for every seed, and performs each run twice, in real processes. It
prints a line for all that is not valid, then a table. Exit code 1: a violation, a hang, an error or
a seed whose two passes differ.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rumpus.nemesis.registry import SOUND
from tests.harness.simulated_runs import SimulatedRuns


@dataclass(frozen=True)
class Task:
    seed: int
    workload: str
    recipe: str
    seconds: float
    kinds: tuple[str, ...]
    nodes: int


@dataclass(frozen=True)
class Told:
    outcome: str
    words: str
    digest: str
    cpu: float


def task_of(seed, options):
    draw = random.Random(f"{options.workload} {seed}")
    kinds = tuple(sorted(draw.sample(SOUND, draw.randint(1, options.most_kinds))))
    return Task(
        seed, options.workload, options.recipe, options.seconds, kinds, draw.choice((3, 3, 5))
    )


def perform(task):
    """Outcome, what was found, and the digest of one run; whatever it raises is an outcome."""
    began = time.process_time()
    with tempfile.TemporaryDirectory() as place:
        try:
            simulated, _, verdict = SimulatedRuns(Path(place))(
                task.seed,
                workload=task.workload,
                recipe=task.recipe,
                seconds=task.seconds,
                kinds=task.kinds,
                nodes=task.nodes,
            )
        except Exception as error:
            words = str(error)[:3000]
            return Told(f"error: {type(error).__name__}", words, words, time.process_time() - began)
    found = [a.kind for a in verdict.anomalies if a.promised] or verdict.reasons
    spent = time.process_time() - began
    return Told(verdict.outcome, "; ".join(found), simulated.digest, spent)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", default="lock")
    parser.add_argument("--recipe", default="fair")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=16.0, help="of load, virtual")
    parser.add_argument("--most-kinds", type=int, default=3)
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    tasks = [task_of(options.first + n, options) for n in range(options.seeds)]
    outcomes, kinds, cpu, bad = Counter(), Counter(), 0.0, 0
    began = time.monotonic()
    with ProcessPoolExecutor(options.processes, max_tasks_per_child=None) as pool:
        # The passes of a seed lie far apart, in processes that have done other runs meanwhile.
        passes = [pool.map(perform, tasks, chunksize=4) for _ in range(options.passes)]
        first = list(passes[0])
        for task, told in zip(tasks, first, strict=True):
            outcomes[told.outcome] += 1
            kinds.update(task.kinds)
            cpu += told.cpu
            if told.outcome != "valid":
                print(f"seed {task.seed}: {told.outcome}: {told.words}  ({task})", flush=True)
            bad += told.outcome == "violation" or told.outcome.startswith("error")
        for again in passes[1:]:
            for task, one, other in zip(tasks, first, again, strict=True):
                if (one.outcome, one.digest) != (other.outcome, other.digest):
                    bad += 1
                    print(f"seed {task.seed} differs: {one} {other} ({task})", flush=True)
    print(f"{options.workload} / {options.recipe}: {options.seeds} seeds, {options.passes} passes")
    print(f"outcomes: {dict(outcomes)}; bad: {bad}")
    print(f"faults: {dict(sorted(kinds.items()))}")
    wall = time.monotonic() - began
    print(f"{cpu / options.seeds:.2f} CPU s a run, {wall:.0f} s in all")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
