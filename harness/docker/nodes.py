"""One server in Docker: a sidecar container for its network, and the server's.

The sidecar has the network namespace, with the node's name, address, packet filter and published
port; the server's container joins that namespace. So a server that is killed and started again
finds its network unchanged, and its image needs no network tools.
"""

import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, cast

from docker import DockerClient
from docker.errors import APIError, NotFound
from docker.types import DriverConfig, LogConfig, Mount

from rumpus.harness.docker.zookeeper_server import CLIENT_PORT
from rumpus.harness.ensemble import EnvironmentRefusal, NodeState

if TYPE_CHECKING:
    from docker.models.containers import Container

_COPY_TRIES = 5
_EXEC_TRIES = 5
_LAST_WORD = "rumpus-end-of-output"
_FREEZE_S = 30.0
_CANNOT_FREEZE = "unable to freeze"  # what runc says


class DockerNode:
    """One node. `create` makes its containers and must be called before any other method.

    Args:
        client: the engine.
        name: the node's name, also its host name on the run's network.
        run_id: the run's id, part of the containers' names.
        labels: labels of both containers.
        ports: the server's ports that clients need.
    """

    def __init__(
        self,
        client: DockerClient,
        name: str,
        run_id: str,
        labels: Mapping[str, str],
        ports: Sequence[int] = (CLIENT_PORT,),
    ) -> None:
        self.name = name
        self.ip = ""
        """Address on the run's network, once created."""
        self.addresses: list[tuple[str, int]] = []
        """Host and port that clients use, for each of ``ports``; once created."""
        self._ports = ports
        self._client = client
        self._run_id = run_id
        self._labels = dict(labels)
        self._network = ""
        self._sidecar: Container
        self._server: Container
        self._settings: dict[str, Any] = {}
        self._former: list[Container] = []
        """The server's containers with other images, which have ended (``start_as``)."""

    def create(
        self,
        *,
        tools_image: str,
        server_image: str,
        network: str,
        environment: Mapping[str, str],
        command: Sequence[str] = (),
        shared: Mapping[str, DriverConfig | None] = MappingProxyType({}),
        prepared: Callable[[], None] = lambda: None,
    ) -> None:
        """Start the sidecar and make the server's container, without starting it.

        Args:
            tools_image: the sidecar's.
            server_image: the server's.
            network: the run's.
            environment: the server's.
            command: the server's; empty: its image's own.
            shared: path in the server -> what makes the volume there, which the sidecar has, too;
                None: the engine's usual driver.
            prepared: called when the sidecar runs, before the server's container is made.

        Raises:
            docker.errors.APIError: the engine refused.
        """
        self._network = network
        self._sidecar = self._client.containers.create(
            tools_image,
            # In memory: volumes would be left over if somebody else removed the container.
            mounts=[
                Mount(target=place, source=None, type="tmpfs")
                for place in self._places(tools_image)
                if place not in shared
            ]
            + [
                Mount(place, None, type="volume", labels=self._labels, driver_config=driver)
                for place, driver in shared.items()
            ],
            entrypoint=["sleep"],
            command=["infinity"],
            name=f"rumpus-{self._run_id}-{self.name}-network",
            hostname=self.name,
            labels=self._labels,
            init=True,
            cap_add=["NET_ADMIN"],
            network=network,
            networking_config={
                network: self._client.api.create_endpoint_config(aliases=[self.name])
            },
            # 0: any free port.
            ports={f"{port}/tcp": ("127.0.0.1", 0) for port in self._ports},
        )
        self._sidecar.start()
        self._sidecar.reload()
        settings = self._sidecar.attrs["NetworkSettings"]
        volumes = {
            each["Destination"]: each["Name"]
            for each in self._sidecar.attrs["Mounts"]
            if each["Destination"] in shared
        }
        self.ip = settings["Networks"][network]["IPAddress"]
        published = (settings["Ports"][f"{port}/tcp"][0] for port in self._ports)
        self.addresses = [(each["HostIp"], int(each["HostPort"])) for each in published]
        self._settings = {
            "command": list(command) or None,
            "labels": self._labels,
            "network_mode": f"container:{self._sidecar.id}",
            "environment": dict(environment),
            # Keep the whole output, readable through the engine, whatever the engine's default.
            "log_config": LogConfig(type=LogConfig.types.JSON, config={"max-size": "1g"}),
        }
        prepared()
        self._server = self._client.containers.create(
            server_image,
            # Anonymous volumes, as the image declares them, with labels by which to find them.
            mounts=[
                Mount(target=place, source=None, type="volume", labels=self._labels)
                for place in self._places(server_image)
                if place not in volumes
            ]
            + [Mount(place, name, type="volume") for place, name in volumes.items()],
            name=f"rumpus-{self._run_id}-{self.name}",
            **self._settings,
        )

    def _places(self, image: str) -> list[str]:
        """The paths at which an image declares volumes."""
        return sorted(self._client.images.get(image).attrs["Config"]["Volumes"] or {})

    def state(self) -> NodeState:
        """What the node's containers are doing."""
        try:
            server, sidecar = (
                self._client.api.inspect_container(str(each.id))
                for each in (self._server, self._sidecar)
            )
        except NotFound:
            return "removed"
        if self._network not in sidecar["NetworkSettings"]["Networks"]:
            return "unplugged"
        if not sidecar["State"]["Running"]:
            return "unplugged"
        if server["State"]["Paused"] or sidecar["State"]["Paused"]:
            return "paused"
        return "running" if server["State"]["Running"] else "dead"

    def start(self) -> None:
        """Start the server; nothing happens if it runs."""
        self._server.start()

    def start_as(self, image: str) -> None:
        """Start a dead server from another image, on its volumes and with its network.

        Its former container stays, with what it printed.

        Raises:
            RuntimeError: the server is not dead.
            docker.errors.APIError: the engine refused; the server is as before.
        """
        if (state := self.state()) != "dead":
            raise RuntimeError(f"{self.name} is {state}: only a dead server can be started anew")
        number = len(self._former) + 2
        server = self._client.containers.create(
            image,
            volumes_from=[str(self._server.id)],
            name=f"rumpus-{self._run_id}-{self.name}-{number}",
            **self._settings,
        )
        self._former.append(self._server)
        self._server = server
        server.start()

    def kill(self) -> None:
        """Kill the server with SIGKILL, paused or not, and wait for its end."""
        if self.state() == "dead":
            return
        try:
            self._server.kill("SIGKILL")
        except APIError as error:
            if error.status_code != HTTPStatus.CONFLICT:  # it ended by itself just now
                raise
        self._server.wait()

    def pause(self) -> None:
        """Freeze the server; nothing happens if it is frozen.

        Raises:
            RuntimeError: it is dead.
        """
        state = self.state()
        if state == "dead":
            raise RuntimeError(f"{self.name} is dead: only a running server can be paused")
        if state == "running":
            freeze(self._server)

    def resume(self) -> None:
        """Unfreeze the node's containers; nothing happens if they are not frozen."""
        for container in (self._sidecar, self._server):
            _unpause(container)

    def run_in_network(self, script: str) -> tuple[int, str]:
        """Run a bash script in the node's network; its exit code and all that it printed.

        A busy engine can lose the end of what a command printed. So a marker is printed last, and
        a script whose marker is missing is run again: scripts must be such that running them
        twice does no harm.

        Raises:
            EnvironmentRefusal: the engine lost the output every time.
        """
        api = self._client.api
        marked = f"trap 'echo {_LAST_WORD}' EXIT\n{script}"
        for _ in range(_EXEC_TRIES):
            try:
                command = api.exec_create(self._sidecar.id, ["bash", "-c", marked])["Id"]
            except APIError as error:
                # Somebody else must have paused the sidecar; this program never does.
                if error.status_code != HTTPStatus.CONFLICT or not _unpause(self._sidecar):
                    raise
                continue
            said = api.exec_start(command).decode(errors="replace")
            output, last_word, errors = said.rpartition(f"{_LAST_WORD}\n")
            if last_word:  # stderr comes through another pipe, so perhaps after the marker
                return int(api.exec_inspect(command)["ExitCode"]), output + errors
        raise EnvironmentRefusal(
            f"the Docker engine lost the output of a command in {self.name} {_EXEC_TRIES} times in "
            "a row: restart the engine, or give it a machine that is less busy"
        )

    def run_in_server(self, command: Sequence[str]) -> None:
        """Run a command in the server's container.

        Raises:
            RuntimeError: the server is dead or paused, or the command failed.
        """
        state = self.state()
        if state != "running":
            raise RuntimeError(f"{self.name} is {state}: nothing can be run there")
        api = self._client.api
        made = api.exec_create(self._server.id, list(command))["Id"]
        said = api.exec_start(made)
        if api.exec_inspect(made)["ExitCode"]:
            text = said.decode(errors="replace").strip()
            raise RuntimeError(f"{' '.join(command)} failed at {self.name}: {text}")

    def limit(self, **limits: Any) -> None:
        """Set what the server may use: arguments of ``Container.update``."""
        self._server.update(**limits)

    def limits(self) -> Mapping[str, Any]:
        """What the server may use, as the engine says it."""
        self._server.reload()
        found: Mapping[str, Any] = self._server.attrs["HostConfig"]
        return found

    def log_tail(self, lines: int) -> str:
        """The last lines that the server printed."""
        return self._server.logs(tail=lines).decode(errors="replace").strip()

    def copy_log(self, destination: Path) -> None:
        """Write all that the server printed, before and after restarts, to a file."""
        with destination.open("wb") as file:
            for each in (*self._former, self._server):
                file.writelines(each.logs(stream=True, follow=False))

    @property
    def address(self) -> tuple[str, int]:
        """Host and port that clients use, once created: the first, if there are several."""
        return self.addresses[0]

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of the server's container, those of its image included."""
        entries = self._server.attrs["Config"]["Env"]
        return dict(entry.partition("=")[::2] for entry in entries)

    def copy_folder(self, source: PurePosixPath, destination: Path) -> None:
        """Copy the files of a folder of the server's container into a directory; all flat.

        Works in every state of the server. Nothing is copied if there is no such folder.

        Raises:
            tarfile.ReadError: at every try, a file grew while it was copied.
        """
        destination.mkdir(parents=True, exist_ok=True)
        for name, content in _files_of(self._server, source):
            (destination / name).write_bytes(content)

    def read_folder(self, source: PurePosixPath) -> dict[str, bytes]:
        """Name -> content, of the files of a folder that the sidecar has, too (``shared``).

        Empty if there is no such folder.

        Raises:
            tarfile.ReadError: at every try, a file grew while it was copied.
        """
        return dict(_files_of(self._sidecar, source))

    def write_files(self, archive: bytes) -> None:
        """Write the files of a tar archive to where the sidecar has them, too (``shared``)."""
        self._sidecar.put_archive("/", archive)


def _files_of(container: "Container", source: PurePosixPath) -> Iterator[tuple[str, bytes]]:
    """The files of a folder, with their names; nothing if there is no such folder.

    If one grows while it is copied, all come once more.
    """
    # The engine notes a file's size, then reads the file. If a running server's file has grown
    # in between, the archive ends there, incomplete.
    for attempt in range(_COPY_TRIES):
        try:
            chunks, _ = container.get_archive(str(source))
        except NotFound:
            return  # a server that died before it wrote anything
        try:
            with _spooled(chunks) as archive, tarfile.open(fileobj=archive) as tar:
                for member in tar:
                    content = tar.extractfile(member)
                    if content is not None:
                        yield Path(member.name).name, content.read()
        except tarfile.ReadError:
            if attempt == _COPY_TRIES - 1:
                raise
        else:
            return


def freeze(container: "Container", patience: float = _FREEZE_S) -> None:
    """Freeze a container.

    A thread that waits for the disk can only be frozen when its wait is over. With version 1 of
    control groups the engine's runtime tries for less than a second, then lets all threads go on
    and gives up. So it is asked again: a server may be writing its log.

    Raises:
        EnvironmentRefusal: it did not succeed in ``patience`` seconds.
        docker.errors.APIError: the engine refused for another reason.
    """
    until = time.monotonic() + patience
    while True:
        try:
            return container.pause()
        except APIError as error:
            if _CANNOT_FREEZE not in str(error):
                raise
            if time.monotonic() >= until:
                raise EnvironmentRefusal(
                    f"a thread of {container.name} waits for the disk, so the engine could not "
                    f"freeze it in {patience:g} s: give it a machine whose disk is less busy"
                ) from error


def _unpause(container: "Container") -> bool:
    """Unfreeze a container; whether it was frozen."""
    container.reload()
    if container.status != "paused":
        return False
    container.unpause()
    return True


def _spooled(chunks: Iterable[bytes]) -> IO[bytes]:
    file = cast("IO[bytes]", tempfile.SpooledTemporaryFile(max_size=16 << 20))  # noqa: SIM115 - the caller closes it
    file.writelines(chunks)
    file.seek(0)
    return file
