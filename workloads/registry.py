"""All workloads by name. The module of a workload is imported when the workload is looked up."""

import inspect
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from rumpus.checker.imported_when_used import ImportedWhenUsed
from rumpus.checker.nearest_name import meant
from rumpus.workloads.own.references import NotFound, is_reference, referred

if TYPE_CHECKING:
    from rumpus.checker.history import History
    from rumpus.workloads.framework.workload import Workload

WORKLOADS: Final[Mapping[str, "Workload"]] = ImportedWhenUsed(
    "rumpus.workloads",
    {
        "lock": "contests.lock:LOCK",
        "read-write": "contests.read_write:READ_WRITE",
        "semaphore": "contests.semaphore:SEMAPHORE",
        "queue": "queues.queue:QUEUE",
        "priority-queue": "queues.priority_queue:PRIORITY_QUEUE",
        "election": "contests.election:ELECTION",
        "barrier": "barrier:BARRIER",
        "double-barrier": "double_barrier:DOUBLE_BARRIER",
        "counter": "counter:COUNTER",
        "latch": "latch:LATCH",
        "breaking": "contests.breaking:BREAKING",
        "view": "view:VIEW",
        "registry": "group_membership:REGISTRY",
        "partitioner": "partitioner:PARTITIONER",
        "two-phase-commit": "two_phase_commit:TWO_PHASE_COMMIT",
        "jobs": "jobs:JOBS",
        "register": "znodes.register:REGISTER",
        "append": "znodes.append:APPENDS",
        "watch": "znodes.watch:WATCH",
        "ephemeral": "znodes.ephemeral:EPHEMERAL",
        "sequence": "znodes.sequence:SEQUENCE",
        "multi": "znodes.multi:MULTI",
        "znode": "znodes.znode:ZNODE",
        "failover": "failover:FAILOVER_WORKLOAD",
        "sealed-log": "sealed_log:SEALED_LOG",
        "chubby": "chubby.chubby:CHUBBY_WORKLOAD",
    },
)


def find_workload(name: str) -> "Workload":
    """The workload of this name, or a class of another repository, ``package.module:Class``.

    Raises:
        NotFound: there is none.
    """
    if name in WORKLOADS:
        return WORKLOADS[name]
    if not is_reference(name):
        raise NotFound(unknown_workload(name))
    from rumpus.workloads.framework.workload import Workload  # noqa: PLC0415 - slow to import

    found = referred(name)
    if not (inspect.isclass(found) and issubclass(found, Workload)):
        raise NotFound(
            f"{name} is no subclass of rumpus.Workload; a recipe of your own comes after the "
            f"workload that it is for: `rumpus run lock --recipe {name}`"
        )
    try:
        return found()
    except TypeError as error:  # a method that subclasses must define is missing, say
        raise NotFound(f"{name}: {error}") from error


def unknown_workload(name: str, own: Iterable[str] = ()) -> str:
    """What to say of a workload's name that is unknown; ``own``: names of the project's."""
    more = "; or package.module:Class for one of your own"
    return f"unknown workload {name!r}; {meant(name, [*WORKLOADS, *own], more=more)}"


def fitting_workloads(history: "History") -> list[str]:
    """Names of the workloads that allow every client operation; none if there are none."""
    from rumpus.workloads.framework.operation_values import (  # noqa: PLC0415 - slow to import
        check_operations,
    )

    found = []
    for name, workload in WORKLOADS.items() if history.operations() else ():
        try:
            check_operations(history, name, workload.shapes)
        except ValueError:
            continue
        found.append(name)
    return found
