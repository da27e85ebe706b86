import socket

import pytest
from docker.errors import APIError

from rumpus.harness.docker.engine import connect, refusals
from rumpus.harness.docker.ensemble import DockerEnsemble
from rumpus.harness.docker.probe import CAPABILITIES, probe_engine
from rumpus.harness.ensemble import EnvironmentRefusal

NOWHERE = "unix:///nonexistent/docker.sock"


@pytest.mark.parametrize("host", [NOWHERE, "tcp://127.0.0.1:1"])
def test_no_engine_is_a_refusal_with_the_remedy(monkeypatch, host):
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(EnvironmentRefusal, match=rf"no Docker engine answers at {host} .*dockerd"):
        connect()


def test_forbidden_socket_is_a_refusal_with_the_remedy(monkeypatch):
    class Forbidden(socket.socket):
        def connect(self, _):
            raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("rumpus.harness.docker.engine_place.socket.socket", Forbidden)
    monkeypatch.setenv("DOCKER_HOST", NOWHERE)
    with pytest.raises(EnvironmentRefusal, match="add the user to the group `docker`"):
        connect()


def test_ensemble_without_engine_refuses_and_can_be_torn_down(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", NOWHERE)
    ensemble = DockerEnsemble("no-engine")
    with pytest.raises(EnvironmentRefusal, match="no Docker engine answers"):
        ensemble.start()
    ensemble.tear_down()


def test_without_engine_every_fault_is_unavailable_for_that_reason(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", NOWHERE)
    found = probe_engine()
    assert tuple(found) == CAPABILITIES
    assert not any(one.available for one in found.values())
    assert all("no Docker engine answers" in one.why for one in found.values())


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        (
            "could not find an available, non-overlapping IPv4 address pool among the defaults",
            "rumpus clean",
        ),
        ("all predefined address pools have been fully subnetted", "docker network prune"),
        (
            "Bind for 127.0.0.1:32768 failed: port is already allocated",
            "end what listens there",
        ),
        ("mkdir /var/lib/docker/x: no space left on device", "docker system prune"),
        ("No such image: rumpus/zookeeper:0", "make setup"),
        ("something never seen before", "the Docker engine says: something never seen before"),
    ],
)
def test_what_the_engine_refuses_comes_with_what_was_done_and_the_remedy(said, remedy):
    with pytest.raises(EnvironmentRefusal) as refusal, refusals("starting node n1"):
        raise APIError("500 Server Error", explanation=said)
    message = str(refusal.value)
    assert message.startswith("starting node n1 failed: ")
    assert remedy in message
    assert said in message


def test_mistakes_of_the_program_are_not_the_environments():
    with pytest.raises(KeyError), refusals("starting node n1"):
        raise KeyError("n9")
