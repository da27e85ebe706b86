"""All kinds of fault, and which of them can be injected with an ensemble."""

import inspect
import re
from collections.abc import Iterable, Mapping
from random import Random
from types import MappingProxyType
from typing import Any, get_args

from rumpus.checker.nearest_name import meant
from rumpus.checker.timeline.faults import OUTSIDE
from rumpus.checker.timeline.timeline import Effect
from rumpus.harness.ensemble import Availability, Capability, Ensemble, EnvironmentRefusal
from rumpus.nemesis.client_delay import ClientDelay
from rumpus.nemesis.client_frame import ClientFrame
from rumpus.nemesis.client_partition import ClientPartition
from rumpus.nemesis.client_request import ClientRequest
from rumpus.nemesis.client_stall import ClientStall
from rumpus.nemesis.client_switch import ClientSwitch
from rumpus.nemesis.clock import ClientClockSkew, ClockJump, ClockSkew
from rumpus.nemesis.disk import FileDamage, FileFail, FileFull, FileLie, FileSlow
from rumpus.nemesis.entry import Entry, PlanError
from rumpus.nemesis.fault import Fault
from rumpus.nemesis.fault_context import FaultContext
from rumpus.nemesis.follower_lag import FollowerLag
from rumpus.nemesis.packets import PacketDelay, PacketLoss
from rumpus.nemesis.partition import Partition
from rumpus.nemesis.processes import ClientKill, ClientPause, Kill, Pause, PowerOff
from rumpus.nemesis.reseed import Reseed
from rumpus.nemesis.rolling_upgrade import RollingUpgrade

FAULTS: dict[str, type[Fault[Any]]] = {
    fault.kind: fault
    for fault in (
        Kill,
        Pause,
        Partition,
        ClientPause,
        ClientKill,
        ClientPartition,
        ClientDelay,
        FollowerLag,
        PacketLoss,
        PowerOff,
        FileSlow,
        FileFull,
        FileLie,
        ClockSkew,
        ClientClockSkew,
        ClientStall,
        ClientRequest,
        Reseed,
        ClientFrame,
        ClientSwitch,
        ClockJump,
        RollingUpgrade,
        FileFail,
        FileDamage,
        PacketDelay,
    )
}
"""Every kind of fault by name. Kinds of other repositories come last (``register``)."""

BUILT_IN = tuple(FAULTS)
"""The kinds that rumpus has by itself."""

RESERVED = ("none", "all", OUTSIDE)
"""What no kind can be called: these words mean something else."""

SIMULATED = tuple(k for k, fault in FAULTS.items() if fault.usual)
"""The kinds of fault in random plans for simulated servers, by default."""

EVERYWHERE = tuple(k for k in SIMULATED if FAULTS[k].needs != "delay")
"""The kinds of fault in random plans for real servers, by default: any host allows them."""

SOUND = tuple(k for k, fault in FAULTS.items() if fault.sound and fault.drawn)
"""The kinds of fault under which ZooKeeper keeps its guarantees, however they are combined."""


def register(found: Any, reference: str) -> type[Fault[Any]]:
    """Let plans have a kind of fault of another repository; another one of its name is replaced.

    Args:
        found: its class.
        reference: ``package.module:Class``, for messages.

    Raises:
        PlanError: it is no kind of fault, or declares something that cannot be.
    """
    if not (inspect.isclass(found) and issubclass(found, Fault)):
        raise PlanError(f"{reference} is no subclass of rumpus.Fault")
    if missing := sorted(getattr(found, "__abstractmethods__", ())):
        raise PlanError(
            f"{reference} does not define {', '.join(missing)}; rumpus.ServerFault and "
            "rumpus.ClientFault define some of what rumpus.Fault leaves open"
        )
    for name in ("kind", "summary", "works_on"):
        value = getattr(found, name, None)
        if not (isinstance(value, str) and value.strip()):
            raise PlanError(f"{reference}: its attribute {name} is {value!r}; it must be a text")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", found.kind):
        raise PlanError(
            f"{reference}: its kind is {found.kind!r}; use lower-case words joined by hyphens"
        )
    if found.kind in (*BUILT_IN, *RESERVED):
        raise PlanError(f"{reference}: its kind {found.kind!r} is taken; give it another")
    for name, allowed in (("needs", get_args(Capability)), ("causes", get_args(Effect))):
        value = getattr(found, name)
        if value not in (None, *allowed):
            raise PlanError(
                f"{reference}: its attribute {name} is {value!r}; allowed are None, "
                f"{', '.join(map(repr, allowed))}"
            )
    FAULTS[found.kind] = found
    return found


def known_kinds(kinds: Iterable[str]) -> list[str]:
    """The kinds, each once, in the order of their names.

    So what a seed draws depends neither on the order in which they are asked for nor on their
    places in ``FAULTS``.

    Raises:
        PlanError: one of them is unknown.
    """
    given = sorted(set(kinds))
    if unknown := [kind for kind in given if kind not in FAULTS]:
        raise PlanError(f"unknown fault {unknown[0]!r}; {meant(unknown[0], FAULTS)}")
    return given


def are_sound(kinds: Iterable[str]) -> bool:
    """Whether ZooKeeper keeps its guarantees under faults of all these kinds."""
    return all(FAULTS[kind].sound for kind in kinds)


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
    return availability(ensemble.probe(), ensemble.kind)


def availability(
    offered: Mapping[Capability, Availability], ensemble: str
) -> dict[str, Availability]:
    """Which faults can be injected where an ensemble of this kind offers so much."""
    missing = {
        need: Availability(
            False,
            f"the {ensemble} ensemble does not offer it"
            + ("; simulated ones do (--ensemble sim)" if need == "simulation" else ""),
        )
        for need in get_args(Capability)
    }
    return {
        kind: Availability(True) if fault.needs is None else {**missing, **offered}[fault.needs]
        for kind, fault in FAULTS.items()
    }


def prepare(entries: Iterable[Entry], ensemble: Ensemble) -> None:
    """Make ready what faults need before a run begins; raises as ``Fault.prepare``."""
    for entry in entries:
        fault_of(entry).prepare(entry, ensemble)


def require(
    kinds: Iterable[str],
    ensemble: Ensemble,
    clients: Mapping[Capability, Availability] = MappingProxyType({}),
) -> None:
    """Refuse faults that cannot be injected here.

    Args:
        kinds: the kinds of fault.
        ensemble: the servers.
        clients: what the clients offer, where it is not the usual.

    Raises:
        EnvironmentRefusal: naming each such fault and the reason.
    """
    refuse(kinds, availability({**ensemble.probe(), **clients}, ensemble.kind))


def refuse(kinds: Iterable[str], available: Mapping[str, Availability]) -> None:
    """Refuse faults that are not available; raises as ``require``."""
    refused = [f"{kind}: {available[kind].why}" for kind in kinds if not available[kind].available]
    if refused:
        raise EnvironmentRefusal(
            f"cannot be injected here: {'; '.join(refused)}. Leave them out with --nemesis, or "
            "run `rumpus doctor` to see what this host lacks"
        )
