"""All benchmarks, one after the other, or those that are named.

Those that need a Docker engine are skipped, with the reason, where there is none;
RUMPUS_REQUIRE_DOCKER=1 makes that an error.
"""

import argparse
import os
import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from benchmarks import (
    campaigns,
    causes,
    check_file,
    checking,
    deciders,
    detection,
    driver,
    endurance,
    ensemble,
    final_walk,
    fingerprints,
    interpreter,
    kazoo_calls,
    links,
    lock_cycle,
    long_run,
    night_pages,
    nights,
    run_cost,
    search,
    servers_on_trial,
    shrinking,
    simulation,
    starting,
    stories,
    trends,
)
from benchmarks.command_line import Scale, add_quick_option
from rumpus.harness.docker.engine import connect
from rumpus.harness.ensemble import EnvironmentRefusal

ALL: dict[str, Callable[[Scale], Table]] = {
    "interpreter": interpreter.measure,
    "driver": driver.measure,
    "links": links.measure,
    "lock_cycle": lock_cycle.measure,
    "checking": checking.measure,
    "check_file": check_file.measure,
    "deciders": deciders.measure,
    "search": search.measure,
    "simulation": simulation.measure,
    "run_cost": run_cost.measure,
    "starting": starting.measure,
    "campaigns": campaigns.measure,
    "long_run": long_run.measure,
    "detection": detection.measure,
    "shrinking": shrinking.measure,
    "causes": causes.measure,
    "stories": stories.measure,
    "fingerprints": fingerprints.measure,
    "nights": nights.measure,
    "trends": trends.measure,
    "night_pages": night_pages.measure,
    "kazoo_calls": kazoo_calls.measure,
    "ensemble": ensemble.measure,
    "final_walk": final_walk.measure,
    "servers_on_trial": servers_on_trial.measure,
    "endurance": endurance.measure,
}
ON_DOCKER = frozenset({"lock_cycle", "ensemble", "final_walk"})


def why_no_docker() -> str | None:
    try:
        connect().close()
    except EnvironmentRefusal as refusal:
        return str(refusal)
    return None


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_quick_option(parser)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(ALL)} (default: all)"
    )
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in ALL]:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(ALL)}")
    chosen = options.names or list(ALL)
    refusal = why_no_docker() if ON_DOCKER.intersection(chosen) else None
    if refusal is not None and os.environ.get("RUMPUS_REQUIRE_DOCKER") == "1":
        parser.error(f"RUMPUS_REQUIRE_DOCKER is set, but: {refusal}")
    console = Console()
    for name in chosen:
        if refusal is not None and name in ON_DOCKER:
            console.print(f"{name}: skipped: {refusal}\n", markup=False)
            continue
        began = time.perf_counter()
        console.print(ALL[name](Scale(options.quick)))
        console.print(f"{name}: {time.perf_counter() - began:.1f} s\n", markup=False)


if __name__ == "__main__":
    main()
