"""All workloads by name."""

import inspect
from collections.abc import Mapping
from typing import Final

from rumpus.checker.history import History
from rumpus.workloads.barrier import BARRIER
from rumpus.workloads.chubby.chubby import CHUBBY_WORKLOAD
from rumpus.workloads.contests.breaking import BREAKING
from rumpus.workloads.contests.election import ELECTION
from rumpus.workloads.contests.lock import LOCK
from rumpus.workloads.contests.read_write import READ_WRITE
from rumpus.workloads.contests.semaphore import SEMAPHORE
from rumpus.workloads.counter import COUNTER
from rumpus.workloads.double_barrier import DOUBLE_BARRIER
from rumpus.workloads.failover import FAILOVER_WORKLOAD
from rumpus.workloads.framework.operation_values import check_operations
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.group_membership import REGISTRY
from rumpus.workloads.jobs import JOBS
from rumpus.workloads.latch import LATCH
from rumpus.workloads.own.own_recipe import NotFound, is_reference, referred
from rumpus.workloads.partitioner import PARTITIONER
from rumpus.workloads.queues.priority_queue import PRIORITY_QUEUE
from rumpus.workloads.queues.queue import QUEUE
from rumpus.workloads.sealed_log import SEALED_LOG
from rumpus.workloads.two_phase_commit import TWO_PHASE_COMMIT
from rumpus.workloads.view import VIEW
from rumpus.workloads.znodes.append import APPENDS
from rumpus.workloads.znodes.ephemeral import EPHEMERAL
from rumpus.workloads.znodes.multi import MULTI
from rumpus.workloads.znodes.register import REGISTER
from rumpus.workloads.znodes.sequence import SEQUENCE
from rumpus.workloads.znodes.watch import WATCH
from rumpus.workloads.znodes.znode import ZNODE

WORKLOADS: Final[Mapping[str, Workload]] = {
    each.name: each
    for each in (
        LOCK,
        READ_WRITE,
        SEMAPHORE,
        QUEUE,
        PRIORITY_QUEUE,
        ELECTION,
        BARRIER,
        DOUBLE_BARRIER,
        COUNTER,
        LATCH,
        BREAKING,
        VIEW,
        REGISTRY,
        PARTITIONER,
        TWO_PHASE_COMMIT,
        JOBS,
        REGISTER,
        APPENDS,
        WATCH,
        EPHEMERAL,
        SEQUENCE,
        MULTI,
        ZNODE,
        FAILOVER_WORKLOAD,
        SEALED_LOG,
        CHUBBY_WORKLOAD,
    )
}


def find_workload(name: str) -> Workload:
    """The workload of this name, or a class of another repository, ``package.module:Class``.

    Raises:
        NotFound: there is none.
    """
    if name in WORKLOADS:
        return WORKLOADS[name]
    if not is_reference(name):
        raise NotFound(
            f"unknown workload {name!r}; there are {', '.join(WORKLOADS)}; or package.module:Class "
            "for one of your own"
        )
    found = referred(name)
    if not (inspect.isclass(found) and issubclass(found, Workload)):
        raise NotFound(f"{name} is no subclass of rumpus.Workload")
    try:
        return found()
    except TypeError as error:  # a method that subclasses must define is missing, say
        raise NotFound(f"{name}: {error}") from error


def fitting_workloads(history: History) -> list[str]:
    """Names of the workloads that allow every client operation; none if there are none."""
    found = []
    for name, workload in WORKLOADS.items() if history.operations() else ():
        try:
            check_operations(history, name, workload.shapes)
        except ValueError:
            continue
        found.append(name)
    return found
