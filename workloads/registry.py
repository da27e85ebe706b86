"""All workloads by name."""

from collections.abc import Mapping
from typing import Final

from workloads.barrier import BARRIER
from workloads.breaking import BREAKING
from workloads.election import ELECTION
from workloads.lock import LOCK
from workloads.read_write import READ_WRITE
from workloads.semaphore import SEMAPHORE
from workloads.two_phase_commit import TWO_PHASE_COMMIT
from workloads.view import VIEW
from workloads.workload import Workload

WORKLOADS: Final[Mapping[str, Workload]] = {
    workload.name: workload
    for workload in (
        LOCK,
        READ_WRITE,
        SEMAPHORE,
        ELECTION,
        BARRIER,
        BREAKING,
        VIEW,
        TWO_PHASE_COMMIT,
    )
}
