import functools
import itertools
import os
import uuid
from contextlib import contextmanager

import pytest
from kazoo.client import KazooClient

from rumpus.harness.docker import packet_filter
from rumpus.harness.docker.ensemble import DockerEnsemble
from rumpus.harness.docker.image import ensure_node_image
from rumpus.harness.docker.leftovers import OWNER_LABEL, RUN_LABEL, find_leftovers
from rumpus.harness.docker.probe import CAPABILITIES
from rumpus.harness.ensemble import EnvironmentRefusal, serving
from rumpus.harness.owners import Owner

ZKLG = b"ZKLG"


def isolate(ensemble, node):
    others = frozenset(ensemble.nodes) - {node}
    return {node: others, **{other: frozenset({node}) for other in others}}


@contextmanager
def client_of(ensemble, *nodes):
    hosts = ",".join("{}:{}".format(*ensemble.client_address(node)) for node in nodes)
    client = KazooClient(hosts, timeout=5)
    client.start(timeout=20)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def of_run(client, run_id):
    return [one for one in find_leftovers(client, everything=True) if one.run_id == run_id]


@pytest.mark.docker
def test_every_node_serves_and_one_of_them_leads(ensemble):
    assert ensemble.nodes == ("n1", "n2", "n3")
    assert serving(ensemble) == ["n1", "n2", "n3"]
    assert ensemble.leader() in ensemble.nodes
    assert [ensemble.state(node) for node in ensemble.nodes] == ["running"] * 3
    with client_of(ensemble, *ensemble.nodes) as client:
        path = client.create(f"/{uuid.uuid4().hex}", b"here", ephemeral=True)
        assert client.get(path)[0] == b"here"


@pytest.mark.docker
def test_everything_is_labelled_and_published_on_loopback_only(ensemble, engine):
    (made,) = of_run(engine, ensemble.run_id)
    assert len(made.containers) == 6
    assert len(made.networks) == 1
    for container in made.containers:
        assert container.labels[RUN_LABEL] == ensemble.run_id
        assert container.labels[OWNER_LABEL] == str(Owner.of(os.getpid()))
    published = [
        binding
        for container in made.containers
        for bindings in container.ports.values()
        for binding in bindings or ()
    ]
    assert [binding["HostIp"] for binding in published] == ["127.0.0.1"] * 3
    assert {("127.0.0.1", int(binding["HostPort"])) for binding in published} == {
        ensemble.client_address(node) for node in ensemble.nodes
    }


@pytest.mark.docker
def test_killed_leader_is_replaced_and_comes_back_on_its_disk_and_address(ensemble, eventually):
    first = ensemble.leader()
    path = f"/{uuid.uuid4().hex}"
    address = ensemble.client_address(first)
    with client_of(ensemble, first) as client:
        client.create(path)
    ensemble.kill(first)
    assert ensemble.state(first) == "dead"
    assert not ensemble.serves(first)
    assert eventually(ensemble.leader) != first
    ensemble.kill(first)  # once more: nothing to do
    ensemble.restart(first)
    eventually(lambda: ensemble.serves(first))
    assert ensemble.client_address(first) == address
    with client_of(ensemble, first) as client:
        assert client.exists(path)
        client.delete(path)


@pytest.mark.docker
def test_paused_leader_is_replaced_and_follows_once_resumed(ensemble, eventually):
    first = ensemble.leader()
    ensemble.pause(first)
    ensemble.pause(first)
    assert ensemble.state(first) == "paused"
    assert not ensemble.serves(first)
    assert eventually(ensemble.leader) != first
    ensemble.resume(first)
    ensemble.resume(first)
    assert ensemble.state(first) == "running"
    eventually(lambda: ensemble.serves(first) and ensemble.leader() != first)


@pytest.mark.docker
def test_paused_server_can_be_killed_and_a_dead_one_not_paused(ensemble, eventually):
    ensemble.pause("n1")
    ensemble.kill("n1")
    assert ensemble.state("n1") == "dead"
    with pytest.raises(RuntimeError, match="n1 is dead"):
        ensemble.pause("n1")
    ensemble.resume("n1")
    assert ensemble.state("n1") == "dead"
    ensemble.restart("n1")
    eventually(lambda: ensemble.serves("n1"))


@pytest.mark.docker
def test_isolated_leader_is_replaced_and_returns_when_healed(ensemble, eventually):
    first = ensemble.leader()
    grudge = isolate(ensemble, first)
    others = sorted(grudge[first])
    ensemble.partition(grudge)
    assert ensemble.grudge() == grudge
    for one, other in itertools.permutations(ensemble.nodes, 2):
        assert ensemble.reaches(one, other) == (first not in {one, other})
    assert eventually(lambda: (now := ensemble.leader()) != first and now) in others
    eventually(lambda: not ensemble.serves(first))
    ensemble.heal()
    assert ensemble.grudge() == {}
    assert all(ensemble.reaches(*pair) for pair in itertools.permutations(ensemble.nodes, 2))
    eventually(lambda: ensemble.serves(first))


@pytest.mark.docker
def test_partition_is_one_way_and_replaces_the_one_before(ensemble):
    ensemble.partition(isolate(ensemble, "n3"))
    ensemble.partition({"n1": frozenset({"n2"})})
    assert ensemble.grudge() == {"n1": frozenset({"n2"})}
    assert not ensemble.reaches("n1", "n2")
    assert not ensemble.reaches("n2", "n1")
    assert ensemble.reaches("n3", "n1")
    assert ensemble.reaches("n3", "n2")
    # One way: n2 hears n1, and it is its answers that are lost.
    assert packets_passed(ensemble, source="n1", node="n2") > 0
    assert packets_passed(ensemble, source="n2", node="n1") == 0


def packets_passed(ensemble, *, source, node):
    """How many packets get past a node's filter while another tries to connect to it."""
    receiver, ip = ensemble._nodes[node], ensemble._nodes[source].ip
    rule = f"INPUT -s {ip}/32 -p tcp --dport 1"
    receiver.run_in_network(f"iptables -w -A {rule}")
    ensemble.reaches(source, node)
    _, said = receiver.run_in_network("iptables -w -L INPUT -n -v -x")
    receiver.run_in_network(f"iptables -w -D {rule}")
    (count,) = [line.split()[0] for line in said.splitlines() if f" {ip} " in line]
    return int(count)


@pytest.mark.docker
def test_ring_keeps_each_nodes_two_neighbours_apart(ensemble):
    # With three nodes a ring of majorities loses one edge: everybody still sees a majority.
    ring = {"n1": frozenset({"n3"}), "n3": frozenset({"n1"})}
    ensemble.partition(ring)
    assert ensemble.grudge() == ring
    assert [
        pair for pair in itertools.combinations(ensemble.nodes, 2) if ensemble.reaches(*pair)
    ] == [("n1", "n2"), ("n2", "n3")]


@pytest.mark.docker
def test_partition_outlives_kill_and_restart_and_can_be_healed_while_a_server_is_dead(ensemble):
    grudge = isolate(ensemble, "n2")
    ensemble.partition(grudge)
    ensemble.kill("n2")
    ensemble.restart("n2")
    assert ensemble.grudge() == grudge
    ensemble.kill("n2")
    ensemble.heal()
    assert ensemble.grudge() == {}
    assert ensemble.reaches("n1", "n2")


@pytest.mark.docker
def test_partition_leaves_clients_alone(ensemble, eventually):
    leader = ensemble.leader()
    follower = next(node for node in ensemble.nodes if node != leader)
    with client_of(ensemble, leader) as client:
        ensemble.partition(isolate(ensemble, follower))
        path = client.create(f"/{uuid.uuid4().hex}", ephemeral=True)
        assert client.exists(path)
    # The isolated one is reached, and says for itself that it does not serve.
    eventually(lambda: not ensemble.serves(follower))


@pytest.mark.docker
def test_partition_names_unknown_nodes_and_changes_nothing(ensemble):
    for grudge in ({"n9": frozenset({"n1"})}, {"n1": frozenset({"n9"})}):
        with pytest.raises(KeyError, match="n9"):
            ensemble.partition(grudge)
    assert ensemble.grudge() == {}


@pytest.mark.docker
def test_packet_filter_that_cannot_be_set_is_a_refusal(ensemble, monkeypatch):
    monkeypatch.setattr(packet_filter, "drop_script", lambda _: "echo no filter here; exit 1")
    with pytest.raises(EnvironmentRefusal, match=r"of n. cannot be set.*no filter here"):
        ensemble.partition({"n1": frozenset({"n2"})})


@pytest.mark.docker
def test_gathers_from_running_paused_and_dead_nodes(ensemble, eventually, tmp_path):
    with client_of(ensemble, *ensemble.nodes) as client:
        path = client.create(f"/{uuid.uuid4().hex}")
    for node in ensemble.nodes:
        # A quorum has it: the others' logs have it a little later.
        with client_of(ensemble, node) as client:
            eventually(functools.partial(client.exists, path))
    ensemble.pause("n1")
    ensemble.kill("n2")
    ensemble.gather(tmp_path)
    for node in ensemble.nodes:
        data = tmp_path / node / "version-2"
        logs = sorted(data.glob("log.*"))
        assert logs
        assert all(log.read_bytes().startswith(ZKLG) for log in logs)
        assert any(path.encode() in log.read_bytes() for log in logs)
        assert list(data.glob("snapshot.*"))
        assert int((data / "currentEpoch").read_text()) >= 1
        assert int((data / "acceptedEpoch").read_text()) >= 1
        assert "QuorumPeerMain" in (tmp_path / node / "node.log").read_text()


@pytest.mark.docker
def test_probe_tries_what_this_host_allows(ensemble):
    found = ensemble.probe()
    disks = ("full-disk", "disk-journal")
    assert tuple(found) == (*CAPABILITIES, "clock", "stall", "triggers", *disks, "containers")
    assert found["kill"].available
    assert found["clock"].why == "these servers read the host's clock"
    assert "interpreter lock" in found["stall"].why
    for fault, availability in found.items():
        assert availability.available == (availability.why == ""), fault
    if not found["delay"].available:
        assert "nfnetlink_queue" in found["delay"].why
    assert ensemble.probe() is found


@pytest.mark.docker
def test_other_image_with_its_own_places_runs_unchanged(engine, other_image, tmp_path):
    image = other_image(
        "ENV ZOO_DATA_DIR=/var/zk/data ZOO_DATA_LOG_DIR=/var/zk/log\n"
        "RUN install -d -o zookeeper -g zookeeper /var/zk/data /var/zk/log\n"
    )
    ensemble = DockerEnsemble(f"tests-{uuid.uuid4().hex[:8]}", nodes=1, image=image)
    try:
        ensemble.start()
        assert ensemble.leader() == "n1"
        with client_of(ensemble, "n1") as client:
            client.create("/here")
        ensemble.gather(tmp_path)
    finally:
        ensemble.tear_down()
    (log,) = (tmp_path / "n1" / "version-2").glob("log.*")
    assert b"/here" in log.read_bytes()
    assert of_run(engine, ensemble.run_id) == []


@pytest.mark.docker
def test_server_that_ends_while_starting_is_a_refusal_with_its_last_words(engine, other_image):
    image = other_image('CMD ["sh", "-c", "echo no quorum in this box; exit 3"]\n')
    ensemble = DockerEnsemble(f"tests-{uuid.uuid4().hex[:8]}", nodes=1, image=image)
    with pytest.raises(EnvironmentRefusal, match=r"(?s)n1 ended while.*no quorum in this box"):
        ensemble.start()
    assert of_run(engine, ensemble.run_id) == []
    ensemble.tear_down()


@pytest.fixture
def other_image(engine, tmp_path):
    """Build an image on ours from a few more lines."""
    made = []

    def build(lines):
        context = tmp_path / "context"
        context.mkdir()
        (context / "Dockerfile").write_text(f"FROM {ensure_node_image(engine)}\n{lines}")
        made.append(f"rumpus/tests:{uuid.uuid4().hex[:8]}")
        engine.images.build(path=str(context), tag=made[-1], rm=True, forcerm=True)
        return made[-1]

    yield build
    for tag in made:
        engine.images.remove(tag)


@pytest.mark.docker
def test_interrupt_while_starting_leaves_nothing(engine, monkeypatch):
    ensemble = DockerEnsemble(f"tests-{uuid.uuid4().hex[:8]}", nodes=1)
    seen = []

    def interrupt():
        seen.extend(of_run(engine, ensemble.run_id))
        raise KeyboardInterrupt

    monkeypatch.setattr(ensemble, "_await_service", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ensemble.start()
    assert [len(one.containers) for one in seen] == [2]
    assert of_run(engine, ensemble.run_id) == []


@pytest.mark.docker
def test_unknown_image_is_a_refusal_that_names_it():
    ensemble = DockerEnsemble("tests-no-image", image="rumpus/never-built:1")
    with pytest.raises(EnvironmentRefusal, match="the image rumpus/never-built:1 is not on this"):
        ensemble.start()


@pytest.mark.docker
def test_second_run_of_the_same_name_is_refused_and_spares_the_first(ensemble):
    with pytest.raises(EnvironmentRefusal, match="already"):
        DockerEnsemble(ensemble.run_id).start()
    assert serving(ensemble) == list(ensemble.nodes)


def test_nothing_leads_before_the_start_and_after_the_end():
    ensemble = DockerEnsemble("not-started")
    assert ensemble.leader() is None
    ensemble.tear_down()
    assert ensemble.leader() is None
    assert ensemble.grudge() == {}


@pytest.mark.parametrize("run_id", ["", "-x", "a/b", "a b"])
def test_run_id_that_cannot_be_a_name_is_refused(run_id):
    with pytest.raises(ValueError, match="run id"):
        DockerEnsemble(run_id)


def test_no_nodes_are_no_ensemble():
    with pytest.raises(ValueError, match="at least one"):
        DockerEnsemble("none", nodes=0)
