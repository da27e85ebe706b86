"""``rumpus run``: performs a run as the options say, judges it and reports it."""

import argparse
from dataclasses import replace

from rumpus.consoles import notices
from rumpus.interruption import Interruption
from rumpus.project_names import names_here
from rumpus.results.signed_seal import signing_key
from rumpus.runs.made_here import note_made
from rumpus.runs.performing import PreparedRun
from rumpus.runs.progress import ProgressDisplay
from rumpus.runs.run_arguments import given_options
from rumpus.runs.run_report import print_signing, report
from rumpus.runs.run_settings import RunSettings, command_line
from rumpus.trust import trust_code


def run_command(arguments: argparse.Namespace) -> int:
    """Perform ``rumpus run``; the exit code.

    Raises:
        UsageError: something asked for does not exist or cannot be done.
        UnreadableRun: the key to sign with cannot be read.
        EnvironmentRefusal, StoreError: this host does not allow it.
    """
    key = None if arguments.sign is None else signing_key(arguments.sign)
    console = notices()
    display = ProgressDisplay(console)
    given = {"argv": arguments.argv, **given_options(arguments)}
    if arguments.swarm is not None:
        given["fixed"] = tuple(given)
    names = names_here()
    for warning in names.warnings:
        display.step(f"warning: {warning}")
    settings = names.settings_of(given)
    # The command tells the project's names and defaults; and who signs is no part of the run.
    if key is not None or settings != RunSettings(**given):
        settings = replace(settings, argv=command_line(settings)[1:])
    run = PreparedRun(settings, display.step)
    trust_code(settings, display.step)
    interruption = Interruption()
    with interruption.listening(display.step):
        directory = run.perform(interrupted=interruption.requested, following=display.following)
        note_made(directory.path, display.step)
        display.step("checking")
        code = report(
            directory,
            console,
            as_json=arguments.json,
            workload=run.workload,
            promises=run.promises,
            interrupted=interruption.requested,
            key=key,
        )
        if interruption.requested():  # then it was sealed again
            note_made(directory.path, display.step)
    if key is not None:
        print_signing(directory, console)
    return code
