"""All models by name, with the fixed table of algorithms."""

from rumpus.checker.deciders.agreement.atomic_commitment import ATOMIC_COMMITMENT
from rumpus.checker.deciders.agreement.barrier import BARRIER
from rumpus.checker.deciders.agreement.double_barrier import DOUBLE_BARRIER
from rumpus.checker.deciders.agreement.fencing_tokens import FENCING_TOKENS
from rumpus.checker.deciders.agreement.gate import GATE
from rumpus.checker.deciders.agreement.leader_election import LEADER_ELECTION
from rumpus.checker.deciders.agreement.unique_ids import UNIQUE_IDS
from rumpus.checker.deciders.decide import ModelEntry
from rumpus.checker.deciders.locks.fenced_mutex import FENCED_MUTEX
from rumpus.checker.deciders.locks.mutex import MUTEX
from rumpus.checker.deciders.locks.read_write_lock import READ_WRITE_LOCK
from rumpus.checker.deciders.locks.reentrant_mutex import REENTRANT_MUTEX
from rumpus.checker.deciders.locks.semaphore import SEMAPHORE
from rumpus.checker.deciders.queues.fifo_queue import FIFO_QUEUE
from rumpus.checker.deciders.queues.multiset_queue import MULTISET_QUEUE
from rumpus.checker.deciders.queues.priority_queue import PRIORITY_QUEUE
from rumpus.checker.deciders.registers.append_only_register import APPEND
from rumpus.checker.deciders.registers.counter import COUNTER
from rumpus.checker.deciders.registers.set import SET
from rumpus.checker.deciders.registers.unique_write_register import CAS_REGISTER, REGISTER
from rumpus.checker.deciders.registers.versioned_register import VERSIONED_REGISTER
from rumpus.checker.models.multi_register import MULTI_REGISTER
from rumpus.checker.znodes.guarantee_models import SEQUENTIAL_CONSISTENCY, SESSION_GUARANTEES

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
