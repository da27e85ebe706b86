import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import ClassVar

import pytest
from docker.errors import APIError, NotFound

from rumpus.harness.docker import leftovers as docker_leftovers
from rumpus.harness.docker.image import ensure_node_image
from rumpus.harness.docker.leftovers import (
    OWNER_LABEL,
    RUN_LABEL,
    RunLeftovers,
    find_leftovers,
    remove_leftovers,
    remove_run,
)
from rumpus.harness.owners import Owner

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def dead_owner():
    with subprocess.Popen(["sleep", "60"]) as process:
        name = str(Owner.of(process.pid))
        process.kill()
    return name


def alive(who, *, local_engine=True):
    return docker_leftovers._alive(who, local_engine=local_engine)


def test_this_process_is_alive():
    assert alive(str(Owner.of()))


def test_ended_process_is_dead(dead_owner):
    assert not alive(dead_owner)


def test_ended_process_that_nobody_has_waited_for_is_dead():
    with subprocess.Popen(["sleep", "60"]) as process:
        name = str(Owner.of(process.pid))
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not alive(name)


def test_other_process_with_the_same_pid_does_not_count():
    boot, namespace, pid, start = str(Owner.of()).split()
    assert not alive(f"{boot} {namespace} {pid} {int(start) - 1}")


def test_owner_from_before_a_reboot_is_dead_on_a_local_engine_only():
    _, *rest = str(Owner.of()).split()
    before = " ".join(["00000000-0000-0000-0000-000000000000", *rest])
    assert not alive(before)
    assert alive(before, local_engine=False)


def test_owner_in_another_pid_namespace_is_left_alone(dead_owner):
    boot, _, pid, start = dead_owner.split()
    assert alive(f"{boot} 1 {pid} {start}")


def test_nobody_owns_what_is_not_labelled_so():
    assert not alive("")


def test_there_is_no_owner_without_a_process(dead_owner):
    with pytest.raises(ProcessLookupError):
        Owner.of(int(dead_owner.split()[2]))


@pytest.fixture
def make(engine):
    made = []

    def container_and_network(tags):
        run_id = f"leftover-{uuid.uuid4().hex[:8]}"
        made.append(run_id)
        tags = {RUN_LABEL: run_id, **tags}
        network = engine.networks.create(f"rumpus-{run_id}", labels=tags)
        container = engine.containers.create(
            ensure_node_image(engine), ["sleep", "60"], labels=tags, network=network.name
        )
        return run_id, container, network

    yield container_and_network
    for run_id in made:
        remove_run(engine, run_id)


def found(engine, **which):
    return {one.run_id: one for one in find_leftovers(engine, **which)}


@pytest.mark.docker
def test_things_of_a_dead_owner_are_found_and_removed_with_their_volumes(engine, make, dead_owner):
    run_id, container, network = make({OWNER_LABEL: dead_owner})
    container.start()
    container.reload()
    volumes = [mount["Name"] for mount in container.attrs["Mounts"]]
    assert volumes
    leftovers = found(engine)[run_id]
    assert str(leftovers) == f"run {run_id}: 1 container and 1 network"
    remove_leftovers([leftovers])
    assert run_id not in found(engine, everything=True)
    for get, name in (
        (engine.containers.get, container.id),
        (engine.networks.get, network.id),
        *((engine.volumes.get, volume) for volume in volumes),
    ):
        with pytest.raises(NotFound):
            get(name)
    remove_leftovers([leftovers])  # somebody else was faster


@pytest.mark.docker
def test_things_of_a_living_owner_are_kept_unless_everything_is_asked_for(engine, make):
    run_id, *_ = make({OWNER_LABEL: str(Owner.of())})
    assert run_id not in found(engine)
    assert found(engine, everything=True)[run_id].alive


@pytest.mark.docker
def test_removing_a_run_leaves_others(engine, make):
    one, *_ = make({OWNER_LABEL: str(Owner.of())})
    other, *_ = make({OWNER_LABEL: str(Owner.of())})
    remove_run(engine, one)
    runs = found(engine, everything=True)
    assert one not in runs
    assert other in runs


@pytest.mark.docker
def test_a_killed_control_process_leaves_what_the_next_one_removes(engine):
    run_id = f"killed-{uuid.uuid4().hex[:8]}"
    program = (
        "import signal\n"
        "from rumpus.harness.docker.ensemble import DockerEnsemble\n"
        f"DockerEnsemble({run_id!r}, nodes=1).start()\n"
        "print('up', flush=True)\n"
        "signal.pause()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout.readline() == "up\n"
        assert run_id not in found(engine)
        process.kill()
    leftovers = found(engine)[run_id]
    assert str(leftovers) == f"run {run_id}: 2 containers and 1 network"
    volumes = {
        mount["Name"]
        for container in leftovers.containers
        for mount in engine.containers.get(container.id).attrs["Mounts"]
        if mount["Type"] == "volume"
    }
    for container in leftovers.containers:
        container.remove(force=True)  # as `docker rm -f` does, which leaves the volumes
    leftovers = found(engine)[run_id]
    assert str(leftovers) == f"run {run_id}: 1 network and 3 volumes"
    remove_leftovers([leftovers])
    assert run_id not in found(engine, everything=True)
    assert not volumes & {volume.name for volume in engine.volumes.list()}


def test_somebody_else_may_be_removing_a_container_and_be_ready_at_any_moment():
    class Vanishing:
        attrs: ClassVar = {"HostConfig": {"NetworkMode": "none"}}

        def remove(self, **_options):
            raise APIError("conflict", explanation="removal of container x is already in progress")

        def wait(self, **_options):
            raise NotFound("No such container: x")

    remove_leftovers([RunLeftovers("r", alive=False, containers=(Vanishing(),), networks=())])
