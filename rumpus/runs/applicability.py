"""Which options a run can have: what its servers and its clients are decides that.

An option's declaration says what it needs (``Option.needs``) and what it excludes. A run that
cannot have an option is refused; the message says what to leave out.
"""

from collections.abc import Sequence
from dataclasses import replace

from rumpus.harness.docker.systems import SYSTEMS
from rumpus.harness.generators.usage import USUAL, Usage, parse_usage
from rumpus.recipes.servers import SERVICES, ZOOKEEPER
from rumpus.runs.ensemble_choice import Kind
from rumpus.runs.option import Need
from rumpus.runs.run_options import MOST_REAL_CLIENTS
from rumpus.runs.run_settings import OPTIONS, RunSettings
from rumpus.usage_error import UsageError


def refuse_rivals(settings: RunSettings) -> None:
    """Refuse options of which one excludes another.

    Raises:
        UsageError: both were given.
    """
    for option in OPTIONS.values():
        for name in option.option.excludes:
            rival = OPTIONS[name]
            if option.is_given(settings) and rival.is_given(settings):
                raise UsageError(
                    f"{option.flag} and {rival.flag} exclude each other: leave one out"
                )
    if both := sorted(set(settings.private) & set(settings.shared)):
        raise UsageError(f"--shared: {', '.join(both)} is private, too: choose one")


def refuse_elsewhere(settings: RunSettings, kind: Kind) -> None:
    """Refuse options that a run in this kind of ensemble cannot have.

    Raises:
        UsageError: one was given.
    """
    for option in OPTIONS.values():
        needs = option.option.needs
        if kind == "docker" and option.name == "clients" and settings.clients > MOST_REAL_CLIENTS:
            raise UsageError(
                f"{option.flag}: {settings.clients} is not from 1 to {MOST_REAL_CLIENTS}, as many "
                "as can be processes of this machine: use fewer, or --ensemble sim"
            )
        said = f"{option.flag} {getattr(settings, option.name)}"
        if kind == "docker" and "sim" in needs and option.is_given(settings):
            raise UsageError(f"{said} is for {needs['sim']}: leave it out, or use --ensemble sim")
        if kind == "sim" and "docker" in needs and option.is_given(settings):
            raise UsageError(
                f"{said} needs real servers, as {needs['docker']}: leave it out, or use "
                "--ensemble docker"
            )


def fitted(settings: RunSettings, system: str, client_image: str) -> RunSettings:
    """The settings of a run of a recipe, on real servers if it cannot be simulated.

    Args:
        settings: what was asked for.
        system: the servers that the recipe is for.
        client_image: the image of its clients; empty if they are processes of Python.

    Raises:
        UsageError: something was asked for that such a run cannot have.
    """
    name = f"{settings.workload} / {settings.recipe}"
    if system == SERVICES:
        return _on_services(settings, name)
    if system != ZOOKEEPER:
        alone = f"{name} runs on {system}"
        _refuse_needing("zookeeper", settings, alone, ", which is for ZooKeeper")
        nodes = settings.nodes if "nodes" in settings.fixed else SYSTEMS[system].nodes
        return replace(settings, ensemble="docker", nodes=nodes)
    if client_image:
        alone = f"the clients of {name} run in containers of {client_image}"
        _refuse_needing("python", settings, alone, ": clients in Python do")
        others = [name for name in Usage.__struct_fields__ if name not in IN_CONTAINERS]
        _refuse_usage(others, settings, alone, "clients in Python")
        return replace(settings, ensemble="docker")
    return settings


NEEDS_ZOOKEEPER = ("restarts", "interrupts", "auths", "traffic", "chatter", "vanishing")
"""Parts of a usage that use a client of ZooKeeper."""

IN_CONTAINERS = ("think", "burst", "tries", "patience", "holding", "restarts", "interrupts")
"""Parts of a usage that clients in containers have, too: ``docker/curator/worker/Usage.java``, and
what the load decides."""


def _on_services(settings: RunSettings, name: str) -> RunSettings:
    """The settings of a run of a recipe that lives on services of the user's."""
    alone = f"{name} lives on {', '.join(settings.service)}"
    _refuse_needing("zookeeper", settings, alone, ", which is for ZooKeeper")
    if settings.nodes not in (OPTIONS["nodes"].default, len(settings.service)):
        raise UsageError(f"{alone}: these are its servers, so leave --nodes out")
    _refuse_usage(NEEDS_ZOOKEEPER, settings, alone, "clients of ZooKeeper")
    return replace(settings, ensemble="auto", nodes=len(settings.service))


def _refuse_usage(names: Sequence[str], settings: RunSettings, alone: str, whose: str) -> None:
    """Refuse a usage that asks for one of these parts, which are for others' clients."""
    usage = parse_usage(settings.usage)
    asked = [name for name in names if getattr(usage, name) != getattr(USUAL, name)]
    if asked:
        raise UsageError(f"{alone}, and {', '.join(asked)} of --usage is for {whose}: leave it out")


def _refuse_needing(need: Need, settings: RunSettings, alone: str, why: str) -> None:
    if settings.ensemble == "sim":
        raise UsageError(f"{alone}, which is not simulated: leave --ensemble sim out")
    for option in OPTIONS.values():
        if need in option.option.needs and option.is_given(settings):
            raise UsageError(f"{alone}, so it takes no {option.flag}{why}")


def simulated(settings: RunSettings) -> tuple[RunSettings, list[str]]:
    """The settings of the same run in the simulation, and what it cannot have there, in words.

    Raises:
        UsageError: its recipe lives on services, which are not simulated.
    """
    if settings.service:
        raise UsageError(
            f"{settings.workload} / {settings.recipe} lives on services, "
            f"{', '.join(settings.service)}, which are not simulated"
        )
    needing = [option for option in OPTIONS.values() if "docker" in option.option.needs]
    left_out = [
        f"{option.flag} {getattr(settings, option.name)}: {option.option.needs['docker']}"
        for option in needing
        if option.is_given(settings)
    ]
    usual = {option.name: option.default for option in needing}
    return replace(settings, ensemble="sim", preemption="auto", **usual), left_out
