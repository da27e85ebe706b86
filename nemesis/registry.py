"""All kinds of fault, and which of them can be injected with an ensemble."""

from collections.abc import Iterable
from random import Random
from typing import Any

from rumpus.checker.every_run.exercise import Effect
from rumpus.harness.ensemble import Availability, Ensemble, EnvironmentRefusal
from rumpus.nemesis.client_partition import ClientPartition
from rumpus.nemesis.client_request import ClientRequest
from rumpus.nemesis.client_stall import ClientStall
from rumpus.nemesis.clock import ClientClockSkew, ClockSkew
from rumpus.nemesis.disk import FileFull, FileLie, FileSlow
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.fault import Fault
from rumpus.nemesis.fault_context import FaultContext
from rumpus.nemesis.follower_lag import FollowerLag
from rumpus.nemesis.partition import Partition
from rumpus.nemesis.processes import ClientKill, ClientPause, Kill, Pause, PowerOff

FAULTS: dict[str, type[Fault[Any]]] = {
    fault.kind: fault
    for fault in (
        Kill,
        Pause,
        Partition,
        ClientPause,
        ClientKill,
        ClientPartition,
        FollowerLag,
        PowerOff,
        FileSlow,
        FileFull,
        FileLie,
        ClockSkew,
        ClientClockSkew,
        ClientStall,
        ClientRequest,
    )
}
"""Every kind of fault by name. What random plans draw from a seed depends on this order."""

SIMULATED = tuple(k for k, fault in FAULTS.items() if fault.usual)
"""The kinds of fault in random plans for simulated servers, by default."""

EVERYWHERE = tuple(k for k in SIMULATED if FAULTS[k].needs != "simulation")
"""The kinds of fault in random plans for real servers, by default."""

SOUND = tuple(k for k, fault in FAULTS.items() if fault.sound)
"""The kinds of fault under which ZooKeeper keeps its guarantees, however they are combined."""


def effects(kinds: Iterable[str]) -> set[Effect]:
    """What random plans with these kinds must cause. Kinds unknown to this version are ignored."""
    found = {FAULTS[kind].causes for kind in kinds if kind in FAULTS}
    return {effect for effect in found if effect is not None}


def fault_of(entry: Entry) -> type[Fault[Any]]:
    """The class that carries out an entry of a plan."""
    return FAULTS[entry.kind].form(entry)


def make_fault(entry: Entry, context: FaultContext, rng: Random) -> Fault[Any]:
    """The fault that an entry of a plan asks for; ``rng`` decides what the entry leaves open."""
    return fault_of(entry)(entry, context, rng)


def probe(ensemble: Ensemble) -> dict[str, Availability]:
    """Which faults can be injected with an ensemble: name -> availability."""
    offered = ensemble.probe()
    missing = Availability(
        False, f"the {ensemble.kind} ensemble does not offer it; simulated ones do (--ensemble sim)"
    )
    return {
        kind: Availability(True) if fault.needs is None else offered.get(fault.needs, missing)
        for kind, fault in FAULTS.items()
    }


def require(kinds: Iterable[str], ensemble: Ensemble) -> None:
    """Refuse faults that cannot be injected here.

    Raises:
        EnvironmentRefusal: naming each such fault and the reason.
    """
    available = probe(ensemble)
    refused = [f"{kind}: {available[kind].why}" for kind in kinds if not available[kind].available]
    if refused:
        raise EnvironmentRefusal(
            f"cannot be injected here: {'; '.join(refused)}. Leave them out with --nemesis, or "
            "run `rumpus doctor` to see what this host lacks"
        )
