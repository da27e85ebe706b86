"""All models by name, with the fixed table of algorithms."""

from checker.decide import ModelEntry
from checker.models.multi_register import MULTI_REGISTER
from checker.specialised.barrier import BARRIER
from checker.specialised.fencing_tokens import FENCING_TOKENS
from checker.specialised.mutex import MUTEX
from checker.specialised.unique_ids import UNIQUE_IDS
from checker.specialised.unique_write_register import CAS_REGISTER, REGISTER
from checker.specialised.fifo_queue import FIFO_QUEUE
from checker.specialised.counter import COUNTER

ENTRIES: tuple[ModelEntry, ...] = (
    REGISTER,
    CAS_REGISTER,
    MULTI_REGISTER,
    MUTEX,
    BARRIER,
    FENCING_TOKENS,
    UNIQUE_IDS,
    FIFO_QUEUE,
    COUNTER,
)

MODELS = {entry.name: entry for entry in ENTRIES}
