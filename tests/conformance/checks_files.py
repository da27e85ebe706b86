"""Checks 74 to 83, and 103: logs, snapshots, restarts, the janitor, quotas, sequence numbers.

Each begins on a new standalone server that has not been started.
"""

from collections.abc import Callable

from rumpus.checker.servers.tree_digest import DigestedTree
from rumpus.checker.servers.txnlog import parse_log
from rumpus.conformance import operations as op
from rumpus.conformance.raw_client import RawClient
from rumpus.conformance.registry import check, same
from rumpus.conformance.visit import Visit, done
from rumpus.simulation.zookeeper.storage.snapshot import write_file
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.znode import Znode
from rumpus.simulation.zookeeper.wire.permissions import OPEN
from tests.conformance.data_files import (
    LOG_HEADER,
    Record,
    log_names,
    read_snapshot,
    records,
    snapshot_names,
)

PREALLOCATED = 67_108_880


def begin(visit: Visit) -> RawClient:
    """Start the server; its first session."""
    visit.deployment.start()
    visit.await_service()
    return visit.session()


def files(visit: Visit) -> dict[str, bytes]:
    found: dict[str, bytes] = visit.deployment.files("n1")
    return found


def restart(visit: Visit) -> None:
    visit.deployment.kill("n1")
    visit.deployment.start()
    visit.await_service()


@check(
    74,
    "a new server writes snapshot.0 and no log; the first write makes log.1 of 67108880 bytes",
    needs="files",
)
def first_files(visit: Visit) -> None:
    visit.deployment.start()
    visit.await_service()
    same(sorted(files(visit)), ["snapshot.0"])
    visit.session()
    log = files(visit)["log.1"]
    same(log[:16], LOG_HEADER)
    if visit.deployment.kind != "simulated":  # those do not allocate space in advance
        same(len(log), PREALLOCATED)


@check(
    75,
    "the first record is the session's: type -10, 48 bytes, cxid 0, zxid 1; all records are sound",
    needs="files",
)
def first_record(visit: Visit) -> None:
    client = begin(visit)
    done(client.call(op.create("/a")))
    first, second = records(files(visit)["log.1"])
    same((first.type, len(first.payload), first.session, first.cxid, first.zxid),
         (-10, 48, client.session, 0, 1))  # fmt: skip
    same(first.payload[32:36], client.timeout_ms.to_bytes(4, "big"))
    same(first.payload[36:40], (2).to_bytes(4, "big"), "version of the digest")
    same((second.type, second.session, second.cxid, second.zxid), (1, client.session, 1, 2))


@check(
    76,
    "every digest is that of the tree after its transaction; errors have none",
    needs="files",
    slow=True,
)
def digests(visit: Visit) -> None:
    client = begin(visit)
    for request in (
        op.create("/a", b"1"),
        op.create("/a/b", flags=op.EPHEMERAL),
        op.create("/a/c-", flags=op.SEQUENTIAL),
        op.create_container("/d"),
        op.set_data("/a", b"22"),
        op.set_acl("/a", op.OPEN),
        op.multi([op.create("/m"), op.set_data("/m", None), op.delete("/d")]),
        op.multi([op.create("/n"), op.delete("/missing")]),
        op.delete("/a/c-0000000001"),
    ):
        done(client.call(request))
    same(client.call(op.create("/a")).error, -110)
    done(client.close_session())
    log = files(visit)["log.1"]
    tree = DigestedTree()
    for record, txn in zip(records(log), parse_log(log).txns, strict=True):
        tree.apply(txn)
        if txn.name == "error":
            same((len(record.payload), txn.digest), (36, None))
        else:
            same(txn.digest, tree.digest, f"digest of {txn}")
    same(record.type, -11)


@check(
    77,
    "a failed multi's record keeps the parts before the failure, the others are errors",
    needs="files",
)
def failed_multi(visit: Visit) -> None:
    client = begin(visit)
    done(client.call(op.multi([op.create("/m"), op.delete("/no"), op.create("/n")])))
    txn = parse_log(files(visit)["log.1"]).txns[-1]
    same((txn.type, [part.type for part in txn.ops]), (14, [1, -1, -1]))
    same((txn.ops[0].path, [part.error for part in txn.ops[1:]]), ("/m", [-101, -2]))


@check(
    78,
    "after kill -9: writes, ephemerals, sessions and sequence numbers are kept",
    needs="files",
    slow=True,
)
def killed(visit: Visit) -> None:
    client = begin(visit)
    done(client.call(op.create("/a", b"1")))
    done(client.call(op.create("/a/e", flags=op.EPHEMERAL)))
    done(client.call(op.create("/a/s-", flags=op.SEQUENTIAL)))
    before = [done(client.call(op.get_data(path))) for path in ("/a", "/a/e")]
    restart(visit)
    client = visit.reattach(client)
    same([done(client.call(op.get_data(path))) for path in ("/a", "/a/e")], before)
    same(done(client.call(op.create("/a/s-", flags=op.SEQUENTIAL))), "/a/s-0000000002")


@check(
    79,
    "a restart writes a snapshot of the last zxid; the next write opens a log",
    needs="files",
    slow=True,
)
def after_restart(visit: Visit) -> None:
    client = begin(visit)
    for path in ("/a", "/b", "/c"):
        last = client.call(op.create(path)).zxid
    restart(visit)
    same(sorted(files(visit)), ["log.1", "snapshot.0", f"snapshot.{last:x}"])
    same(visit.reattach(client).call(op.create("/d")).zxid, last + 1)
    assert f"log.{last + 1:x}" in files(visit), sorted(files(visit))


def starts_on(visit: Visit, damage: Callable[[bytes, Record], bytes]) -> bool:
    """Whether the server starts after its log was damaged; it is as before afterwards.

    If it does start, it must lack the last record, and use its zxid again.
    """
    deployment = visit.deployment
    deployment.start()
    visit.await_service()
    client = visit.session()
    done(client.call(op.create("/kept")))
    zxid = client.call(op.create("/last")).zxid
    deployment.kill("n1")
    name = log_names(files(visit))[-1]
    log = files(visit)[name]
    last = records(log)[-1]
    same(last.zxid, zxid)
    deployment.write_file("n1", name, damage(log, last))
    deployment.start()
    visit.until(lambda: visit.mode("n1") or not deployment.running("n1"))
    if not deployment.running("n1"):
        deployment.write_file("n1", name, log)
        deployment.start()
        visit.await_service()
        client = visit.reattach(client)
        done(client.call(op.delete("/kept")))
        done(client.call(op.delete("/last")))
        deployment.kill("n1")
        return False
    client.last_zxid = zxid - 1
    client = visit.reattach(client)
    same(client.call(op.exists("/last")).error, -101)
    reply = client.call(op.delete("/kept"))
    same((reply.error, reply.zxid), (0, zxid), "the zxid that was dropped is used again")
    deployment.kill("n1")
    return True


def flip(log: bytes, at: int) -> bytes:
    return log[:at] + bytes([log[at] ^ 1]) + log[at + 1 :]


@check(
    80,
    "a torn last record is dropped; one whose payload is wrong, or an empty log, is not accepted",
    needs="files",
    slow=True,
)
def torn_tails(visit: Visit) -> None:
    torn: dict[str, Callable[[bytes, Record], bytes]] = {
        "cut in the checksum": lambda log, last: log[: last.at + 3],
        "cut in the length": lambda log, last: log[: last.at + 10],
        "cut in the payload": lambda log, last: log[: last.at + 30],
        "cut before the end mark": lambda log, last: log[: last.end - 1],
        "end mark damaged": lambda log, last: flip(log, last.end - 1),
    }
    for what, damage in torn.items():
        assert starts_on(visit, damage), f"refuses to start: {what}"
    assert not starts_on(visit, lambda log, last: flip(log, last.at + 20)), "a flipped bit passes"
    assert not starts_on(visit, lambda _, __: b""), "an empty log passes"
    visit.deployment.start()
    visit.await_service()
    client = visit.session()
    last = client.last_zxid = client.call(op.ping()).zxid
    visit.deployment.kill("n1")
    visit.deployment.write_file("n1", f"log.{last + 1:x}", LOG_HEADER)
    visit.deployment.start()
    visit.await_service()
    same(visit.reattach(client).call(op.create("/a")).zxid, last + 1)


@check(
    81, "a snapshot has both its seals, the root first, and the sessions that live", needs="files"
)
def snapshot(visit: Visit) -> None:
    client = begin(visit)
    done(client.call(op.create("/a", b"1")))
    done(client.call(op.create("/a/b", acl=[op.Acl(op.READ, "world", "anyone")])))
    restart(visit)
    found = files(visit)
    name = snapshot_names(found)[-1]
    content = read_snapshot(found[name])
    same(content.sessions, {client.session: client.timeout_ms})
    paths = ["", "/a", "/a/b", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"]
    same(next(iter(content.nodes)), "")
    same(sorted(content.nodes), paths)
    same(content.nodes["/a"].data, b"1")
    same(content.nodes[""].acl, -1, "the ACL that is built in")
    same(content.acls[content.nodes["/a"].acl], [(op.ALL, "world", "anyone")])
    same(content.acls[content.nodes["/a/b"].acl], [(op.READ, "world", "anyone")])
    same(f"snapshot.{content.digest_zxid:x}", name)


@check(
    82,
    "an emptied container and a TTL node past its time are removed by the janitor, not a session",
    needs="files",
    slow=True,
)
def janitor(visit: Visit) -> None:
    client = begin(visit)
    for path in ("/used", "/unused", "/full"):
        done(client.call(op.create_container(path)))
    done(client.call(op.create("/full/child")))
    done(client.call(op.create("/used/child")))
    done(client.call(op.delete("/used/child")))
    done(client.call(op.create_ttl("/short", 100)))
    done(client.call(op.create_ttl("/long", 1_000_000)))

    def left() -> list[str]:
        return sorted(set(done(client.call(op.get_children("/")))) - {"zookeeper"})

    visit.until(lambda: left() == ["full", "long", "unused"], within=130.0, every=0.25)
    removals = [txn for txn in parse_log(files(visit)["log.1"]).txns if txn.type == 20]
    same(sorted(txn.path or "" for txn in removals), ["/short", "/used"])
    same([(txn.session, txn.cxid) for txn in removals], [(0, 0)] * 2)


@check(83, "quotas are soft; their statistics are kept up without transactions", needs="files")
def quotas(visit: Visit) -> None:
    client = begin(visit)
    done(client.call(op.create("/q")))
    place = "/zookeeper/quota/q"
    done(client.call(op.create(place)))
    done(client.call(op.create(f"{place}/zookeeper_limits", b"count=2,bytes=4")))
    done(client.call(op.create(f"{place}/zookeeper_stats", b"count=0,bytes=0")))
    stats = f"{place}/zookeeper_stats"
    same(done(client.call(op.get_data(stats)))[0], b"count=1,bytes=0")
    for path, data in (("/q/a", b"123"), ("/q/b", b"4567")):
        same(client.call(op.create(path, data)).error, 0, "over the quota")
    before = done(client.call(op.get_data(stats)))
    same((before[0], before[1].version), (b"count=3,bytes=7", 0))
    done(client.call(op.set_data("/q/a", b"")))
    done(client.call(op.delete("/q/b")))
    after = done(client.call(op.get_data(stats)))
    same((after[0], after[1].version), (b"count=2,bytes=0", 0))
    same(after[1].mzxid, before[1].mzxid)


LARGEST = 0x7FFFFFFF


@check(
    103,
    "sequence numbers at the end of an int: negative while others are under way, else NodeExists",
    needs="files",
    slow=True,
)
def last_numbers(visit: Visit) -> None:
    client = begin(visit)
    last = done_at(client, op.create("/s"))
    visit.deployment.kill("n1")
    tree = DataTree()
    tree.nodes["/s"] = Znode(b"", OPEN, last, last, 1, 1, 0, LARGEST - 1, 0, 0, last)
    tree.nodes["/"].add_child("s")
    tree.nodes["/"].cversion = 1
    forged = write_file(tree, {client.session: client.timeout_ms}, last)
    visit.deployment.write_file("n1", f"snapshot.{last:x}", forged)
    visit.deployment.start()
    visit.await_service()
    client = visit.reattach(client)
    asked = op.create("/s/n-", flags=op.SEQUENTIAL)
    same([done(client.call(asked)) for _ in range(2)], ["/s/n-2147483646", "/s/n-2147483647"])
    same(client.call(asked).error, -110, "the count stays where it is")
    stat = done(client.call(op.exists("/s")))
    same((stat.cversion, stat.num_children), (2 * LARGEST - 2 - (1 << 32), 2))
    same(stat.pzxid, last + 1, "that of the last child that was counted")
    done(client.call(op.delete("/s/n-2147483647")))
    parts = done(client.call(op.multi([asked, asked, asked])))
    same(
        [part.value for part in parts],
        ["/s/n-2147483647", "/s/n--2147483648", "/s/n--2147483647"],
    )
    same(client.call(asked).error, -110)


def done_at(client: RawClient, request: op.Operation) -> int:
    """The zxid of a request that succeeds."""
    reply = client.call(request)
    done(reply)
    return reply.zxid
