"""All models by name.

The module of a model is imported when the model is looked up. So a check of one model does not
import all of them, and a client process, which imports its workload, imports none.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from rumpus.checker.deciders.decide import ModelEntry


class Models(Mapping[str, ModelEntry]):
    """Models by name; ``places`` says where each is: ``module:constant`` in ``rumpus.checker``."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> ModelEntry:
        module, _, constant = self._places[name].partition(":")
        entry: ModelEntry = getattr(import_module(f"rumpus.checker.{module}"), constant)
        return entry

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


MODELS: Final[Mapping[str, ModelEntry]] = Models(
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
    }
)
