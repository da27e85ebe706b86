"""``rumpus check``: judges a run, or a history alone, again from disk."""

import argparse
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from rumpus.check_model import refuse_without_model
from rumpus.checker.verdict import Verdict
from rumpus.consoles import notices, print_json
from rumpus.harness.run_limits import RUN_S
from rumpus.project_names import names_here
from rumpus.recipes.promises import Promises
from rumpus.results.formats.history_formats import detect_format
from rumpus.results.reports.terminal import print_verdict
from rumpus.results.results_document import results_document
from rumpus.results.run_directory import RunDirectory, open_run
from rumpus.results.seal import SEAL
from rumpus.results.signed_seal import public_key, require, signing_key
from rumpus.results.store_error import UnreadableRun
from rumpus.runs.judging import collector_at_rest, weigh_doubt
from rumpus.runs.lone_history import ANY, judge_history, trusted_workload
from rumpus.runs.made_here import ALONE, MADE_HERE, STRANGE, is_made_here, note_made
from rumpus.runs.run_report import print_signing, report
from rumpus.usage_error import UsageError
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.own.references import is_reference
from rumpus.workloads.registry import WORKLOADS


def check_command(arguments: argparse.Namespace) -> int:
    """Judge again and, for a run, write its results anew; the exit code.

    Raises:
        UnreadableRun: there is no run or history, or it is malformed.
        UsageError: the options do not fit, or only a model can judge a history in this format.
    """
    for option in ("initial", "svg"):
        if getattr(arguments, option) is not None:
            raise UsageError(f"--{option} requires --model")
    if arguments.budget is not None and not arguments.perform:
        raise UsageError("--budget requires --model, or --perform")
    console = notices()
    run = open_run(arguments.path)
    if not run.bare:
        if arguments.require:
            require(run.path, [public_key(each) for each in arguments.require])
        _refuse_without_description(run)
        return _check_run(run, arguments, console)
    if arguments.perform:
        raise UsageError(f"{arguments.path}: a history alone cannot be performed again")
    _refuse_signatures(arguments)
    _refuse_strangers(run, arguments.format)
    with collector_at_rest():
        names = names_here()
        own = None if arguments.workload is None else names.workload(arguments.workload)
        record, timeline, verdict = judge_history(run, own, arguments.recipe)
        if verdict.outcome == "valid" and not arguments.believe:
            weigh_doubt(verdict, ALONE)
        results = results_document(run.history, record, timeline, verdict)
    of_whom = "any of its recipes" if record.recipe == ANY else f"its recipe {record.recipe}"
    console.print(
        Text(
            f"a history alone, of {record.workload}: held to what {of_whom} promises"
            + (" (--recipe NAME for that of one)" if record.recipe == ANY else "")
        ),
        soft_wrap=True,
    )
    print_verdict(console, record, timeline.history, verdict, results)
    if arguments.json:
        print_json(results.to_json())
    return verdict.exit_code


def _check_run(run: RunDirectory, arguments: argparse.Namespace, console: Console) -> int:
    """Judge a run, after performing it again if that is asked for; sign it likewise."""
    key = None if arguments.sign is None else signing_key(arguments.sign)
    workload = _own_workload(run, arguments)
    own, promises = _own_code(run, arguments)
    again = None
    if arguments.perform:
        from rumpus.campaigns.performed_again import perform_again  # noqa: PLC0415 - slow to import
        from rumpus.campaigns.run_cases import judged_again  # noqa: PLC0415 - slow to import

        _, was = judged_again(run.path, trust=arguments.trust)
        again = perform_again(run.path, was, arguments.budget or RUN_S)

    if arguments.believe and (again is None or again.same):
        note_made(run.path)
    known = bool(arguments.require) or is_made_here(run.path)

    def weigh(verdict: Verdict) -> None:
        if again is not None and again.same:
            verdict.notes.append(again.words)
        elif again is not None:
            weigh_doubt(verdict, again.words)
        elif verdict.outcome == "valid" and not known:
            weigh_doubt(verdict, STRANGE)

    code = report(
        run,
        console,
        as_json=arguments.json,
        workload=workload or own,
        promises=promises,
        only_sealed=bool(arguments.require),
        weigh=weigh,
        key=key if again is None or again.same else None,
    )
    print_signing(run, console)
    if key is not None and again is not None and not again.same:
        console.print(Text("not signed, since it was another run", style="yellow"))
    console.print(Text(f"evidence:   {_evidence(run, arguments, known=known)}"), soft_wrap=True)
    return code


def _evidence(run: RunDirectory, arguments: argparse.Namespace, *, known: bool) -> str:
    """What speaks for the run's files."""
    if arguments.perform:
        return "the run, performed again"
    if arguments.require:
        return "the run's own files, as they were signed"
    again = "; not performed again (--perform)" if run.read_record().ensemble == "sim" else ""
    return (MADE_HERE if known else "the run's own files, which were not made here") + again


def _own_code(
    run: RunDirectory, arguments: argparse.Namespace
) -> tuple[Workload | None, Promises | None]:
    """What made a run, as far as it is code of another repository that the user trusts."""
    record = run.read_record()
    if not (is_reference(record.workload) or is_reference(record.recipe)):
        return None, None
    from rumpus.runs.recorded_settings import own_code, settings_of  # noqa: PLC0415 - slow to import
    from rumpus.trust import refuse_untrusted, untrusted  # noqa: PLC0415 - slow to import

    try:
        settings = settings_of(record, run.path)
    except UsageError:  # what it was asked to do is not known, so neither are its promises
        return None, None
    # Judging imports neither faults nor the clients' library, and changes no recipe.
    judged = replace(settings, fault=(), nemesis=None, kazoo=None, patch=None, image=None)
    if arguments.trust:
        refuse_untrusted(run.path, judged, trust=True)
    if untrusted(run.path, judged):
        return None, None
    try:
        return own_code(record, settings)
    except UsageError as error:  # a stranger's code need not be here
        notices().print(Text(f"note: {error}"), soft_wrap=True)
        return None, None


def _refuse_without_description(run: RunDirectory) -> None:
    """Refuse a run whose ``test.json`` is gone: only that says by what its history is judged."""
    if not run.record.exists():
        raise UnreadableRun(
            run.record,
            f"is gone, and {SEAL} says that it was there",
            "restore it, or check a copy of the history in another directory, as a history alone",
        )


def _own_workload(run: RunDirectory, arguments: argparse.Namespace) -> Workload | None:
    """The workload of another repository that made a run; None if it is one of rumpus.

    Its code is imported only if the user names it, by ``--workload`` or in the project's file.
    """
    said = run.read_record().workload
    names = names_here()
    named = None if arguments.workload is None else names.workload(arguments.workload)
    if arguments.recipe is not None or named not in (None, said) or named in WORKLOADS:
        option = "recipe" if arguments.recipe is not None else "workload"
        raise UsageError(
            f"--{option}: {run.record} says what was run; check the history alone, by "
            "another name than history.jsonl, to judge it as something else"
        )
    if named is None and said in {each.reference for each in names.of_kind("workloads").values()}:
        named = said
    return None if named is None else trusted_workload(named)


def _refuse_signatures(arguments: argparse.Namespace) -> None:
    for option in ("sign", "require"):
        if getattr(arguments, option):
            raise UsageError(f"--{option} is for a run's directory: a history alone has no seal")


def _refuse_strangers(run: RunDirectory, name: str) -> None:
    """Refuse a history in another program's format: the user has to name its operations' model."""
    found = detect_format(run.history) if name == "auto" else name
    if found not in ("jsonl", None):
        refuse_without_model(run.history, found)
