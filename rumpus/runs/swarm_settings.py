"""The parameters of a swarm run: each seed draws its own numbers of clients and servers, and more.

Short runs (``rumpus.campaigns.short_runs``) draw theirs from smaller ones.

What is drawn is a pure function of the seed, the profile and what was asked for. So the command
that was given repeats the run.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any, Final

import msgspec

from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.usage import Usage, draw_usage, parse_usage, usage_words
from rumpus.nemesis.registry import FAULTS
from rumpus.nemesis.swarm import ProfileName
from rumpus.runs.run_settings import OPTIONS, RunSettings
from rumpus.workloads.contests.contention import PART_S

CLIENTS: Final = (2, 7)
"""The least and the most clients."""

NODES: Final = (1, 3, 3, 3, 5)
"""Numbers of servers, each as likely as it is frequent here."""

SESSION_TIMEOUTS: Final = (1.0, 1.5, 2.0, 3.0, 4.0)
"""Seconds."""

SESSIONS_IN_LOAD: Final = 5
"""Session timeouts that a load must last that was asked for, at least."""

QUICK_LOAD_S: Final = 20.0
SESSIONS_IN_QUICK_LOAD: Final = 10
"""How long the simulated load is, at least, of clients that neither rest nor hold for long."""

TURNS: Final = 16
"""So many turns of slow clients fit into what is added to that.

Families ask for about ten handovers, one client after the other, and faults take a part of the
time.
"""

CALLS_IN_TURN: Final = 3
"""An attempt, an action and a release, before each of which a client may rest."""

SHORT_CLIENTS: Final = (2, 2, 3, 3, 4)
SHORT_NODES: Final = (1, 3, 3)
SHORT_SESSION_TIMEOUTS: Final = (1.0, 1.0, 1.5)
SHORT_LOADS: Final = (3.0, 4.0, 6.0)
"""What short runs draw theirs from."""

LEAST_THINK_S: Final = 0.1
MOST_BURST: Final = 2
"""How often clients of short runs rest: what a run costs is the number of its operations."""


def load_of(usage: Usage, clients: int, session_timeout: float) -> float:
    """How long the load is to last, in seconds, so that there are turns enough for a verdict.

    - Faults last as long as sessions do, and some turns wait until one has ended.
    - A client that holds for seconds makes everybody wait; half of its holds last from half of
      ``holding`` to all of it. They have parts, before each of which it may rest; and a fault in
      one keeps the others waiting until the session has ended.
    - Clients that rest seldom meet, the more seldom the fewer they are; a rest is half of ``think``
      on average.
    - An interrupted turn comes to nothing.

    Other parts of a usage make some turns shorter, and none longer.
    """
    quick = max(QUICK_LOAD_S, SESSIONS_IN_QUICK_LOAD * session_timeout)
    held = 0.0
    if usage.holding:
        rest = usage.think / 2 / (usage.burst + 1)
        held = usage.holding * 3 / 8 * (1 + rest / PART_S) + session_timeout
    rested = CALLS_IN_TURN * usage.think / 2 * (1 + 2 / clients)
    return round((quick + TURNS * (held + rested)) * (1 + 2 * usage.interrupts), 3)


def swarm_settings(
    settings: RunSettings, seed: int, *, simulated: bool, least_clients: int = CLIENTS[0]
) -> dict[str, Any]:
    """What a seed draws for a run: fields of its settings and their values.

    Only what was left open is drawn: not the fields in ``settings.fixed``, and none that differ
    from their defaults. No usage is drawn where a person has written the plan. The mode of
    preemption is drawn from the seed in any case, unless one is asked for.

    The length of the load follows from the usage (``load_of``), but only where time is virtual, and
    no plan says when it ends.

    Args:
        settings: what was asked for.
        seed: decides all of it.
        simulated: whether the run is simulated.
        least_clients: what the workload needs.
    """
    rng = Random(f"swarm settings {seed} {settings.swarm}")
    follows = simulated and settings.plan is None and _is_open(settings, "time_limit")
    most = settings.time_limit / SESSIONS_IN_LOAD
    fitting = [each for each in SESSION_TIMEOUTS if each <= most] or SESSION_TIMEOUTS[:1]
    timeouts = SESSION_TIMEOUTS if follows else fitting
    drawn: dict[str, Any] = {
        "clients": max(least_clients, rng.randint(*CLIENTS)),
        "nodes": rng.choice(_possible(NODES, settings)),
        "session_timeout": rng.choice(timeouts),
    }
    seed_of_usage = Seed(rng.getrandbits(64))
    chosen = {name: value for name, value in drawn.items() if _is_open(settings, name)}
    if _is_open(settings, "usage") and settings.plan is None:
        session_timeout = chosen.get("session_timeout", settings.session_timeout)
        chosen["usage"] = usage_words(draw_usage(seed_of_usage, session_timeout))
    if follows:
        whole = replace(settings, **chosen)
        usage = parse_usage(whole.usage)
        chosen["time_limit"] = load_of(usage, whole.clients, whole.session_timeout)
    return chosen


def short_settings(
    settings: RunSettings, seed: int, *, least_clients: int = CLIENTS[0]
) -> dict[str, Any]:
    """What a seed draws for short runs: fields of their settings and their values.

    As by ``swarm_settings``, only what was left open is drawn; a load that was asked for is only
    made shorter.

    Args:
        settings: what was asked for.
        seed: decides all of it.
        least_clients: what the workload needs.
    """
    rng = Random(f"short settings {seed}")
    drawn: dict[str, Any] = {
        "clients": max(least_clients, rng.choice(SHORT_CLIENTS)),
        "nodes": rng.choice(_possible(SHORT_NODES, settings)),
        "session_timeout": rng.choice(SHORT_SESSION_TIMEOUTS),
    }
    load = min(settings.time_limit, rng.choice(SHORT_LOADS))
    seed_of_usage = Seed(rng.getrandbits(64))
    chosen = {name: value for name, value in drawn.items() if _is_open(settings, name)}
    if _is_open(settings, "usage"):
        usage = draw_usage(seed_of_usage, chosen.get("session_timeout", settings.session_timeout))
        restful = msgspec.structs.replace(
            usage, think=max(usage.think, LEAST_THINK_S), burst=min(usage.burst, MOST_BURST)
        )
        chosen["usage"] = usage_words(restful)
    return {**chosen, "time_limit": load}


def with_swarm(
    settings: RunSettings, seed: int, *, simulated: bool, least_clients: int = CLIENTS[0]
) -> RunSettings:
    """The settings with what the seed draws, if a swarm was asked for; see ``swarm_settings``."""
    if not settings.swarm:
        return settings
    drawn = swarm_settings(settings, seed, simulated=simulated, least_clients=least_clients)
    return replace(settings, **drawn)


def as_swarm(settings: RunSettings, profile: ProfileName | None) -> RunSettings:
    """The settings of a campaign's swarm run.

    Campaigns have a usual length of the load of their own. Unless it was asked for, swarm runs in
    the simulation draw theirs.
    """
    load: dict[str, Any] = {}
    if profile and settings.ensemble == "sim" and "time_limit" not in settings.fixed:
        load = {"time_limit": OPTIONS["time_limit"].default}
    return replace(settings, swarm=profile, **load)


def _possible(nodes: Sequence[int], settings: RunSettings) -> Sequence[int]:
    """Numbers of servers with which at least one kind of fault that was asked for can occur."""
    asked = [FAULTS[kind] for kind in settings.nemesis or () if kind in FAULTS]
    if asked and not settings.fault and all(fault.several_nodes for fault in asked):
        return [number for number in nodes if number > 1]
    return nodes


def _is_open(settings: RunSettings, name: str) -> bool:
    usual = RunSettings.__dataclass_fields__[name].default
    return name not in settings.fixed and getattr(settings, name) == usual
