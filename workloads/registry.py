"""All workloads by name."""

from collections.abc import Mapping
from typing import Final

from workloads.append import APPENDS
from workloads.barrier import BARRIER
from workloads.breaking import BREAKING
from workloads.counter import COUNTER
from workloads.double_barrier import DOUBLE_BARRIER
from workloads.election import ELECTION
from workloads.ephemeral import EPHEMERAL
from workloads.failover import FAILOVER_WORKLOAD
from workloads.jobs import JOBS
from workloads.lock import LOCK
from workloads.multi import MULTI
from workloads.operation_values import OPERATIONS
from workloads.partitioner import PARTITIONER
from workloads.priority_queue import PRIORITY_QUEUE
from workloads.queue import QUEUE
from workloads.read_write import READ_WRITE
from workloads.register import REGISTER
from workloads.semaphore import SEMAPHORE
from workloads.sequence import SEQUENCE
from workloads.service_discovery import REGISTRY
from workloads.two_phase_commit import TWO_PHASE_COMMIT
from workloads.view import VIEW
from workloads.watch import WATCH
from workloads.workload import Workload
from workloads.znode import ZNODE


def registered(*workloads: Workload) -> dict[str, Workload]:
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


WORKLOADS: Final[Mapping[str, Workload]] = registered(
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
