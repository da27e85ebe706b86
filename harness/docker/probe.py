"""Which faults of servers a Docker host allows, tried on a throw-away container."""

import uuid
from contextlib import closing

from docker import DockerClient
from docker.errors import APIError
from docker.models.containers import Container

from rumpus.harness.docker.engine import connect, refusals
from rumpus.harness.docker.image import image_tag
from rumpus.harness.docker.leftovers import labels, remove_run
from rumpus.harness.ensemble import Availability, Capability, EnvironmentRefusal

_TRIALS: dict[Capability, tuple[str, str]] = {
    "partition": (
        "iptables -w -A INPUT -s 192.0.2.1/32 -j DROP",
        "a kernel with a packet filter (netfilter) that containers with NET_ADMIN may set",
    ),
    "delay": (
        "iptables -w -t mangle -A INPUT -j NFQUEUE --queue-num 1 && packet-delay 1:1000:0:0",
        "a kernel with netfilter's queues (`modprobe nfnetlink_queue` where it is a module)",
    ),
    "loss": (
        "iptables -w -A INPUT -m statistic --mode random --probability 0.1 -j DROP",
        "a kernel with netfilter's statistic match (`modprobe xt_statistic` where it is a module)",
    ),
}
"""Capability -> the command that succeeds if the host has it, and what it needs."""

CAPABILITIES: tuple[Capability, ...] = ("kill", "pause", "upgrade", *_TRIALS)


def probe_engine() -> dict[Capability, Availability]:
    """Capability -> whether this engine allows it for servers in containers, and if not, why.

    Never raises: an engine or image that is missing makes everything unavailable. The image is
    not built if it is missing. Takes under a second.
    """
    try:
        with closing(connect()) as client, refusals("trying what can be broken here"):
            return _probe(client)
    except EnvironmentRefusal as refusal:
        return dict.fromkeys(CAPABILITIES, Availability(available=False, why=str(refusal)))


def _probe(client: DockerClient) -> dict[Capability, Availability]:
    run_id = f"probe-{uuid.uuid4().hex[:12]}"
    try:
        container = client.containers.create(
            image_tag(),
            entrypoint=["sleep"],
            command=["infinity"],
            name=f"rumpus-{run_id}",
            labels=labels(run_id),
            init=True,
            cap_add=["NET_ADMIN"],
            network_mode="none",
        )
        container.start()
        found = {capability: _try(container, *trial) for capability, trial in _TRIALS.items()}
        found["pause"] = _try_pause(container)
        container.kill("SIGKILL")
        # A server is upgraded by starting another container when it was killed.
        found["kill"] = found["upgrade"] = Availability(available=True)
        return {capability: found[capability] for capability in CAPABILITIES}
    finally:
        remove_run(client, run_id)


def _try(container: Container, command: str, needs: str) -> Availability:
    code, said = container.exec_run(["bash", "-c", command])
    if code == 0:
        return Availability(available=True)
    assert isinstance(said, bytes), "the output of a command that is not streamed"
    words = " ".join(said.decode(errors="replace").split())
    return Availability(available=False, why=f"needs {needs}; here `{command}` says: {words}")


def _try_pause(container: Container) -> Availability:
    try:
        container.pause()
        container.unpause()
    except APIError as error:
        return Availability(
            available=False,
            why=f"needs the freezer of control groups; the engine says: {error.explanation}",
        )
    return Availability(available=True)
