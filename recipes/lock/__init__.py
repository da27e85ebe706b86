"""Locks: fair, unfair, with a validity window, fenced, with a lock-delay, with sequencers."""

from rumpus.recipes.lock.contest_lock import FairLock, UnfairLock
from rumpus.recipes.lock.delayed_lock import DelayedLock
from rumpus.recipes.lock.fenced_lock import FencedLock
from rumpus.recipes.lock.fencing import StaleToken
from rumpus.recipes.lock.sequencer import SequencerLock, Verifier
from rumpus.recipes.lock.validity_lock import ValidityLock

__all__ = [
    "DelayedLock",
    "FairLock",
    "FencedLock",
    "SequencerLock",
    "StaleToken",
    "UnfairLock",
    "ValidityLock",
    "Verifier",
]
