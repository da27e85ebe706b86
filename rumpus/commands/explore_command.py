"""``rumpus explore``: run after run with other seeds; each failure is shrunk and kept as a case."""

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from rumpus.campaigns.case import check_place_of_cases, load_case
from rumpus.campaigns.dask_cluster import cluster
from rumpus.campaigns.explored_answer import (
    explored_document,
    explored_exit_code,
    explored_status,
    print_explored,
    save_cases,
)
from rumpus.campaigns.exploring import Exploration, Explorer
from rumpus.campaigns.merging import campaign, part_of
from rumpus.campaigns.rulings import Rulings, load_rulings
from rumpus.campaigns.tasks import Performers, processes
from rumpus.consoles import answers, notices, print_document
from rumpus.corner_memory import CornerMemory
from rumpus.exit_codes import exit_code
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.live_line import LiveLine
from rumpus.nemesis.plan import FaultPlan, load_plan
from rumpus.nemesis.swarm import ProfileName
from rumpus.project_names import names_here
from rumpus.runs.performing import find_fault
from rumpus.runs.run_arguments import given_options
from rumpus.runs.run_settings import RunSettings
from rumpus.systematic_corners import explore_corners
from rumpus.trust import trust_code
from rumpus.usage_error import UsageError
from rumpus.workloads.own.references import is_reference

PLAIN_PERIOD_S = 10.0
"""How often the status is printed where lines cannot be overwritten (logs of a CI job)."""

PROFILE: ProfileName = "normal"
"""The swarm of every other run, unless a plan or a swarm is asked for."""

LOAD_S = 20.0
"""Seconds of load of each run if nothing is said."""

BUDGET_S = 60.0
"""Seconds of exploration if neither seeds nor seconds are given."""


def explore_command(arguments: argparse.Namespace) -> int:
    """Explore a recipe; the exit code.

    1 if a failure was found, else that of ``explored_exit_code``.

    Raises:
        UsageError: something asked for does not exist or cannot be done.
        EnvironmentRefusal, StoreError: this host does not allow it, or the cluster has gone.
    """
    names = names_here()
    given = given_options(arguments)
    given["fixed"] = tuple(given)
    given = {"argv": (), "time_limit": LOAD_S, "ensemble": "auto", **given}
    if given["ensemble"] == "auto" and not given.get("service"):
        given["ensemble"] = "sim"  # a run on real servers takes a minute: nobody has them unasked
    settings = replace(names.settings_of(given), argv=())
    trust_code(settings, lambda words: notices().print(words, soft_wrap=True, markup=False))
    for reference in settings.fault:
        find_fault(reference)  # plans that have it are looked at here, too
    check_place_of_cases(arguments.cases)
    if arguments.systematic is not None:
        return explore_corners(arguments, settings)
    known = [load_case(path).expects for path in arguments.known]
    rulings = Rulings() if arguments.rulings is None else load_rulings(arguments.rulings)
    profile = None if settings.plan or settings.swarm else PROFILE
    plan = _plan(settings)
    line = LiveLine(notices(), PLAIN_PERIOD_S)

    def show(explored: Exploration) -> None:
        line.show(explored_status(explored, time.monotonic() - line.began))

    budget = arguments.budget
    if budget is None and arguments.seeds is None:
        budget = BUDGET_S
    ending: EnvironmentRefusal | None = None
    interrupted = False
    # Seeds that are given decide all, and parts of one exploration must not overlap. Any other
    # exploration goes on where the last one ended.
    alone = "seed" not in given["fixed"] and arguments.shard is None
    memory = CornerMemory(settings, names) if alone else None
    with _performers(arguments, settings) as performers, line.live():
        explorer = Explorer(
            settings,
            performers.executor,
            jobs=performers.threads,
            plan=plan,
            shard=arguments.shard,
            known=known,
            rulings=rulings,
            profile=profile,
            corners=None if memory is None else memory.first,
            shrink=arguments.shrink,
            notify=show,
        )
        try:
            explored = explorer.explore(seeds=arguments.seeds, budget=budget)
        except KeyboardInterrupt:
            interrupted = True
            explored = explorer.exploration
        except EnvironmentRefusal as refusal:  # what was found so far is worth telling
            ending, explored = refusal, explorer.exploration
    if memory is not None and not (explored.findings.found or explored.findings.deaths):
        memory.went_on(explored.systematic, notices().print)
    _refuse_if_nothing_ran(explored, ending)
    interrupted = interrupted or ending is not None
    saved = save_cases(explored, arguments.cases)
    code = explored_exit_code(explored, interrupted=interrupted)
    if ending is not None:
        code = exit_code(ending)
    if arguments.json:
        document = explored_document(explored, saved, code, interrupted=interrupted)
        if arguments.shard is not None:
            asked = campaign(
                settings,
                plan=plan,
                seeds=arguments.seeds,
                profile=profile,
                shrink=arguments.shrink,
                known=known,
                rulings=rulings,
            )
            document["part"] = part_of(explored, arguments.shard, asked, interrupted=interrupted)
        print_document(document)
    else:
        print_explored(explored, saved, answers())
    if ending is not None:
        raise ending
    return code


def _plan(settings: RunSettings) -> FaultPlan | None:
    """The plan that is given: it is read here, as a cluster's workers may not have the file.

    Raises:
        PlanError: it cannot be read, or is malformed.
    """
    if settings.plan is None or settings.nemesis is not None:
        return None  # both together are refused by each run
    return load_plan(
        settings.plan,
        nodes=settings.nodes,
        clients=settings.clients,
        time_limit=settings.time_limit,
    )


@contextmanager
def _performers(arguments: argparse.Namespace, settings: RunSettings) -> Iterator[Performers]:
    """Those who perform the runs: processes, or a cluster.

    Raises:
        UsageError, EnvironmentRefusal: see `cluster`.
    """
    if arguments.dask is None:
        jobs = arguments.jobs or len(os.sched_getaffinity(0))
        with processes(jobs) as executor:
            yield Performers(executor, jobs)
        return
    if arguments.jobs is not None:
        raise UsageError(
            "--jobs and --dask exclude each other: a cluster performs as many runs at once as its "
            "workers have threads"
        )
    named = (settings.workload, settings.recipe or "", *settings.fault)
    with cluster(arguments.dask, [each for each in named if is_reference(each)]) as performers:
        yield performers


def _refuse_if_nothing_ran(explored: Exploration, ending: EnvironmentRefusal | None) -> None:
    """Say why no run could be performed, if that is so."""
    if explored.runs or explored.findings.deaths:
        return
    if ending is not None:
        raise ending
    explored.raise_refusal()
