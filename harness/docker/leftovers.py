"""What runs leave on a Docker engine: finding out whose it is, and removing it.

Containers, networks and volumes have labels with the run's id and their owner, the control process
(``harness.owners``). So what a killed run left can be told from what a living run uses. Volumes are
removed with their containers, unless somebody else has removed the containers.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from docker import DockerClient
from docker.errors import APIError, NotFound
from docker.models.containers import Container
from docker.models.networks import Network
from docker.models.volumes import Volume

from rumpus.harness.docker.engine import refusals
from rumpus.harness.owners import Owner, boot_id

RUN_LABEL = "rumpus.run"
OWNER_LABEL = "rumpus.owner"


def labels(run_id: str) -> dict[str, str]:
    """The labels of everything that a run makes on the engine."""
    return {RUN_LABEL: run_id, OWNER_LABEL: str(Owner.of())}


@dataclass(frozen=True)
class RunLeftovers:
    """What one run has on the engine."""

    run_id: str
    alive: bool
    """Whether its control process runs; True also if that cannot be known from here."""
    containers: tuple[Container, ...]
    networks: tuple[Network, ...]
    volumes: tuple[Volume, ...] = ()
    """The volumes whose containers are gone."""

    def __str__(self) -> str:
        parts = [
            f"{len(things)} {word}{'s' if len(things) > 1 else ''}"
            for word, things in (
                ("container", self.containers),
                ("network", self.networks),
                ("volume", self.volumes),
            )
            if things
        ]
        return f"run {self.run_id}: {' and '.join(parts)}"


def find_leftovers(client: DockerClient, *, everything: bool = False) -> list[RunLeftovers]:
    """What is left of runs whose control process has ended; of all runs if ``everything``.

    Containers of any state count.
    """
    return [found for found in _runs(client) if everything or not found.alive]


def remove_leftovers(leftovers: Iterable[RunLeftovers]) -> None:
    """Remove what was found: containers with their volumes, in parallel; then networks and volumes.

    It is no error if somebody else removes something meanwhile.

    Raises:
        docker.errors.APIError: the engine could not remove something.
    """
    leftovers = list(leftovers)
    containers = [container for found in leftovers for container in found.containers]
    with ThreadPoolExecutor(max_workers=8, thread_name_prefix="remove") as pool:
        # A server's container goes before the sidecar whose network it shares.
        for wave in (
            [container for container in containers if _shares_network(container)],
            [container for container in containers if not _shares_network(container)],
        ):
            for done in [pool.submit(_remove_container, container) for container in wave]:
                done.result()
    for found in leftovers:
        for network in found.networks:
            with suppress(NotFound):
                network.remove()
        for volume in found.volumes:
            with suppress(NotFound):
                volume.remove()


def remove_dead_runs(client: DockerClient, say: Callable[[str], None]) -> None:
    """Remove what runs have left whose control process has ended.

    Args:
        client: the engine.
        say: told what is removed.

    Raises:
        EnvironmentRefusal: the engine could not remove something.
    """
    with refusals("removing what killed runs left"):
        leftovers = find_leftovers(client)
        if leftovers:
            say(f"removing what is left of {'; '.join(map(str, leftovers))}")
            remove_leftovers(leftovers)


def is_left(client: DockerClient, run_id: str) -> bool:
    """Whether there is anything of a run, whoever owns it."""
    return bool(_runs(client, run_id))


def remove_run(client: DockerClient, run_id: str) -> None:
    """Remove everything of one run, whoever owns it."""
    remove_leftovers([found for found in _runs(client, run_id) if found.run_id == run_id])


def _runs(client: DockerClient, run_id: str | None = None) -> list[RunLeftovers]:
    chosen: dict[str, str | list[str] | bool] = {
        "label": RUN_LABEL if run_id is None else f"{RUN_LABEL}={run_id}"
    }
    containers = client.containers.list(all=True, filters=chosen, ignore_removed=True)
    networks = client.networks.list(filters=chosen)
    kept = {mount.get("Name") for each in containers for mount in each.attrs["Mounts"]}
    volumes = [each for each in client.volumes.list(filters=chosen) if each.name not in kept]
    owners: dict[str, str] = {}
    for container in containers:
        owners[container.labels[RUN_LABEL]] = container.labels.get(OWNER_LABEL, "")
    for thing in (*networks, *volumes):
        tags = thing.attrs["Labels"]
        owners[tags[RUN_LABEL]] = tags.get(OWNER_LABEL, "")
    local = client.api.base_url.startswith("http+docker://")
    return [
        RunLeftovers(
            run_id=run,
            alive=_alive(who, local_engine=local),
            containers=tuple(c for c in containers if c.labels[RUN_LABEL] == run),
            networks=tuple(n for n in networks if n.attrs["Labels"][RUN_LABEL] == run),
            volumes=tuple(v for v in volumes if v.attrs["Labels"][RUN_LABEL] == run),
        )
        for run, who in sorted(owners.items())
    ]


def _alive(who: str, *, local_engine: bool) -> bool:
    """Whether an owner runs; True too when that cannot be known from here."""
    parts = who.split()
    if len(parts) != 4:
        return False
    boot, namespace, pid, start = parts
    # A local engine's labels were written on this host: it was rebooted since.
    if local_engine and boot != boot_id():
        return False
    return Owner(boot, namespace, int(pid), int(start)).lives()


def _shares_network(container: Container) -> bool:
    mode = container.attrs["HostConfig"]["NetworkMode"]
    return isinstance(mode, str) and mode.startswith("container:")


def _remove_container(container: Container) -> None:
    # Somebody else may be removing it, or may just have removed it.
    with suppress(NotFound):
        try:
            container.remove(force=True, v=True)
        except APIError as error:
            if "already in progress" not in str(error.explanation):
                raise
            container.wait(condition="removed")
