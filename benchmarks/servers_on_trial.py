"""What it costs to judge the servers in every run, beside the run itself.

Simulated locks under faults, of some lengths: processor time of the run with its judgement, and the
share of what concerns the servers' promises: reading and matching the record of the wire, replaying
the transactions, and the checks of events and sessions. (Recording takes 5 microseconds a request,
of 500 that a simulated one takes.)

``python -m benchmarks.servers_on_trial [--quick]``
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.table import Table

from benchmarks.command_line import Scale, run_alone
from rumpus.checker.server_promises.answers import check_server_answers
from rumpus.checker.server_promises.events import check_server_events
from rumpus.checker.server_promises.replay import conversations, replay
from rumpus.checker.server_promises.rules import check_server_rules
from rumpus.checker.server_promises.sessions import check_server_sessions
from rumpus.checker.wire.records import Event, WireRecords
from rumpus.runs.judging import collector_at_rest, judge_run
from rumpus.runs.performing import PreparedRun
from rumpus.runs.run_settings import RunSettings

LENGTHS = (10.0, 60.0, 300.0)
CHECKS = (check_server_rules, check_server_answers, check_server_events, check_server_sessions)


def spent(work: Callable[[], object]) -> float:
    """Processor seconds."""
    began = time.process_time()
    work()
    return time.process_time() - began


def shares(seconds: float, place: Path) -> tuple[float, float, int]:
    """Processor seconds of a run and its judgement, of the servers' part, and its requests."""
    settings = RunSettings(
        argv=("run", "lock"),
        workload="lock",
        ensemble="sim",
        seed=3,
        time_limit=seconds,
        preemption="blocking",
        runs=place,
    )
    began = time.process_time()
    run = PreparedRun(settings, lambda _: None)
    directory = run.perform()
    with collector_at_rest():
        _, timeline, _ = judge_run(directory, run.workload, run.promises)
        whole = time.process_time() - began
        content = directory.wire.read_bytes()
        for part in (conversations, replay):
            timeline.__dict__["_made"].pop(part)
        own = spent(lambda: WireRecords(content))
        own += spent(lambda: timeline.part(conversations)) + spent(lambda: timeline.part(replay))
        own += sum(spent(lambda check=check: check(timeline)) for check in CHECKS)  # type: ignore[misc]
    return whole, own, sum(not isinstance(each, Event) for each in timeline.wire)


def measure(scale: Scale) -> Table:
    table = Table(title="Servers on trial: a simulated lock under faults (processor)")
    for heading in ("virtual s", "requests", "run and judgement", "servers' part", "share"):
        table.add_column(heading, justify="right")
    with tempfile.TemporaryDirectory(prefix="rumpus-bench-") as name:
        for seconds in LENGTHS[: 1 if scale.quick else None]:
            whole, own, requests = shares(seconds, Path(name))
            table.add_row(
                f"{seconds:g}",
                f"{requests:,}",
                f"{whole:.2f} s",
                f"{own:.3f} s",
                f"{own / whole:.1%}",
            )
    return table


if __name__ == "__main__":
    run_alone(__doc__, measure)
