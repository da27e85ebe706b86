"""All benchmarks, one after the other: ``python -m benchmarks [--quick]``."""

import argparse

from rich.console import Console

from benchmarks import (
    check_file,
    checking,
    deciders,
    driver,
    endurance,
    ensemble,
    interpreter,
    links,
    lock_cycle,
    search,
    simulation,
)
from benchmarks.command_line import Scale

ALL = (
    interpreter,
    driver,
    links,
    lock_cycle,
    checking,
    check_file,
    deciders,
    search,
    simulation,
    ensemble,
    endurance,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short versions")
    scale = Scale(parser.parse_args().quick)
    console = Console()
    for benchmark in ALL:
        console.print(benchmark.measure(scale))


if __name__ == "__main__":
    main()
