"""Checks 16 to 36: what requests are refused with, in which order, and what they change."""

from rumpus.conformance import operations as op
from rumpus.conformance.operations import ALL, OPEN, Acl
from rumpus.conformance.registry import check, same
from rumpus.conformance.visit import Visit, done


@check(16, "failed writes, multis too, take one zxid each, and their replies carry it")
def failures_take_zxids(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c16")
    zxid = client.call(op.ping()).zxid
    for request, error in (
        (op.create(root), -110),
        (op.set_data(root, b"", 7), -103),
        (op.multi([op.delete(root, 7)]), 0),
    ):
        zxid += 1
        reply = client.call(request)
        same((reply.error, reply.zxid), (error, zxid))
    same(client.call(op.ping()).zxid, zxid)


@check(17, "an empty ACL is refused before a missing parent, after a path without a slash")
def acl_before_parent(visit: Visit) -> None:
    client = visit.session()
    same(client.call(op.create("/nope/x", acl=())).error, -114)
    same(client.call(op.create("x", acl=())).error, -8)


@check(18, "ACLs that are null, empty, of unknown schemes or malformed ids are refused with -114")
def bad_acls(visit: Visit) -> None:
    client = visit.session()
    same(client.call(op.create("/c18", acl=None)).error, -114, "null")
    same(client.call(op.create("/c18", acl=())).error, -114, "empty")
    for scheme, identity in (
        ("nope", "x"),
        ("world", "bob"),
        ("digest", "abc"),
        ("ip", "1.2.3"),
        ("auth", ""),
    ):
        same(client.call(op.create("/c18", acl=[Acl(ALL, scheme, identity)])).error, -114, scheme)


@check(19, "equal ACL entries are kept once")
def duplicate_acl(visit: Visit) -> None:
    client = visit.session()
    visit.remove(client, "/c19")
    done(client.call(op.create("/c19", acl=OPEN * 3)))
    same(done(client.call(op.get_acl("/c19")))[0], list(OPEN))


@check(20, "paths of creates: the parent is looked up first, the whole path checked after")
def create_paths(visit: Visit) -> None:
    client = visit.session()
    visit.directory(client, "/z")
    for path, error in {
        "/": -110,
        "": -8,
        "a": -8,
        "/z/": -8,
        "/z/..": -8,
        "/z/\x01": -8,
        "/z//b": -101,
        "/z/./b": -101,
        "/z/...": 0,
        "/z/.x": 0,
    }.items():
        same(client.call(op.create(path)).error, error, repr(path))


@check(21, "unknown create flags get -8, TTL flags -6 while TTL nodes are off")
def create_flags(visit: Visit) -> None:
    client = visit.session()
    for flags, error in ((9, -8), (-1, -8), (5, -6), (6, -6)):
        same(client.call(op.create("/c21", flags=flags)).error, error, f"flags {flags}")


@check(22, "an ephemeral has no children; a name that exists is found out before that")
def ephemeral_parent(visit: Visit) -> None:
    client = visit.session()
    visit.remove(client, "/c22")
    done(client.call(op.create("/c22", flags=op.EPHEMERAL)))
    same(client.call(op.create("/c22/child")).error, -108)
    same(client.call(op.create("/c22", flags=op.EPHEMERAL)).error, -110)


@check(23, "the stat of an ephemeral shows its session, that of a container 0")
def owners(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c23")
    done(client.call(op.create(f"{root}/e", flags=op.EPHEMERAL)))
    done(client.call(op.create_container(f"{root}/c")))
    same(done(client.call(op.exists(f"{root}/e"))).ephemeral_owner, client.session)
    same(done(client.call(op.exists(f"{root}/c"))).ephemeral_owner, 0)


@check(24, "sequence numbers count all creations of children, and only those that succeed")
def sequence_numbers(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c24")

    def sequential() -> str:
        path: str = done(client.call(op.create(f"{root}/n-", flags=op.SEQUENTIAL)))
        return path.removeprefix(root)

    same([sequential() for _ in range(3)], [f"/n-{n:010}" for n in range(3)])
    done(client.call(op.delete(f"{root}/n-0000000001")))
    same(sequential(), "/n-0000000003")
    done(client.call(op.create(f"{root}/plain")))
    same(sequential(), "/n-0000000005")
    same(client.call(op.create(f"{root}/plain")).error, -110)
    same(sequential(), "/n-0000000006")


@check(25, "a sequential create at a path that ends in a slash makes a bare number")
def bare_number(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c25")
    for number in range(7):
        done(client.call(op.create(f"{root}/{number}")))
    same(done(client.call(op.create(f"{root}/", flags=op.SEQUENTIAL))), f"{root}/0000000007")


@check(26, "cversion counts creations and deletions of children, pzxid is the last one's zxid")
def cversion_and_pzxid(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c26")
    own = done(client.call(op.exists(root)))
    same((own.cversion, own.pzxid), (0, own.czxid))
    steps = (
        (op.create(f"{root}/a"), 1),
        (op.create(f"{root}/b"), 2),
        (op.delete(f"{root}/a"), 3),
    )
    for request, cversion in steps:
        reply = client.call(request)
        stat = done(client.call(op.exists(root)))
        same((reply.error, stat.cversion, stat.pzxid), (0, cversion, reply.zxid))
    done(client.call(op.set_data(f"{root}/b", b"x")))
    same(done(client.call(op.exists(root))), stat)


@check(27, "setACL counts up aversion and nothing else")
def set_acl(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c27")
    before = done(client.call(op.exists(root)))
    after = done(client.call(op.set_acl(root, OPEN)))
    same(after, before._replace(aversion=before.aversion + 1))
    same(done(client.call(op.exists(root))), after)


@check(28, "create answers the path, create2 the path and a stat of 68 bytes")
def create_answers(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c28")
    reply = client.call(op.create(f"{root}/one"))
    same(reply.body, len(f"{root}/one").to_bytes(4, "big") + f"{root}/one".encode())
    reply = client.call(op.create2(f"{root}/two", b"abc"))
    path, stat = done(reply)
    same((path, len(reply.body)), (f"{root}/two", 4 + len(path) + op.STAT_BYTES))
    same(stat, done(client.call(op.exists(path))))
    same((stat.czxid, stat.mzxid, stat.pzxid, stat.data_length), (reply.zxid,) * 3 + (3,))


@check(29, "null data stays null, of length 0")
def null_data(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c29")
    done(client.call(op.set_data(root, b"x")))
    same(done(client.call(op.set_data(root, None))).data_length, 0)
    data, stat = done(client.call(op.get_data(root)))
    same((data, stat.data_length), (None, 0))


@check(30, "delete with children: a wrong version is found out before they are")
def delete_with_children(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c30")
    done(client.call(op.create(f"{root}/child")))
    same(client.call(op.delete(root, 5)).error, -103)
    same(client.call(op.delete(root, 0)).error, -111)


@check(31, "delete: the system's znodes get -8, malformed paths are merely missing")
def delete_paths(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c31")
    for path in ("/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"):
        same(client.call(op.delete(path)).error, -8, path)
    for path in (f"{root}/..", "//x", "/no/such"):
        same(client.call(op.delete(path)).error, -101, path)


@check(32, "setData: version -2 is wrong, a missing znode comes first, the config is not writable")
def set_data(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c32")
    same(client.call(op.set_data(root, b"", -2)).error, -103)
    for version in (-2, -1, 0, 3):
        same(client.call(op.set_data(f"{root}/missing", b"", version)).error, -101)
    same(client.call(op.set_data("/zookeeper/config", b"")).error, -102)
    same(client.call(op.set_data("//x", b"")).error, -8)


@check(33, "setACL looks at the ACL before it looks for the znode")
def set_acl_missing(visit: Visit) -> None:
    client = visit.session()
    same(client.call(op.set_acl("/c33/missing", ())).error, -114)
    same(client.call(op.set_acl("/c33/missing", OPEN)).error, -101)


@check(34, "reads do not check paths: the empty one is the root, malformed ones are missing")
def read_paths(visit: Visit) -> None:
    client = visit.session()
    visit.directory(client, "/z")
    root = done(client.call(op.get_data("/")))
    same(done(client.call(op.get_data(""))), root)
    for path in ("a", "/z/", "//x"):
        same(client.call(op.get_data(path)).error, -101, path)
    same(client.call(op.exists("/a\0b")).error, -8)
    same(client.call(op.exists(None)).error, -5)


@check(35, "reconfig is off by default: -123")
def reconfig(visit: Visit) -> None:
    client = visit.session()
    same(client.call(op.reconfig(joining="server.9=localhost:1:2:participant;3")).error, -123)


@check(36, "sync echoes any string and takes no zxid")
def sync(visit: Visit) -> None:
    client = visit.session()
    zxid = client.call(op.ping()).zxid
    for path in ("/", "/nope", "not a path", ""):
        reply = client.call(op.sync(path))
        same((reply.error, reply.value, reply.zxid), (0, path, zxid))
