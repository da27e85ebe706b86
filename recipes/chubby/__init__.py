"""Chubby's interface on ZooKeeper: files with advisory locks, a consistent cache, and leases."""

from rumpus.recipes.chubby.file_change import StaleSequencer
from rumpus.recipes.chubby.handle import GenerationMismatch, Handle, Mode
from rumpus.recipes.chubby.handle_events import Event, EventKind
from rumpus.recipes.chubby.lease import HandleInvalid, InJeopardy, Standing
from rumpus.recipes.chubby.library import Chubby
from rumpus.recipes.chubby.lock_sequencer import LockVerifier
from rumpus.recipes.chubby.storage import Storage, StorageServer

__all__ = [
    "Chubby",
    "Event",
    "EventKind",
    "GenerationMismatch",
    "Handle",
    "HandleInvalid",
    "InJeopardy",
    "LockVerifier",
    "Mode",
    "StaleSequencer",
    "Standing",
    "Storage",
    "StorageServer",
]
