"""The servers' images: each built once from its folder of ``docker/``, and again if that changes.

The node image is that of ZooKeeper, with the tools to break a node's network; it is always needed.
Those of other versions of ZooKeeper and of other systems are built when a run first needs them. An
image's tag contains the hash of its folder, so one with the right tag is up to date. The base image
is Debian's from a registry; where none answers, it is made with debootstrap. A version of ZooKeeper
is built on the Debian release that has it (``harness.zookeeper_versions``). This is also a command,
``python -m rumpus.harness.docker.image``, that makes the image when it is missing.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from docker import DockerClient
from docker.errors import APIError, ImageNotFound
from requests.exceptions import RequestException

from rumpus.harness.docker.engine import connect, refusals
from rumpus.harness.docker.watched_command import watched
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.harness.scratch import scratch
from rumpus.harness.zookeeper_versions import DEBIAN_RELEASES, USUAL_VERSION

Report = Callable[[str], None]

NODE = "zookeeper"
"""The folder of the node image."""
MIRROR_VARIABLE = "RUMPUS_DEBIAN_MIRROR"
"""Environment variable for the Debian mirror; if unset, debootstrap uses its default mirror."""

_DEBOOTSTRAP = Path("/usr/share/debootstrap")
_PULL_SILENCE_S = 20
_BUILD_SILENCE_S = 300
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# Left out of the base image: servers do not need it. The Dockerfile removes it as well.
_NOT_IN_BASE = (
    "var/cache/apt/archives/*.deb",
    "var/lib/apt/lists/*",
    "usr/share/doc/*",
    "usr/share/man/*",
    "usr/share/locale/*",
)


def build_context(system: str = NODE) -> Path:
    """The folder that an image is built from: the checkout's, or the installed package's.

    Args:
        system: what the image runs, the name of its folder.

    Raises:
        EnvironmentRefusal: neither is there.
    """
    places = (
        Path(__file__).resolve().parents[2] / "docker",
        Path(sysconfig.get_path("data")) / "share" / "rumpus" / "docker",
    )
    for place in places:
        if (place / system / "Dockerfile").is_file():
            return place / system
    raise EnvironmentRefusal(
        f"the image of {system} cannot be built: its Dockerfile is neither at "
        f"{' nor at '.join(map(str, places))}; run from a checkout of rumpus"
    )


def image_tag(system: str = NODE, version: str = USUAL_VERSION) -> str:
    """An image's full name: repository, version of ZooKeeper, and hash of the build context.

    Args:
        system: what the image runs; the names of other systems' images have no version.
        version: the version of ZooKeeper, a key of ``zookeeper_versions.DEBIAN_RELEASES``.

    Raises:
        EnvironmentRefusal: there is no build context.
    """
    context = build_context(system)
    digest = hashlib.sha256()
    for path in sorted(path for path in context.rglob("*") if path.is_file()):
        content = path.read_bytes()
        executable = os.access(path, os.X_OK)
        name = path.relative_to(context).as_posix()
        digest.update(f"{name} {executable} {len(content)}\n".encode())
        digest.update(content)
    mark = f"{version}-" if system == NODE else ""
    return f"rumpus/{system}:{mark}{digest.hexdigest()[:12]}"


def ensure_node_image(
    client: DockerClient,
    report: Report = lambda _: None,
    system: str = NODE,
    version: str = USUAL_VERSION,
) -> str:
    """Build an image unless the engine has it; return its name.

    Several processes may do this at once: one builds, the others wait for it.

    Args:
        client: the engine.
        report: told of every step, in a few words.
        system: what the image runs; the node image by default.
        version: the version of ZooKeeper, a key of ``zookeeper_versions.DEBIAN_RELEASES``.

    Raises:
        EnvironmentRefusal: it cannot be built here; the message says why and what to do.
    """
    tag = image_tag(system, version)
    if is_there(client, tag):
        return tag
    with _only_builder(report):
        if not is_there(client, tag):
            _build(client, system, version, _base(client, DEBIAN_RELEASES[version], report), report)
    return tag


def version_of(name: str) -> str | None:
    """The version of ZooKeeper that one of the project's own images has; None: another image."""
    return next((each for each in DEBIAN_RELEASES if name == image_tag(NODE, each)), None)


def ensure_image(client: DockerClient, name: str, report: Report = lambda _: None) -> str:
    """Pull an image unless the engine has it, or build it if it is one of a version; its name.

    Raises:
        EnvironmentRefusal: it is neither here nor can it be pulled or built.
    """
    if version := version_of(name):
        return ensure_node_image(client, report, NODE, version)
    if is_there(client, name):
        return name
    report(f"pulling {name}")
    said = _pull(name)
    if said is not None:
        raise EnvironmentRefusal(
            f"the image {name} is not on this engine and cannot be pulled ({said}): check its "
            "name, or bring it here with `docker load`"
        )
    return name


def is_there(client: DockerClient, name: str) -> bool:
    """Whether the engine has an image.

    Raises:
        EnvironmentRefusal: no image can have that name.
    """
    try:
        client.images.get(name)
    except ImageNotFound:
        return False
    except APIError as error:
        raise EnvironmentRefusal(f"{name!r} is not an image's name: {error.explanation}") from error
    return True


def _pull(name: str) -> str | None:
    """Pull an image; None if that worked, else why not."""
    repository, _, tag = name.rpartition(":") if ":" in name.rpartition("/")[2] else (name, "", "")
    try:
        with closing(connect(timeout=_PULL_SILENCE_S)) as client:
            for line in client.api.pull(repository, tag=tag or "latest", stream=True, decode=True):
                if "error" in line:
                    return str(line["error"])
    except (APIError, RequestException) as error:
        return str(getattr(error, "explanation", None) or error)
    return None


@contextmanager
def _only_builder(report: Report) -> Iterator[None]:
    path = Path(tempfile.gettempdir()) / f"rumpus-image-{os.getuid()}.lock"
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("waiting for another process that builds an image")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _base(client: DockerClient, release: str, report: Report) -> str:
    """The name of an image of a Debian release, which the engine has afterwards."""
    registrys, own = f"debian:{release}-slim", f"rumpus/debian:{release}"
    for name in (registrys, own):
        if is_there(client, name):
            return name
    report(f"pulling {registrys}")
    said = _pull(registrys)
    if said is None:
        return registrys
    report(f"no registry answers ({said}): making the base with debootstrap, about a minute")
    _bootstrap(client, release, report, f"no registry gives {registrys} ({said})")
    return own


def _bootstrap(client: DockerClient, release: str, report: Report, why: str) -> None:
    own, registrys = f"rumpus/debian:{release}", f"debian:{release}-slim"
    mirror = [os.environ[MIRROR_VARIABLE]] if MIRROR_VARIABLE in os.environ else []
    if os.getuid() != 0:
        raise EnvironmentRefusal(
            f"{why}, and only root can make the base image instead: run the same command once as "
            f"root, or `docker load` an image named {registrys}"
        )
    if shutil.which("debootstrap") is None:
        _install_debootstrap(why, registrys, report)
    with (
        scratch("base") as place,
        scratch("debootstrap") as scripts,
    ):
        watched(
            [
                *("env", f"DEBOOTSTRAP_DIR={_scripts_with(release, scripts)}"),
                *("debootstrap", "--variant=minbase", release, str(place), *mirror),
            ],
            report,
            f"making the base image of Debian {release} failed (set {MIRROR_VARIABLE} to use "
            "another mirror)",
            quiet=True,
        )
        report(f"importing {own}")
        excluded = [f"--exclude=./{pattern}" for pattern in _NOT_IN_BASE]
        command = ["tar", "--create", "--numeric-owner", f"--directory={place}", *excluded, "."]
        with (
            subprocess.Popen(command, stdout=subprocess.PIPE) as tar,
            refusals(f"importing {own}"),
        ):
            repository, tag = own.split(":")
            client.api.import_image_from_stream(tar.stdout, repository=repository, tag=tag)


def _scripts_with(release: str, place: Path) -> Path:
    """Debootstrap's files, with a script for a release that is younger than they: that of sid."""
    if (_DEBOOTSTRAP / "scripts" / release).exists():
        return _DEBOOTSTRAP
    own = place / "debootstrap"
    shutil.copytree(_DEBOOTSTRAP, own, symlinks=True)
    (own / "scripts" / release).symlink_to("sid")
    return own


def _install_debootstrap(why: str, registrys: str, report: Report) -> None:
    if shutil.which("apt-get") is None:
        raise EnvironmentRefusal(
            f"{why}, and debootstrap, which makes the base image instead, is not installed: "
            f"install it, or `docker load` an image named {registrys}"
        )
    failing = "installing debootstrap failed: install it by hand"
    report("installing debootstrap")
    watched(["apt-get", "update"], report, failing, quiet=True)
    watched(
        ["apt-get", "install", "--yes", "--no-install-recommends", "debootstrap"],
        report,
        failing,
        quiet=True,
    )


def _build(client: DockerClient, system: str, version: str, base: str, report: Report) -> None:
    tag = image_tag(system, version)
    report(f"building {tag} on {base}, about a minute")
    lines: list[str] = []
    what = f"building the image of {system}"
    remedy = ""
    if system == NODE:
        what += f" {version}"
        remedy = (
            f"; the mirror of Debian {DEBIAN_RELEASES[version]} must answer, and that release must "
            "still have this version"
        )
    with refusals(what):
        events: Iterator[dict[str, Any]] = client.api.build(
            path=str(build_context(system)),
            tag=tag,
            # The build uses this host's name resolution and proxies.
            network_mode="host",
            buildargs={
                "BASE": base,
                **({"ZOOKEEPER": version} if system == NODE else {}),
                **{p: os.environ[p] for p in _PROXIES if p in os.environ},
            },
            rm=True,
            forcerm=True,
            decode=True,
            timeout=_BUILD_SILENCE_S,
        )
        for event in events:
            said = _COLOUR.sub("", str(event.get("stream", ""))).strip()
            if said:
                lines.append(said)
            if said.startswith("Step "):
                report(" ".join(said.split())[:100])
            if "error" in event:
                raise EnvironmentRefusal(
                    f"{what} failed: {event['error']}{remedy}. Its last words:\n"
                    + "\n".join(lines[-15:])
                )


IF_ENGINE = "--if-engine"


def main(arguments: Sequence[str] = ()) -> int:
    """Make the node image if it is missing; return the exit code, 4 if it cannot be made here.

    Args:
        arguments: with ``IF_ENGINE``, it is no failure if no engine answers on this host.
    """

    def report(line: str) -> None:
        print(line, file=sys.stderr, flush=True)  # noqa: T201 - a command's progress

    try:
        client = connect()
    except EnvironmentRefusal as refusal:
        report(f"rumpus: {refusal}")
        if IF_ENGINE not in arguments:
            return 4
        report("rumpus: no image is made; runs are simulated")
        return 0
    try:
        with closing(client):
            tag = ensure_node_image(client, report)
    except EnvironmentRefusal as refusal:
        report(f"rumpus: {refusal}")
        return 4
    report(f"the node image {tag} is there")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
