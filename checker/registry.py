"""All models by name, with the fixed table of algorithms."""

from checker.decide import ModelEntry
from checker.guarantees.guarantee_models import SEQUENTIAL_CONSISTENCY, SESSION_GUARANTEES
from checker.models.multi_register import MULTI_REGISTER
from checker.specialised.append_only_register import APPEND
from checker.specialised.atomic_commitment import ATOMIC_COMMITMENT
from checker.specialised.barrier import BARRIER
from checker.specialised.counter import COUNTER
from checker.specialised.double_barrier import DOUBLE_BARRIER
from checker.specialised.fenced_mutex import FENCED_MUTEX
from checker.specialised.fencing_tokens import FENCING_TOKENS
from checker.specialised.fifo_queue import FIFO_QUEUE
from checker.specialised.gate import GATE
from checker.specialised.leader_election import LEADER_ELECTION
from checker.specialised.multiset_queue import MULTISET_QUEUE
from checker.specialised.mutex import MUTEX
from checker.specialised.priority_queue import PRIORITY_QUEUE
from checker.specialised.read_write_lock import READ_WRITE_LOCK
from checker.specialised.reentrant_mutex import REENTRANT_MUTEX
from checker.specialised.semaphore import SEMAPHORE
from checker.specialised.set import SET
from checker.specialised.unique_ids import UNIQUE_IDS
from checker.specialised.unique_write_register import CAS_REGISTER, REGISTER
from checker.specialised.versioned_register import VERSIONED_REGISTER

ENTRIES: tuple[ModelEntry, ...] = (
    REGISTER,
    CAS_REGISTER,
    VERSIONED_REGISTER,
    APPEND,
    MULTI_REGISTER,
    MUTEX,
    REENTRANT_MUTEX,
    SEMAPHORE,
    READ_WRITE_LOCK,
    ATOMIC_COMMITMENT,
    BARRIER,
    DOUBLE_BARRIER,
    GATE,
    FENCED_MUTEX,
    FENCING_TOKENS,
    LEADER_ELECTION,
    UNIQUE_IDS,
    FIFO_QUEUE,
    COUNTER,
    MULTISET_QUEUE,
    SEQUENTIAL_CONSISTENCY,
    SESSION_GUARANTEES,
    PRIORITY_QUEUE,
    SET,
)

MODELS = {entry.name: entry for entry in ENTRIES}
