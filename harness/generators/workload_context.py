"""What the operations of a run depend on."""

from dataclasses import dataclass
from typing import Any

from rumpus.harness.generators.seed import Seed


@dataclass(frozen=True)
class Action:
    """What a holder does to the protected resource, in workloads with ``timed_actions``.

    Args:
        seconds: from the look whether it still holds to the moment at which a slow action takes
            effect, whatever has become of the hold meanwhile. Every other action is slow, by the
            seed; the others take effect at once.
        guard: seconds for which the holder must be certain to hold on for the action to begin. Only
            recipes that know for how long they hold can be asked (those that prevent
            ``stale-belief``).
    """

    seconds: float = 0.0
    guard: float = 0.0


@dataclass(frozen=True)
class WorkloadContext:
    """What the operations of a run depend on.

    Args:
        seed: of every choice.
        recipe: the class that is put under load.
        clients: how many, numbered from 0.
        session_timeout: theirs, in seconds.
        until: when new operations of the load may no longer begin (nanoseconds on the run's
            clock). What waits for others must end soon after it: the final phase begins when
            every client's load is exhausted. 0 in the final phase.
        action: how holders act.
    """

    seed: Seed
    recipe: Any
    clients: int
    session_timeout: float
    until: int = 0
    action: Action = Action()
