"""Checks 1 to 15: a fresh tree, handshakes, frames."""

from random import Random

from rumpus.conformance import operations as op
from rumpus.conformance.jute import int32
from rumpus.conformance.raw_client import Handshake
from rumpus.conformance.registry import check, same
from rumpus.conformance.visit import Visit, done

INVALID = Handshake(0, 0, 0, bytes(16), read_only=False, size=37)


@check(1, "a fresh tree has only /zookeeper/config and /zookeeper/quota, and a root as never used")
def fresh_tree(visit: Visit) -> None:
    client = visit.session()
    root = done(client.call(op.exists("/")))
    same((root.num_children, root.cversion, root.czxid, root.pzxid), (1, -1, 0, 0))
    same(sorted(done(client.call(op.get_children("/zookeeper")))), ["config", "quota"])


@check(2, "session timeouts are kept between 2 and 20 ticks; the response's protocol is 0")
def clamped_timeouts(visit: Visit) -> None:
    tick = visit.tick_ms
    for asked, granted in ((0, 2 * tick), (-5, 2 * tick), (1_000_000, 20 * tick)):
        same(visit.connect().handshake(asked).timeout_ms, granted, f"asked for {asked} ms")
    answer = visit.connect().handshake(protocol=7)
    same((answer.protocol, answer.valid), (0, True))


@check(3, "the response has a readOnly byte only if the request had one")
def read_only_byte(visit: Visit) -> None:
    without = visit.connect().handshake(read_only=None)
    same((without.size, without.read_only), (36, None))
    having = visit.connect().handshake(read_only=False)
    same((having.size, having.read_only), (37, False))


@check(4, "a client that has seen a newer zxid than the server is refused without a byte")
def newer_client(visit: Visit) -> None:
    zxid = visit.session().call(op.ping()).zxid
    refused = visit.connect()
    refused.ask_for_session(last_zxid=zxid + 1)
    assert refused.closed_silently(), "a zxid of the future was accepted"
    assert visit.connect().handshake(last_zxid=zxid).valid, "an equal zxid was refused"


@check(5, "reconnecting to an unknown session gets an invalid response, then the end")
def unknown_session(visit: Visit) -> None:
    client = visit.connect()
    same(client.handshake(session=0x0123456789ABCDEF, password=b"x" * 16), INVALID)
    assert client.closed_silently(), "the connection stays open"


@check(6, "a wrong password is refused likewise, and the session's good connection is closed too")
def wrong_password(visit: Visit) -> None:
    good = visit.session()
    bad = visit.connect()
    same(bad.handshake(session=good.session, password=b"\x55" * 16), INVALID)
    assert bad.closed_silently(), "the connection with the wrong password stays open"
    assert good.closed_silently(), "the connection with the right password stays open"


def java_random_bytes(seed: int, count: int) -> bytes:
    """What ``new java.util.Random(seed).nextBytes`` gives."""
    mask = (1 << 48) - 1
    state = (seed ^ 0x5DEECE66D) & mask
    made = b""
    while len(made) < count:
        state = (state * 0x5DEECE66D + 0xB) & mask
        made += (state >> 16).to_bytes(4, "little")
    return made[:count]


@check(7, "a session's password is 16 bytes of java.util.Random(id ^ 0xB3415C00)")
def password(visit: Visit) -> None:
    client = visit.session()
    same(client.password, java_random_bytes(client.session ^ 0xB3415C00, 16))


@check(8, "ids of sessions made in a row differ by 1; their top byte is the server's id")
def session_ids(visit: Visit) -> None:
    first, second = visit.session().session, visit.session().session
    same(second - first, 1)
    same(first >> 56, 1, "top byte of a standalone server's session")


@check(9, "a reattach keeps id and password, clamps the timeout afresh, ends the old connection")
def reattach(visit: Visit) -> None:
    old = visit.session(timeout_ms=4 * visit.tick_ms)
    new = visit.reattach(old, timeout_ms=15 * visit.tick_ms)
    same((new.session, new.password), (old.session, old.password))
    same((old.timeout_ms, new.timeout_ms), (4 * visit.tick_ms, 15 * visit.tick_ms))
    assert old.closed_silently(), "the old connection stays open"


@check(10, "a new session takes a zxid, a reattach none")
def zxids_of_handshakes(visit: Visit) -> None:
    first = visit.session()
    before = first.call(op.ping()).zxid
    second = visit.session()
    same(second.call(op.ping()).zxid, before + 1, "after a new session")
    same(visit.reattach(second).call(op.ping()).zxid, before + 1, "after a reattach")


@check(11, "a ping's reply has xid -2, whatever xid the ping had, and the last zxid")
def ping(visit: Visit) -> None:
    client = visit.session()
    last = client.call(op.exists("/")).zxid
    reply = client.call(op.ping(), xid=77)
    same((reply.xid, reply.zxid, reply.error, reply.body), (-2, last, 0, b""))


@check(12, "an unknown operation gets error -6 with zxid -1, then the end")
def unknown_operation(visit: Visit) -> None:
    client = visit.session()
    reply = client.call(op.Operation(99, b"", lambda _: None), xid=5)
    same((reply.xid, reply.zxid, reply.error, reply.body), (5, -1, -6, b""))
    assert client.closed_silently(), "the connection stays open"


@check(13, "a body that cannot be read gets -5 and the connection lives; a create's takes a zxid")
def truncated_bodies(visit: Visit) -> None:
    client = visit.session()
    before = client.call(op.ping()).zxid
    request = op.get_data("/some/path")
    reply = client.call(request._replace(body=request.body[:6]))
    same((reply.error, reply.zxid, reply.body), (-5, before, b""), "getData")
    request = op.create("/some/path")
    reply = client.call(request._replace(body=request.body[:6]))
    same((reply.error, reply.zxid), (-5, before + 1), "create")
    same(client.call(op.ping()).error, 0)


LONGEST_FRAME = 1_048_575


def framed_create(path: str, frame_length: int) -> op.Operation:
    """A create whose frame has exactly that length."""
    room = frame_length - 8 - len(op.create(path).body)
    return op.create(path, bytes(Random(0).randbytes(room)))


@check(14, "a frame of 1048575 bytes is served; longer, negative, empty or tiny ones end it all")
def frame_lengths(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c14")
    big = framed_create(f"{root}/big", LONGEST_FRAME)
    same(len(big.body) + 8, LONGEST_FRAME)
    same(done(client.call(big)), f"{root}/big")
    done(client.call(op.delete(f"{root}/big")))
    bad = {
        "one byte too long": int32(LONGEST_FRAME + 1),
        "negative": int32(-5),
        "empty": int32(0),
        "two bytes": int32(2) + b"\0\0",
    }
    for what, sent in bad.items():
        client = visit.session()
        client.send_bytes(sent)
        assert client.closed_silently(), f"a frame that is {what} does not end the connection"


@check(15, "bytes after a request's body are ignored")
def trailing_bytes(visit: Visit) -> None:
    client = visit.session()
    request = op.get_data("/")
    reply = client.call(request._replace(body=request.body + b"and more"))
    same((reply.error, reply.value[0]), (0, b""))
    same(client.call(op.exists("/")).error, 0)
