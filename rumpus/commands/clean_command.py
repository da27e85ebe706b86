"""``rumpus clean``: removes what killed runs left on the Docker engine."""

import argparse

from rumpus.consoles import answers
from rumpus.harness.docker.engine import connect, refusals
from rumpus.harness.docker.leftovers import find_leftovers, remove_leftovers


def clean_command(arguments: argparse.Namespace) -> int:
    """Remove the leftovers of killed runs, with ``--all`` also those of living ones; the exit code.

    Raises:
        EnvironmentRefusal: there is no engine, or it refuses.
    """
    console = answers()
    engine = connect()
    try:
        with refusals("removing what was left"):
            found = find_leftovers(engine, everything=arguments.all)
            remove_leftovers(found)
    finally:
        engine.close()
    for leftovers in found:
        console.print(f"removed {leftovers}", highlight=False)
    if not found:
        console.print("nothing was left")
    return 0
