import shutil
from collections import namedtuple

import pytest

from rumpus.harness.docker.systems import SYSTEMS
from rumpus.recipes.servers import ZOOKEEPER

Usage = namedtuple("Usage", "total used free")  # noqa: PYI024 - shutil's own is one


@pytest.mark.usefixtures("no_engine")
def test_without_an_engine_it_says_what_is_there_and_what_to_do(rumpus, tmp_path):
    answer = rumpus("doctor", "--runs", tmp_path / "not" / "there" / "yet")
    assert (answer.code, answer.err) == (0, "")
    assert "kazoo" in answer.out
    assert "✔ disk" in answer.out
    assert "✘ docker" in answer.out
    assert "runs are simulated" in answer.out
    assert "start it" in answer.out


@pytest.mark.docker
def test_with_an_engine_it_tells_of_image_leftovers_and_every_fault(rumpus, tmp_path):
    answer = rumpus("doctor", "--runs", tmp_path)
    assert answer.code == 0
    for what in (
        "docker",
        "node image",
        "leftovers",
        "zookeeper 3.9.6",
        *(SYSTEMS.keys() - {ZOOKEEPER}),
        "kill",
        "partition",
    ):
        assert f" {what} " in answer.out


@pytest.mark.docker
def test_it_tells_what_the_host_allows_between_servers_and_what_it_lacks(rumpus, tmp_path):
    lines = rumpus("doctor", "--runs", tmp_path).out.splitlines()
    for kind in ("packet-delay", "follower-lag"):
        (line,) = [line for line in lines if f" {kind} " in line]
        assert line.startswith("✔") or "needs a kernel with netfilter's queues" in line
    assert any(line.startswith("✔ packet-loss ") for line in lines)


@pytest.mark.docker
def test_a_full_disk_is_found(rumpus, monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1 << 40, 1 << 40, 5 << 20))
    answer = rumpus("doctor", "--runs", tmp_path)
    assert answer.code == 4
    assert "✘ disk" in answer.out
    assert "5 MiB free" in answer.out
