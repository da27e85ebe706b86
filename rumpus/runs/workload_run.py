"""A run of a workload, as the harness performs it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rumpus.harness.clients.handlers import HANDLERS
from rumpus.harness.clients.workers import ClientSpec
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.harness.run import Run
from rumpus.recipes.contests.interfaces import client_image_of, system_of
from rumpus.workloads.framework.workload import Workload


def workload_run(
    workload: Workload,
    recipe: str,
    context: WorkloadContext,
    *,
    time_limit: float,
    library: Path | None = None,
    handler: str = HANDLERS[0],
    patched: Mapping[str, str] = MappingProxyType({}),
    fencing: bool = False,
    test: Mapping[str, Any] = MappingProxyType({}),
) -> Run:
    """The load and the final phase of a workload, by as many clients as the context names.

    Args:
        workload: what the clients do.
        recipe: the name of the recipe that they use; ``context.recipe`` is its class.
        context: as for the workload's generators, but for ``until``, which the harness sets.
        time_limit: how long the load lasts, in seconds.
        library: a directory that has the clients' kazoo; None: the installed one.
        handler: the handler of the clients' kazoo, one of ``HANDLERS``.
        patched: modules of the clients whose source is not what their files say.
        fencing: whether the witness checks tokens.
        test: what the history's first record says of the run.
    """
    return Run(
        clients=ClientSpec(
            workload.build,
            workload.options(recipe, context.clients, context.recipe, context.usage),
            context.session_timeout,
            library,
            handler,
            system_of(context.recipe),
            client_image_of(context.recipe),
            patched,
        ),
        count=context.clients,
        words=workload.words,
        load=lambda until: workload.load_of(replace(context, until=until)),
        final=workload.final_of(context),
        time_limit=time_limit,
        cleanup=workload.cleanup,
        fencing=fencing,
        probing=workload.plain,
        watches_left=workload.plain,
        test=test,
    )
