"""Checks 64 to 69: the end of sessions, ephemerals, counting descendants."""

from rumpus.conformance import operations as op
from rumpus.conformance.jute import int32
from rumpus.conformance.raw_client import Event
from rumpus.conformance.registry import check, same
from rumpus.conformance.visit import Visit, done

SESSION_EXPIRED = -112

"""How late a real machine may wake up."""


@check(64, "closeSession removes the ephemerals, is answered, and ends the connection")
def close_session(visit: Visit) -> None:
    watcher, client = visit.session(), visit.session()
    root = visit.directory(watcher, "/c64")
    done(client.call(op.create(f"{root}/e", flags=op.EPHEMERAL)))
    closing, behind = op.close_session(), op.ping()
    frames = [int32(9) + int32(each.code) + each.body for each in (closing, behind, behind)]
    client.send_bytes(b"".join(int32(len(frame)) + frame for frame in frames))
    answer = client.receive_all()
    same(answer[:8], int32(16) + int32(9), "the first reply")
    # What is behind it is dropped, unless it was on its way before the closing was noted. Then
    # it is answered, as a ping or as a request in a session that has ended.
    for at in range(20, len(answer), 20):
        error = int.from_bytes(answer[at + 16 : at + 20], "big", signed=True)
        same(error in (0, SESSION_EXPIRED), True, f"error {error} of what is behind it")
        xid = -2 if error == 0 else 9
        same(answer[at : at + 8], int32(16) + int32(xid), "the reply to a ping")
    same(answer[16:20], int32(0))
    zxid = int.from_bytes(answer[8:16], "big")
    same(done(watcher.call(op.get_children(root))), [])
    same(done(watcher.call(op.exists(root))).pzxid, zxid)
    same(watcher.last_zxid, zxid)


@check(65, "a session's ephemerals go in one transaction; a child watch on their parent fires once")
def closing_events(visit: Visit) -> None:
    watcher, client = visit.session(), visit.session()
    root = visit.directory(watcher, "/c65")
    paths = [f"{root}/a", f"{root}/b"]
    for path in paths:
        done(client.call(op.create(path, flags=op.EPHEMERAL)))
        done(watcher.call(op.exists(path, watch=True)))
    done(watcher.call(op.get_children(root, watch=True)))
    zxid = client.close_session().zxid
    reply = watcher.call(op.exists(root))
    same(sorted(reply.events), [*(Event(2, path) for path in paths), Event(4, root)])
    same((reply.zxid, reply.value.pzxid, reply.value.cversion), (zxid, zxid, 4))


@check(66, "a connection that drops leaves the ephemerals; a reattach in time keeps them")
def dropped(visit: Visit) -> None:
    watcher, client = visit.session(), visit.session()
    root = visit.directory(watcher, "/c66")
    done(client.call(op.create(f"{root}/e", flags=op.EPHEMERAL)))
    client.hang_up()
    visit.clock.sleep(0.2)
    same(watcher.call(op.exists(f"{root}/e")).error, 0)
    again = visit.reattach(client)
    same(done(again.call(op.exists(f"{root}/e"))).ephemeral_owner, client.session)


@check(67, "a session of timeout T that is silent ends after more than T, at most T and a tick")
def expiry(visit: Visit) -> None:
    timeout_s, tick_s = 2 * visit.tick_ms / 1000, visit.tick_ms / 1000
    watcher, client = visit.session(), visit.session(timeout_ms=2 * visit.tick_ms)
    root = visit.directory(watcher, "/c67")
    done(client.call(op.create(f"{root}/e", flags=op.EPHEMERAL)))
    asked = visit.clock.now()
    done(client.call(op.ping()))
    answered = visit.clock.now()
    assert client.closed_silently(within=timeout_s + tick_s + 15), "it never expires"
    # Silent connections are closed by a clock of their own: the session may end a little later.
    visit.until(lambda: watcher.call(op.exists(f"{root}/e")).error == -101)
    ended = visit.clock.now()
    assert ended - asked > timeout_s, f"expired after {ended - asked:.3f} s"
    most = timeout_s + tick_s + visit.clock.lateness
    assert ended - answered <= most, f"only after {ended - answered:.3f} s"
    answer = visit.connect().handshake(session=client.session, password=client.password)
    assert not answer.valid, "the session can still be attached"


@check(68, "getEphemerals goes by a prefix of the text, not of the path; / is all one's own")
def get_ephemerals(visit: Visit) -> None:
    client, other = visit.session(), visit.session()
    for directory in ("/e", "/ep"):
        visit.directory(client, directory)
    mine = ["/e/1", "/ep/1", "/ep/2"]
    for path in mine:
        done(client.call(op.create(path, flags=op.EPHEMERAL)))
    done(other.call(op.create("/e/other", flags=op.EPHEMERAL)))
    same(sorted(done(client.call(op.get_ephemerals("/e")))), mine)
    same(sorted(done(client.call(op.get_ephemerals("/ep")))), mine[1:])
    same(sorted(done(client.call(op.get_ephemerals("/")))), mine)


@check(69, "getAllChildrenNumber counts all descendants; a missing path is an error")
def get_all_children_number(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c69")
    for path in ("/a", "/a/b", "/a/b/c", "/d"):
        done(client.call(op.create(root + path)))
    same(done(client.call(op.get_all_children_number(root))), 4)
    same(done(client.call(op.get_all_children_number(f"{root}/a"))), 2)
    same(client.call(op.get_all_children_number(f"{root}/no")).error, -101)
