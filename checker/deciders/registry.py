"""All models by name.

The module of a model is imported when the model is looked up. So a check of one model does not
import all of them, and a client process, which imports its workload, imports none.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from rumpus.checker.imported_when_used import ImportedWhenUsed

if TYPE_CHECKING:
    from rumpus.checker.deciders.decide import ModelEntry

MODELS: Final[Mapping[str, "ModelEntry"]] = ImportedWhenUsed(
    "rumpus.checker",
    {
        "register": "deciders.registers.unique_write_register:REGISTER",
        "cas-register": "deciders.registers.unique_write_register:CAS_REGISTER",
        "versioned-register": "deciders.registers.versioned_register:VERSIONED_REGISTER",
        "append": "deciders.registers.append_only_register:APPEND",
        "multi-register": "deciders.registers.multi_register:MULTI_REGISTER",
        "mutex": "deciders.locks.mutex:MUTEX",
        "reentrant-mutex": "deciders.locks.reentrant_mutex:REENTRANT_MUTEX",
        "semaphore": "deciders.locks.semaphore:SEMAPHORE",
        "read-write-lock": "deciders.locks.read_write_lock:READ_WRITE_LOCK",
        "atomic-commitment": "deciders.agreement.atomic_commitment:ATOMIC_COMMITMENT",
        "barrier": "deciders.agreement.barrier:BARRIER",
        "double-barrier": "deciders.agreement.double_barrier:DOUBLE_BARRIER",
        "gate": "deciders.agreement.gate:GATE",
        "fenced-mutex": "deciders.locks.fenced_mutex:FENCED_MUTEX",
        "fencing-tokens": "deciders.locks.fencing_tokens:FENCING_TOKENS",
        "leader-election": "deciders.agreement.leader_election:LEADER_ELECTION",
        "unique-ids": "deciders.agreement.unique_ids:UNIQUE_IDS",
        "fifo-queue": "deciders.queues.fifo_queue:FIFO_QUEUE",
        "counter": "deciders.registers.counter:COUNTER",
        "queue": "deciders.queues.multiset_queue:MULTISET_QUEUE",
        "sequential-consistency": "znodes.guarantee_models:SEQUENTIAL_CONSISTENCY",
        "session-guarantees": "znodes.guarantee_models:SESSION_GUARANTEES",
        "priority-queue": "deciders.queues.priority_queue:PRIORITY_QUEUE",
        "set": "deciders.registers.set:SET",
    },
)
