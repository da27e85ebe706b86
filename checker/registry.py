"""All models by name, with the fixed table of algorithms."""

from checker.decide import ModelEntry
from checker.models.multi_register import MULTI_REGISTER
from checker.specialised.fencing_tokens import FENCING_TOKENS

ENTRIES: tuple[ModelEntry, ...] = (
    MULTI_REGISTER,
    FENCING_TOKENS,
)

MODELS = {entry.name: entry for entry in ENTRIES}
