"""The servers' truth, read from the logs of real servers, against what the servers say."""

import os
import re
import subprocess
import sys
import uuid

import msgspec
import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, KazooException, NodeExistsError, SessionExpiredError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.retry import KazooRetry

from rumpus.checker.history import session_hex
from rumpus.checker.servers.node_files import counter, epoch, read_node_directory
from rumpus.checker.servers.server_truth import merge

pytestmark = pytest.mark.docker

ABANDON = """
import os, sys
from kazoo.client import KazooClient
client = KazooClient(sys.argv[1], timeout=1)
client.start()
client.create(sys.argv[2], b"left behind", ephemeral=True)
print(hex(client.client_id[0]), flush=True)
os._exit(0)
"""
"""A client that leaves an ephemeral znode and dies without closing its session."""


def hosts_of(ensemble, *nodes):
    return ",".join(
        "{}:{}".format(*ensemble.client_address(node)) for node in nodes or ensemble.nodes
    )


@pytest.fixture
def connect(ensemble):
    clients = []

    def start(*nodes, timeout=10):
        retry = KazooRetry(max_tries=-1, delay=0.05, max_delay=0.2)
        client = KazooClient(hosts_of(ensemble, *nodes), timeout, connection_retry=retry)
        clients.append(client)
        client.start(timeout=30)
        return client

    yield start
    for client in clients:
        client.stop()
        client.close()


@pytest.fixture
def gather(ensemble, tmp_path):
    """The servers' truth as their files tell it now, and where the files are."""

    def read():
        place = tmp_path / uuid.uuid4().hex
        ensemble.gather(place)
        return merge({node: read_node_directory(place / node) for node in ensemble.nodes}), place

    return read


def tree(client, path="/"):
    """What a server has: path -> czxid, ephemeral owner in hex (or None) for all but its own."""
    found = {}
    for child in client.get_children(path):
        below = f"{path.rstrip('/')}/{child}"
        if below != "/zookeeper":
            stat = client.exists(below)
            owner = session_hex(stat.ephemeralOwner) if stat.ephemeralOwner else None
            found[below] = (stat.czxid, stat.ctime, owner)
            found.update(tree(client, below))
    return found


def standing(truth):
    """The same from the logs."""
    return {
        life.path: (life.czxid, life.created_ms, life.owner)
        for life in truth.znodes("/")
        if life.deleted_zxid is None
    }


def differing(tree, truth):
    """Where a server's tree is not what the truth says, other than by what is uncertain or forked.

    ZooKeeper 3.8 itself can leave servers with different trees (see `checker.servers.commitment`).
    """
    open_ends = {
        path
        for txn in truth.uncertain + truth.forked
        for effect in txn.effects
        for path in (effect.path, *(effect.paths or ()))
    }
    return {item for item in tree.items() ^ standing(truth).items() if item[0] not in open_ends}


@pytest.fixture
def agreed(ensemble, connect, gather):
    """The truth and the files, read while nothing changed, and equal to every server's tree.

    A session that some other test left may expire just then: then it is read again.
    """

    def read():
        clients = {node: connect(node) for node in ensemble.nodes}
        for _ in range(10):
            before = {node: synced_tree(client) for node, client in clients.items()}
            truth, place = gather()
            after = {node: synced_tree(client) for node, client in clients.items()}
            if after == before and not any(OPEN_END in note for note in truth.notes):
                break
        else:
            changed = {node: before[node].items() ^ after[node].items() for node in before}
            raise AssertionError(
                f"the ensemble did not come to rest: changed {changed}, "
                f"uncertain {truth.notes}, files {place}"
            )
        for node, found in before.items():
            assert not differing(found, truth), f"{node}, files {place}"
        assert truth.reasons == []
        assert all("the servers' trees differ" in note for note in truth.notes)
        return truth, place

    return read


OPEN_END = "the next leader decides"
"""What the truth says of a write that may still be committed or not."""


def synced_tree(client):
    client.sync("/")
    return tree(client)


def write(client, root, number):
    """Create znodes until one is acknowledged; its path."""
    for attempt in range(200):
        path = f"{root}/{number}-{attempt}"
        try:
            return client.retry(client.create, path, b"acknowledged")
        except (ConnectionLoss, SessionExpiredError):
            continue
    raise AssertionError("nothing was acknowledged in 200 attempts")


def test_every_kind_of_life(ensemble, connect, agreed, eventually):
    root = f"/{uuid.uuid4().hex}"
    client = connect("n1")
    client.create(root)
    client.create(f"{root}/deleted")
    client.set(f"{root}/deleted", b"changed")
    client.delete(f"{root}/deleted")
    client.create(f"{root}/deleted", b"again")
    sequential = [client.create(f"{root}/s-", sequence=True) for _ in range(3)]
    with client.transaction() as multi:
        multi.check(root, 0)
        multi.create(f"{root}/multi", b"", ephemeral=True)
        multi.delete(sequential[1])
    failed = client.transaction()
    failed.create(f"{root}/never")
    failed.delete(f"{root}/missing")
    assert isinstance(failed.commit()[0], KazooException)

    leaving = connect("n2")
    closed = session_hex(leaving.client_id[0])
    leaving.create(f"{root}/closed", b"", ephemeral=True)
    leaving.stop()

    command = [sys.executable, "-c", ABANDON, hosts_of(ensemble, "n3"), f"{root}/expired"]
    expired = subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
    eventually(lambda: not client.exists(f"{root}/expired"))

    truth, _ = agreed()
    me = session_hex(client.client_id[0])
    ends = {(life.path, life.how, life.deleted_by) for life in truth.znodes(root) if life.how}
    assert ends == {
        (f"{root}/deleted", "deleted", me),
        (sequential[1], "multi", me),
        (f"{root}/closed", "closed", closed),
        (f"{root}/expired", "expired", expired),
    }
    sessions = truth.sessions()
    assert not sessions[closed].expired
    assert sessions[closed].closed_zxid is not None
    assert sessions[expired].expired
    assert sessions[expired].timeout_ms == 1000
    assert sessions[expired].closed_ms - sessions[expired].opened_ms > 1000
    assert sessions[me].closed_zxid is None
    assert sessions[me].timeout_ms == 10_000
    assert {life.data for life in truth.znodes(f"{root}/expired")} == {b"left behind"}


@pytest.mark.skipif("RUMPUS_FULL_CHECKS" not in os.environ, reason="make test-full runs it")
def test_servers_killed_and_restarted_the_leader_too(ensemble, connect, agreed, eventually):
    root = f"/{uuid.uuid4().hex}"
    client = connect()
    client.create(root)
    client.create(f"{root}/mine", ephemeral=True)
    me = session_hex(client.client_id[0])
    epochs = epoch(client.exists(root).czxid)
    acknowledged = [write(client, root, f"before-{k}") for k in range(20)]
    for round_ in range(3):
        victim = ensemble.leader() if round_ != 1 else ensemble.nodes[round_]
        pending = [client.create_async(f"{root}/{round_}-pending-{k}", b"") for k in range(50)]
        ensemble.kill(victim)
        acknowledged += [write(client, root, f"{round_}-{k}") for k in range(20)]
        for each in pending:
            try:
                acknowledged.append(each.get(timeout=30))
            except (KazooException, KazooTimeoutError):
                continue
        ensemble.restart(victim)
        eventually(lambda node=victim: ensemble.serves(node) and ensemble.leader())
        acknowledged.append(write(client, root, f"{round_}-after"))

    truth, _ = agreed()
    created = {life.path for life in truth.znodes(root)}
    assert set(acknowledged) <= created
    (mine,) = truth.znodes(f"{root}/mine")
    assert (mine.owner, mine.how) == (me, None)
    assert max(truth.epochs()) >= epochs + 2
    for number, found in truth.epochs().items():
        assert epoch(found.first_zxid) == number
        assert counter(found.first_zxid) == 1


@pytest.mark.skipif("RUMPUS_FULL_CHECKS" not in os.environ, reason="make test-full runs it")
def test_a_write_that_only_a_deposed_leader_logged(ensemble, connect, gather, agreed, eventually):
    root = f"/{uuid.uuid4().hex}"
    leader = ensemble.leader()
    others = [node for node in ensemble.nodes if node != leader]
    doomed = connect(leader)
    doomed.create(root)
    ensemble.partition(
        {leader: frozenset(others), **{node: frozenset([leader]) for node in others}}
    )
    lost = doomed.create_async(f"{root}/lost", b"")
    with pytest.raises((ConnectionLoss, SessionExpiredError)):
        lost.get(timeout=60)
    eventually(lambda: ensemble.leader() in others)
    client = connect(*others)
    kept = write(client, root, "kept")

    divided, _ = gather()
    (proposal,) = [txn for txn in divided.discarded if txn.path == f"{root}/lost"]
    assert kept in standing(divided)
    assert f"{root}/lost" not in standing(divided)

    ensemble.heal()
    eventually(lambda: ensemble.serves(leader))
    truth, place = agreed()
    assert {txn.path for txn in truth.discarded} >= {f"{root}/lost"}
    left = [
        txn
        for log in read_node_directory(place / leader).logs
        for txn in log.txns
        if txn.zxid == proposal.zxid
    ]
    left = [msgspec.structs.replace(txn, digest=None) for txn in left]
    assert left == [proposal], "the deposed leader's log keeps what it lost"


DUMP = r"""
for log in $(ls /data/version-2/log.* /datalog/version-2/log.* 2>/dev/null); do
    echo "file $(basename $log)"
    java -cp "$(ls /usr/share/java/zookeeper.jar /usr/share/java/slf4j-log4j12.jar \
        /usr/share/java/log4j-1.2.jar /usr/share/java/commons-cli.jar /apache-zookeeper*/lib/*.jar \
        2>/dev/null | tr '\n' ':')" org.apache.zookeeper.server.persistence.TxnLogToolkit -d $log
done
"""
"""The server's own tool, wherever an image keeps its jars."""

LINE = re.compile(
    r" session (?P<session>0x[0-9a-f]+) cxid 0x(?P<cxid>[0-9a-f]+) "
    r"zxid 0x(?P<zxid>[0-9a-f]+) (?P<type>\w+) ?(?P<rest>.*)$"
)


def paths_of(type_, rest):
    """The paths in a line of the tool: ``/p,...``, ``'/p,...`` or ``v{'/p,'/q}``."""
    if type_ == "closeSession":
        return tuple(re.findall(r"'([^,}]+)", rest))
    return (rest.lstrip("'").split(",")[0],) if rest.startswith(("/", "'/")) else ()


def dumped(ensemble, node):
    """What the server's own tool reads: file -> (session, cxid, zxid, type, paths) a record."""
    server = ensemble._nodes[node]._server
    code, output = server.exec_run(["sh", "-c", DUMP], stderr=False)
    assert code == 0
    files = {}
    for line in output.decode(errors="replace").splitlines():
        if line.startswith("file "):
            records = files[line.removeprefix("file ")] = []
        elif found := LINE.search(line):
            numbers = (int(found["cxid"], 16), int(found["zxid"], 16))
            paths = paths_of(found["type"], found["rest"])
            records.append((found["session"], *numbers, found["type"], paths))
    return files


def read(txn):
    """The same of a record as parsed here."""
    paths = txn.paths if txn.name == "closeSession" else (txn.path,) if txn.path else ()
    return (session_hex(txn.session), txn.cxid & 0xFFFFFFFF, txn.zxid, txn.name, paths)


def test_the_servers_own_tool_reads_the_same(ensemble, connect, gather):
    root = f"/{uuid.uuid4().hex}"
    client = connect()
    client.create(root)
    client.create(f"{root}/a", ephemeral=True)
    with pytest.raises(NodeExistsError):
        client.create(root)
    client.set(root, b"x")
    client.set_acls(root, client.get_acls(root)[0])
    with client.transaction() as multi:
        multi.create(f"{root}/m")
        multi.delete(f"{root}/a")
    client.delete(f"{root}/m")
    leaving = connect()
    for name in "bc":
        leaving.create(f"{root}/{name}", ephemeral=True)
    leaving.stop()
    _, place = gather()
    compared = []
    for node in ensemble.nodes:
        theirs = dumped(ensemble, node)
        logs = read_node_directory(place / node).logs
        assert {log.name for log in logs} <= set(theirs)
        for log in logs:
            mine = [read(txn) for txn in log.txns]
            assert mine == theirs[log.name][: len(mine)]
            compared += mine
    assert {type_ for _, _, _, type_, _ in compared} >= {
        *("createSession", "closeSession", "create", "delete", "setData", "setACL", "multi"),
        "error",
    }
