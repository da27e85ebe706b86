"""All workloads by name."""

from collections.abc import Mapping
from typing import Final

from workloads.election import ELECTION
from workloads.lock import LOCK
from workloads.view import VIEW
from workloads.workload import Workload

WORKLOADS: Final[Mapping[str, Workload]] = {
    workload.name: workload for workload in (LOCK, ELECTION, VIEW)
}
