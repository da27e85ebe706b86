"""All models by name, with the fixed table of algorithms."""

from checker.decide import ModelEntry
from checker.specialised.fencing_tokens import FENCING_TOKENS

ENTRIES: tuple[ModelEntry, ...] = (
    FENCING_TOKENS,
)

MODELS = {entry.name: entry for entry in ENTRIES}
