"""All models by name, with the fixed table of algorithms."""

from checker.decide import ModelEntry

ENTRIES: tuple[ModelEntry, ...] = ()

MODELS = {entry.name: entry for entry in ENTRIES}
