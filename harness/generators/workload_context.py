"""What a workload's generators need to know of a run."""

from dataclasses import dataclass
from typing import Any

from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.usage import USUAL, Usage


@dataclass(frozen=True)
class Action:
    """What a holder does to the protected resource, in workloads with ``timed_actions``.

    Args:
        seconds: from the holder's check that it still holds to the moment when a slow action takes
            effect, even if the hold has ended meanwhile. About half of all actions, chosen by
            the seed, are slow; the others take effect at once.
        guard: an action begins only if the holder is certain to hold for so many seconds more. Only
            for recipes that know how long they hold (those that prevent ``stale-belief``).
    """

    seconds: float = 0.0
    guard: float = 0.0


@dataclass(frozen=True)
class WorkloadContext:
    """What a workload's generators need to know of a run.

    Args:
        seed: of every choice.
        recipe: the class that is put under load.
        clients: how many clients, numbered from 0.
        session_timeout: the clients', in seconds.
        until: when new operations of the load may no longer begin (nanoseconds on the run's
            clock). Scripts that wait for others must end soon after it: the final phase begins
            when every client's load is exhausted. 0 in the final phase.
        action: how holders act.
        usage: how clients use the recipe.
    """

    seed: Seed
    recipe: Any
    clients: int
    session_timeout: float
    until: int = 0
    action: Action = Action()
    usage: Usage = USUAL
