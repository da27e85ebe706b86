"""Checks 84 to 100: three servers, their elections, and what survives them.

Each begins on three new servers that have not been started; but those of `GENTLE` may follow one
another on the same servers, the first of them first. Writes that must not reach some
server are kept from it by pausing it; "deposed" is a leader that was killed with a write that
only its own log has.
"""

from rumpus.conformance import operations as op
from rumpus.conformance.raw_client import RawClient
from rumpus.conformance.registry import check, same
from rumpus.conformance.visit import Visit, done
from tests.conformance.data_files import all_records, records, snapshot_names

NODES = ("n1", "n2", "n3")
NOT_SERVING = "This ZooKeeper instance is not currently serving requests\n"
GENTLE = frozenset({84, 85, 86, 87, 88, 89, 90, 95, 100})
"""Checks that leave the ensemble as it was, with its first leader."""


def begin(visit: Visit) -> None:
    """Start the servers; the third leads, because it is there before any two have agreed."""
    if all(visit.deployment.running(node) for node in NODES):
        visit.await_service()
        return
    visit.deployment.start(["n3"])
    visit.clock.sleep(1.0)
    visit.deployment.start()
    visit.await_service()
    same(visit.leader(), "n3")


def files(visit: Visit, node: str) -> dict[str, bytes]:
    found: dict[str, bytes] = visit.deployment.files(node)
    return found


def epochs(visit: Visit, node: str) -> tuple[bytes, bytes]:
    found = files(visit, node)
    return found["acceptedEpoch"], found["currentEpoch"]


def long_session(visit: Visit, node: str) -> RawClient:
    """A session that outlives an election, committed everywhere."""
    client = visit.session(node)
    visit.until(lambda: all(visit.zxid(each) >= client.call(op.ping()).zxid for each in NODES))
    return client


def logged(visit: Visit, node: str) -> list[int]:
    """The zxids in a node's logs."""
    return [record.zxid for record in all_records(files(visit, node))]


@check(84, "at first the third leads; all epochs are 1, the leader's zxid is 0x100000000",
       needs="ensemble")  # fmt: skip
def first_election(visit: Visit) -> None:
    begin(visit)
    same([epochs(visit, node) for node in NODES], [(b"1", b"1")] * 3)
    # A follower that comes when the leader has begun to serve gets its snapshot.
    late = ["snapshot.100000000" in files(visit, node) for node in ("n1", "n2")]
    assert not all(late), "nobody made up the leader's first quorum"
    wanted = ["0x100000000" if each else "0x0" for each in late]
    same([visit.srvr(node)["Zxid"] for node in NODES], [*wanted, "0x100000000"])


@check(85, "the top byte of a session's id is its server's", needs="ensemble")
def session_ids(visit: Visit) -> None:
    begin(visit)
    same([visit.session(node).session >> 56 for node in NODES], [1, 2, 3])


@check(86, "errors come through a follower as they are", needs="ensemble")
def errors_through_a_follower(visit: Visit) -> None:
    begin(visit)
    client = visit.session("n1")
    reply = client.call(op.create2("/c86"))
    same((reply.error, reply.zxid), (0, reply.value[1].czxid))
    for request, error in (
        (op.create("/c86"), -110),
        (op.delete("/missing"), -101),
        (op.create("/c86b", acl=()), -114),
        (op.reconfig(joining="server.9=localhost:1:2:participant;3"), -123),
    ):
        zxid = client.last_zxid
        reply = client.call(request)
        same((reply.error, reply.zxid), (error, zxid + 1), f"operation {request.code}")
    failed = client.call(op.multi([op.check("/c86", 7)]))
    same((failed.error, failed.value), (0, [op.SubResult(-1, -103, -103)]))


@check(87, "an unknown operation on a follower gets -6, then the end", needs="ensemble")
def unknown_operation(visit: Visit) -> None:
    begin(visit)
    client = visit.session("n1")
    reply = client.call(op.Operation(99, b"", lambda _: None))
    same((reply.zxid, reply.error), (-1, -6))
    assert client.closed_silently(), "the connection stays open"


@check(88, "a session that has moved: its old connection reads, and is closed at a write",
       needs="ensemble")  # fmt: skip
def moved(visit: Visit) -> None:
    begin(visit)
    old = long_session(visit, "n1")
    done(old.call(op.create("/c88")))
    visit.until(lambda: visit.zxid("n2") >= old.last_zxid)
    new = visit.reattach(old, "n2")
    same(old.call(op.exists("/c88")).error, 0)
    same(old.call(op.ping()).error, 0)
    same(old.call(op.sync("/c88")).error, 0)
    old.send(op.set_data("/c88", b"from the old one"))
    assert old.closed_silently(), "a write of a moved session is answered"
    reply = new.call(op.set_data("/c88", b"from the new one", 0))
    same((reply.error, reply.value.version if reply.value else None), (0, 1))


@check(89, "a silent session on a follower ends in time, and cannot be attached elsewhere",
       needs="ensemble")  # fmt: skip
def expiry(visit: Visit) -> None:
    begin(visit)
    tick_s = visit.tick_ms / 1000
    began = visit.clock.now()
    watcher, client = visit.session("n2"), visit.session("n1", timeout_ms=2 * visit.tick_ms)
    done(client.call(op.create("/c89", flags=op.EPHEMERAL)))
    asked = visit.clock.now()
    done(client.call(op.ping()))
    answered = visit.clock.now()
    assert client.closed_silently(within=40 * tick_s), "it never expires"
    # A server closes silent connections by a clock of its own: the session may end later. What
    # the other follower shows has been applied there, so it knows of the end, too.
    visit.until(lambda: watcher.call(op.exists("/c89")).error == -101)
    ended = visit.clock.now()
    # Of the ping the leader hears only with the follower's answer to its own next ping, which on
    # a busy machine can come too late: then the session has lived since it was created.
    since = began if visit.clock.lateness > tick_s else asked
    assert ended - since > 2 * tick_s, f"expired after {ended - since:.3f} s"
    most = 3.5 * tick_s + visit.clock.lateness
    assert ended - answered <= most, f"only after {ended - answered:.3f} s"
    answer = visit.connect("n2").handshake(session=client.session, password=client.password)
    assert not answer.valid, "the session can still be attached"


@check(90, "a follower refuses a client that has seen a newer zxid", needs="ensemble")
def newer_client(visit: Visit) -> None:
    begin(visit)
    zxid = visit.session("n1").call(op.ping()).zxid
    client = visit.connect("n1")
    client.ask_for_session(last_zxid=zxid + 1000)
    assert client.closed_silently(), "a zxid of the future was accepted"


@check(91, "a leader is killed: clients are cut off and come back with all they had; epoch 2",
       needs="ensemble", slow=True)  # fmt: skip
def leader_killed(visit: Visit) -> None:
    begin(visit)
    client = long_session(visit, "n1")
    done(client.call(op.create("/e", flags=op.EPHEMERAL)))
    killed = visit.clock.now()
    visit.deployment.kill("n3")
    assert client.closed_silently(within=15.0), "the connection stays open"
    assert visit.clock.now() - killed < 1 + visit.clock.lateness
    visit.await_service("n1", "n2")
    client = visit.reattach(client, "n2")
    same(done(client.call(op.exists("/e"))).ephemeral_owner, client.session)
    same(client.call(op.create("/f")).zxid, 0x200000001)
    same([epochs(visit, node) for node in NODES], [(b"2", b"2"), (b"2", b"2"), (b"1", b"1")])


@check(92, "the old leader comes back as a follower and is brought up to date by a DIFF",
       needs="ensemble", slow=True)  # fmt: skip
def old_leader_returns(visit: Visit) -> None:
    begin(visit)
    client = long_session(visit, "n1")
    visit.deployment.kill("n3")
    visit.await_service("n1", "n2")
    client = visit.reattach(client, "n1")
    zxid = client.call(op.create("/f")).zxid
    snapshots = snapshot_names(files(visit, "n3"))
    visit.deployment.start(["n3"])
    visit.await_service()
    same(visit.mode("n3"), "follower")
    visit.until(lambda: visit.zxid("n3") == zxid)
    same(snapshot_names(files(visit, "n3")), snapshots, "a DIFF writes no snapshot")
    assert zxid in logged(visit, "n3"), "what the DIFF brought is not in the log"


def lose_quorum(visit: Visit) -> tuple[RawClient, float]:
    """The leader alone, with a write that is proposed and pending; when it had a follower last."""
    begin(visit)
    client = long_session(visit, "n3")
    visit.deployment.kill("n1")
    # Not after the pause: on a busy machine the follower has been frozen for long by then.
    since = visit.clock.now()
    visit.deployment.pause("n2")
    client.send(op.create("/pending"))
    return client, since


@check(93, "a leader without a quorum gives up: connections end, and it says so",
       needs="ensemble")  # fmt: skip
def quorum_lost(visit: Visit) -> None:
    client, since = lose_quorum(visit)
    tick_s = visit.tick_ms / 1000
    assert client.closed_silently(within=30 * tick_s), "the connection stays open"
    waited = visit.clock.now() - since
    assert 4.5 * tick_s < waited <= 6.5 * tick_s + visit.clock.lateness, f"after {waited:.2f} s"
    same(visit.word("ruok", "n3"), "imok")
    same(visit.word("srvr", "n3"), NOT_SERVING)
    same(visit.word("isro", "n3"), "null")
    refused = visit.connect("n3")
    refused.ask_for_session()
    assert refused.closed_silently(), "a handshake is answered"


@check(94, "what was proposed before the quorum was lost is committed once it is back",
       needs="ensemble", slow=True)  # fmt: skip
def quorum_back(visit: Visit) -> None:
    client, _ = lose_quorum(visit)
    assert client.closed_silently(), "the connection stays open"
    visit.deployment.resume("n2")
    visit.await_service("n2", "n3")
    for node in ("n2", "n3"):
        reader = visit.session(node)
        done(reader.call(op.sync("/")))
        same(reader.call(op.exists("/pending")).error, 0, node)


@check(95, "/zookeeper/config holds the servers' lines and version=0", needs="ensemble")
def config(visit: Visit) -> None:
    begin(visit)
    data, stat = done(visit.session("n1").call(op.get_data("/zookeeper/config")))
    lines = data.decode().split("\n")
    same(
        [line.partition("=")[0] for line in lines], ["server.1", "server.2", "server.3", "version"]
    )
    same((lines[-1], stat.version), ("version=0", -1))


def deposed(visit: Visit) -> tuple[RawClient, int]:
    """Server 3 has led and is dead, with a write in its log alone; the others serve without it.

    Returns:
        A client of server 1 whose session everybody knows, and the zxid of that write.
    """
    begin(visit)
    client = long_session(visit, "n1")
    done(client.call(op.create("/a", b"old")))
    writer = long_session(visit, "n3")
    for node in ("n1", "n2"):
        visit.deployment.pause(node)
    last = writer.call(op.ping()).zxid
    writer.send(op.set_data("/a", b"new"))
    visit.until(lambda: last + 1 in logged(visit, "n3"), within=5.0)
    for node in NODES:
        visit.deployment.kill(node)
    visit.deployment.start(["n1", "n2"])
    visit.await_service("n1", "n2")
    return visit.reattach(client, "n1"), last + 1


@check(96, "a write that only a dead leader has is gone; it returns and is truncated (TRUNC)",
       needs="ensemble", slow=True)  # fmt: skip
def truncated(visit: Visit) -> None:
    client, zxid = deposed(visit)
    same(done(client.call(op.get_data("/a")))[0], b"old")
    visit.deployment.start(["n3"])
    visit.await_service("n3")
    log = files(visit, "n3")["log.100000001"]
    kept = records(log)
    same((kept[-1].zxid, kept[-1].end), (zxid - 1, len(log)), "the log ends at the cut")
    assert f"snapshot.{zxid - 1:x}" in files(visit, "n3"), "a TRUNC is followed by a snapshot"
    client = visit.reattach(client, "n3")
    same(done(client.call(op.get_data("/a")))[0], b"old")


@check(97, "the same with a write of the new epoch: a snapshot (SNAP); the old log keeps it",
       needs="ensemble", slow=True)  # fmt: skip
def snapshot_sent(visit: Visit) -> None:
    client, zxid = deposed(visit)
    last = client.call(op.create("/b")).zxid
    visit.deployment.start(["n3"])
    visit.await_service("n3")
    found = files(visit, "n3")
    assert f"snapshot.{last:x}" in found, sorted(found)
    assert zxid in [record.zxid for record in records(found["log.100000001"])]
    client = visit.reattach(client, "n3")
    same(done(client.call(op.get_data("/a")))[0], b"old")
    same(client.call(op.exists("/b")).error, 0)


@check(98, "the same with followers only paused: the write is in their sockets, and stays",
       needs="ensemble", slow=True)  # fmt: skip
def paused(visit: Visit) -> None:
    begin(visit)
    client = long_session(visit, "n1")
    writer = long_session(visit, "n3")
    done(client.call(op.create("/a", b"old")))
    done(writer.call(op.sync("/")))
    last = writer.call(op.ping()).zxid
    for node in ("n1", "n2"):
        visit.deployment.pause(node)
    writer.send(op.set_data("/a", b"new"))
    visit.until(lambda: last + 1 in logged(visit, "n3"), within=5.0)
    visit.deployment.kill("n3")
    for node in ("n1", "n2"):
        visit.deployment.resume(node)
    visit.await_service("n1", "n2")
    client.last_zxid = last
    for node in ("n1", "n2"):
        client = visit.reattach(client, node)
        same(done(client.call(op.get_data("/a")))[0], b"new", node)


@check(99, "a learner that is too far behind gets a snapshot", needs="ensemble", slow=True)
def far_behind(visit: Visit) -> None:
    begin(visit)
    client = long_session(visit, "n3")
    visit.deployment.kill("n1")
    many_writes(client, "before")
    # What counts as log to be read is what stands in later files than the learner's zxid.
    for node in ("n2", "n3"):
        visit.deployment.kill(node)
        visit.deployment.start([node])
        visit.await_service("n2", "n3")
    client = visit.reattach(client, visit.leader())
    many_writes(client, "after")
    visit.deployment.start(["n1"])
    visit.await_service("n1")
    found = files(visit, "n1")
    same(snapshot_names(found)[-1], f"snapshot.{client.last_zxid:x}")
    assert client.last_zxid not in [record.zxid for record in all_records(found)]
    reader = visit.reattach(client, "n1")
    same(done(reader.call(op.get_children2("/")))[1].num_children, 2 * MANY + 1)


MANY = 700
"""More than a leader keeps in memory (500)."""


def many_writes(client: RawClient, name: str) -> None:
    for number in range(MANY):
        client.send(op.create(f"/{name}-{number:04}", b"x" * 100))
    for _ in range(MANY):
        done(client.receive())


@check(100, "a stopped follower's client reads old or new, each with its zxid, never backwards",
       needs="ensemble")  # fmt: skip
def stale_reads(visit: Visit) -> None:
    begin(visit)
    reader, writer = long_session(visit, "n1"), visit.session("n3")
    done(writer.call(op.create("/c100", b"old")))
    old = writer.last_zxid
    done(reader.call(op.sync("/")))
    visit.deployment.pause("n1")
    new = writer.call(op.set_data("/c100", b"new")).zxid
    for _ in range(3):
        reader.send(op.get_data("/c100"))
    visit.deployment.resume("n1")
    seen = [reader.receive() for _ in range(3)]
    for reply in seen:
        data, stat = done(reply)
        assert (data, stat.mzxid) in ((b"old", old), (b"new", new)), reply
        assert reply.zxid >= stat.mzxid, reply
    same(seen, sorted(seen, key=lambda reply: reply.zxid), "backwards")
    done(reader.call(op.sync("/")))
    same(done(reader.call(op.get_data("/c100")))[0], b"new")
