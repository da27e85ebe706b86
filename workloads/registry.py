"""All workloads by name."""

from collections.abc import Mapping
from typing import Final

from rumpus.workloads.append import APPENDS
from rumpus.workloads.barrier import BARRIER
from rumpus.workloads.breaking import BREAKING
from rumpus.workloads.counter import COUNTER
from rumpus.workloads.declared_workload import DeclaredWorkload
from rumpus.workloads.double_barrier import DOUBLE_BARRIER
from rumpus.workloads.election import ELECTION
from rumpus.workloads.ephemeral import EPHEMERAL
from rumpus.workloads.failover import FAILOVER_WORKLOAD
from rumpus.workloads.jobs import JOBS
from rumpus.workloads.lock import LOCK
from rumpus.workloads.multi import MULTI
from rumpus.workloads.operation_values import OPERATIONS
from rumpus.workloads.partitioner import PARTITIONER
from rumpus.workloads.priority_queue import PRIORITY_QUEUE
from rumpus.workloads.queue import QUEUE
from rumpus.workloads.read_write import READ_WRITE
from rumpus.workloads.register import REGISTER
from rumpus.workloads.semaphore import SEMAPHORE
from rumpus.workloads.sequence import SEQUENCE
from rumpus.workloads.service_discovery import REGISTRY
from rumpus.workloads.two_phase_commit import TWO_PHASE_COMMIT
from rumpus.workloads.view import VIEW
from rumpus.workloads.watch import WATCH
from rumpus.workloads.workload import Workload
from rumpus.workloads.znode import ZNODE

AnyWorkload = Workload | DeclaredWorkload


def registered(*workloads: AnyWorkload) -> dict[str, AnyWorkload]:
    """Workloads by name.

    Raises:
        LookupError: nobody has said what the operations of one carry.
    """
    for each in workloads:
        if each.name not in OPERATIONS:
            raise LookupError(
                f"workload {each.name!r} has no entry in workloads/operation_values.py: "
                "say there what its operations carry"
            )
    return {each.name: each for each in workloads}


WORKLOADS: Final[Mapping[str, AnyWorkload]] = registered(
    LOCK,
    READ_WRITE,
    SEMAPHORE,
    QUEUE,
    PRIORITY_QUEUE,
    ELECTION,
    BARRIER,
    DOUBLE_BARRIER,
    COUNTER,
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
)
