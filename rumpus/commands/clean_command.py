"""``rumpus clean``: removes what killed runs left, as temporary files and on the Docker engine."""

import argparse

from rumpus.consoles import answers, notices, shown
from rumpus.exit_codes import ENVIRONMENT, VALID
from rumpus.harness.scratch import find_abandoned, remove_abandoned


def clean_command(arguments: argparse.Namespace) -> int:
    """Remove the leftovers of killed runs, with ``--all`` containers of living ones, too.

    Returns:
        The exit code; 4 if something cannot be removed.

    Raises:
        EnvironmentRefusal: there is no engine, or it refuses; temporary files have been removed.
    """
    kept = False
    some = False
    for path in find_abandoned():
        some = True
        why = remove_abandoned(path)
        if why is None:
            answers().print(f"removed {shown(path)}", highlight=False, soft_wrap=True)
        else:
            kept = True
            notices().print(f"{shown(path)} stays: {why}", highlight=False, soft_wrap=True)
    some = _clean_engine(everything=arguments.all) or some
    if not some:
        answers().print("nothing was left")
    return ENVIRONMENT if kept else VALID


def _clean_engine(*, everything: bool) -> bool:
    """Remove what is left on the Docker engine; whether there was anything."""
    # The package docker may be missing, and temporary files are removed all the same.
    from rumpus.harness.docker.engine import connect, refusals  # noqa: PLC0415
    from rumpus.harness.docker.leftovers import (  # noqa: PLC0415
        find_leftovers,
        remove_leftovers,
    )

    engine = connect()
    try:
        with refusals("removing what was left"):
            found = find_leftovers(engine, everything=everything)
            remove_leftovers(found)
    finally:
        engine.close()
    for leftovers in found:
        answers().print(f"removed {leftovers}", highlight=False)
    return bool(found)
