"""All models by name, with the fixed table of algorithms."""

from rumpus.checker.decide import ModelEntry
from rumpus.checker.guarantees.guarantee_models import SEQUENTIAL_CONSISTENCY, SESSION_GUARANTEES
from rumpus.checker.models.multi_register import MULTI_REGISTER
from rumpus.checker.specialised.append_only_register import APPEND
from rumpus.checker.specialised.atomic_commitment import ATOMIC_COMMITMENT
from rumpus.checker.specialised.barrier import BARRIER
from rumpus.checker.specialised.counter import COUNTER
from rumpus.checker.specialised.double_barrier import DOUBLE_BARRIER
from rumpus.checker.specialised.fenced_mutex import FENCED_MUTEX
from rumpus.checker.specialised.fencing_tokens import FENCING_TOKENS
from rumpus.checker.specialised.fifo_queue import FIFO_QUEUE
from rumpus.checker.specialised.gate import GATE
from rumpus.checker.specialised.leader_election import LEADER_ELECTION
from rumpus.checker.specialised.multiset_queue import MULTISET_QUEUE
from rumpus.checker.specialised.mutex import MUTEX
from rumpus.checker.specialised.priority_queue import PRIORITY_QUEUE
from rumpus.checker.specialised.read_write_lock import READ_WRITE_LOCK
from rumpus.checker.specialised.reentrant_mutex import REENTRANT_MUTEX
from rumpus.checker.specialised.semaphore import SEMAPHORE
from rumpus.checker.specialised.set import SET
from rumpus.checker.specialised.unique_ids import UNIQUE_IDS
from rumpus.checker.specialised.unique_write_register import CAS_REGISTER, REGISTER
from rumpus.checker.specialised.versioned_register import VERSIONED_REGISTER

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
