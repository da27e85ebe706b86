"""Checks 42 to 49: multi and multiRead."""

from rumpus.conformance import operations as op
from rumpus.conformance.operations import SubResult
from rumpus.conformance.registry import check, same
from rumpus.conformance.visit import Visit, done


@check(42, "a multi's later parts see the earlier ones; all have one zxid")
def parts_see_each_other(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c42")
    before = client.call(op.ping()).zxid
    path = f"{root}/new"
    reply = client.call(
        op.multi([op.create(path), op.check(path, 0), op.set_data(path, b"x", 0), op.delete(path)])
    )
    same((reply.error, reply.zxid), (0, before + 1))
    same([(part.type, part.error) for part in reply.value], [(1, 0), (13, 0), (5, 0), (2, 0)])
    stat = reply.value[2].value
    same((reply.value[0].value, stat.version), (path, 1))
    same((stat.czxid, stat.mzxid, stat.ctime), (reply.zxid, reply.zxid, stat.mtime))
    same(client.call(op.exists(path)).error, -101)


def failed(*errors: int) -> list[SubResult]:
    """The result of a failed multi."""
    return [SubResult(-1, error, error) for error in errors]


@check(43, "a multi that fails in the middle: error 0 in the header, 0, the code and -2 inside")
def fails_in_the_middle(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c43")
    reply = client.call(
        op.multi([op.create(f"{root}/a"), op.delete(f"{root}/no"), op.create(f"{root}/b")])
    )
    same((reply.error, reply.value), (0, failed(0, -101, -2)))
    same(done(client.call(op.get_children(root))), [])


@check(44, "a multi that fails at once: the code, then -2")
def fails_at_once(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c44")
    reply = client.call(op.multi([op.set_data(root, b"", 9), op.create(f"{root}/a")]))
    same((reply.error, reply.value), (0, failed(-103, -2)))
    same(done(client.call(op.get_children(root))), [])


@check(45, "an empty multi is allowed and takes a zxid")
def empty(visit: Visit) -> None:
    client = visit.session()
    before = client.call(op.ping()).zxid
    reply = client.call(op.multi([]))
    same((reply.error, reply.value, reply.zxid), (0, [], before + 1))
    same(reply.body, b"\xff\xff\xff\xff\x01\xff\xff\xff\xff")


@check(46, "sequential creates of a multi get numbers in a row; a failed multi uses none up")
def numbers(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c46")
    one = op.create(f"{root}/n-", flags=op.SEQUENTIAL)
    same([part.value for part in done(client.call(op.multi([one, one])))],
         [f"{root}/n-0000000000", f"{root}/n-0000000001"])  # fmt: skip
    same(done(client.call(op.multi([one, op.delete(f"{root}/no")]))), failed(0, -101))
    same(done(client.call(one)), f"{root}/n-0000000002")


@check(47, "in a multi a create2 is answered as a create, a container as a create2")
def types_of_creates(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c47")
    parts = done(client.call(op.multi([op.create2(f"{root}/a"), op.create_container(f"{root}/b")])))
    same([(part.type, part.error) for part in parts], [(1, 0), (15, 0)])
    same(parts[0].value, f"{root}/a")
    same(parts[1].value, (f"{root}/b", done(client.call(op.exists(f"{root}/b")))))


@check(48, "a multi with a part that does not belong gets -5 and does nothing")
def foreign_parts(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c48")
    for parts in (
        [op.create(f"{root}/a"), op.exists(root)],
        [op.create(f"{root}/a"), op.get_data(root)],
    ):
        reply = client.call(op.multi(parts))
        same((reply.error, reply.body), (-5, b""))
    same(done(client.call(op.get_children(root))), [])


@check(49, "a multiRead goes on after a part that fails")
def multi_read(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c49")
    done(client.call(op.create(f"{root}/a", b"x")))
    reply = client.call(
        op.multi_read([op.get_data(f"{root}/a"), op.get_data(f"{root}/b"), op.get_children(root)])
    )
    same(reply.error, 0)
    got, missing, children = reply.value
    same((got.type, got.error, got.value), (4, 0, done(client.call(op.get_data(f"{root}/a")))))
    same(missing, SubResult(-1, -101, -101))
    same((children.type, children.error, children.value), (8, 0, ["a"]))
