"""What a run is asked to be, and the command line that says so."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from rumpus.harness.clients.handlers import HANDLERS
from rumpus.simulation.kernel.preemption import Mode


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What is to be run. The fields are the options of ``rumpus run``, which describes them.

    ``argv`` is the command line that repeats the run, without the program's name. ``nemesis``:
    kinds of fault; None for the usual ones. ``fault``: references of further kinds. ``fixed``:
    fields that were given, also where they have their default: a swarm does not draw them.
    """

    argv: Sequence[str]
    workload: str
    recipe: str | None = None
    promise: Sequence[str] = ()
    ensemble: str = "auto"
    nodes: int = 3
    clients: int = 5
    time_limit: float = 60.0
    nemesis: Sequence[str] | None = None
    fault: Sequence[str] = ()
    nemesis_interval: float = 10.0
    seed: int | None = None
    plan: Path | None = None
    preemption: Mode | Literal["auto"] = "auto"
    server_mutant: str | None = None
    image: str | None = None
    zookeeper: str | None = None
    kazoo: str | None = None
    handler: str = HANDLERS[0]
    runs: Path = Path("runs")
    fencing: bool = False
    session_timeout: float = 2.0
    action_time: float = 0.0
    guard: float = 0.0
    strict: bool = False
    private: Sequence[str] = ()
    shared: Sequence[str] = ()
    swarm: str | None = None
    usage: str = ""
    fixed: Sequence[str] = ()


def command_line(settings: RunSettings) -> list[str]:
    """The words of the command that performs this run: ``rumpus``, ``run``, and its options."""
    words = ["rumpus", "run", settings.workload]
    for each in fields(settings):
        value = getattr(settings, each.name)
        if each.name in ("argv", "workload", "runs", "fixed"):
            continue
        if value == each.default and not (settings.swarm and each.name in settings.fixed):
            continue
        option = f"--{each.name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif isinstance(value, (list, tuple)):
            words += [option, ",".join(value) or "none"] if value or each.name == "nemesis" else []
        else:
            words += [option, str(value)]
    return words
