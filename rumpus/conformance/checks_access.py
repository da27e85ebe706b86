"""Checks 37 to 41, and 102: authentication and access control."""

import base64
import hashlib
import ipaddress

from rumpus.conformance import operations as op
from rumpus.conformance.operations import ALL, CREATE, READ, Acl
from rumpus.conformance.registry import check, same
from rumpus.conformance.visit import Visit, done


def digest(user: str, password: str) -> str:
    """The id of a user in scheme ``digest``."""
    hashed = hashlib.sha1(f"{user}:{password}".encode()).digest()  # noqa: S324 - as ZooKeeper does
    return f"{user}:{base64.b64encode(hashed).decode()}"


@check(37, "digest auth is answered with zxid 0; whoAmI then tells of it and of the address")
def digest_auth(visit: Visit) -> None:
    client = visit.session()
    reply = client.call(op.auth("digest", b"u:p"), xid=-4)
    same((reply.xid, reply.zxid, reply.error, reply.body), (-4, 0, 0, b""))
    for _ in range(2):
        identities = dict(done(client.call(op.who_am_i())))
        same(sorted(identities), ["digest", "ip"])
        same(identities["digest"], "u")
        ipaddress.ip_address(identities["ip"])
        same(client.call(op.auth("digest", b"u:p"), xid=-4).error, 0)


@check(38, "auth with an unknown scheme, or world, gets -115, then the end")
def refused_auth(visit: Visit) -> None:
    for scheme in ("nope", "world"):
        client = visit.session()
        reply = client.call(op.auth(scheme, b"u:p"), xid=-4)
        same((reply.xid, reply.zxid, reply.error), (-4, 0, -115), scheme)
        assert client.closed_silently(), f"the connection stays open after {scheme}"


@check(39, "scheme auth is stored as the client's digest; who may not ADMIN sees no hash")
def stored_auth(visit: Visit) -> None:
    owner, reader = visit.session(), visit.session()
    done(owner.call(op.auth("digest", b"u:p"), xid=-4))
    visit.remove(owner, "/c39")
    acl = [Acl(ALL, "auth", ""), Acl(READ, "world", "anyone")]
    done(owner.call(op.create("/c39", acl=acl)))
    world = Acl(READ, "world", "anyone")
    same(done(owner.call(op.get_acl("/c39")))[0], [Acl(ALL, "digest", digest("u", "p")), world])
    same(done(reader.call(op.get_acl("/c39")))[0], [Acl(ALL, "digest", "u:x"), world])


@check(40, "a stranger may stat and delete a znode of another's, and nothing else")
def strangers(visit: Visit) -> None:
    client = visit.session()
    visit.remove(client, "/c40")
    done(client.call(op.create("/c40", acl=[Acl(ALL, "digest", digest("u", "p"))])))
    same(client.call(op.exists("/c40")).error, 0)
    for request in (
        op.get_data("/c40"),
        op.set_data("/c40", b"", 99),
        op.get_children("/c40"),
        op.get_acl("/c40"),
        op.create("/c40/child"),
    ):
        same(client.call(request).error, -102, f"operation {request.code}")
    same(client.call(op.delete("/c40")).error, 0)


@check(41, "who may not create or delete in a parent does not learn what is there")
def closed_parent(visit: Visit) -> None:
    owner, client = visit.session(), visit.session()
    done(owner.call(op.auth("digest", b"u:p"), xid=-4))
    visit.remove(owner, "/c41")
    acl = [Acl(ALL, "auth", ""), Acl(ALL & ~CREATE & ~op.DELETE, "world", "anyone")]
    done(owner.call(op.create("/c41", acl=acl)))
    done(owner.call(op.create("/c41/child")))
    same(client.call(op.create("/c41/child")).error, -102)
    same(client.call(op.delete("/c41/missing")).error, -102)
    same(owner.call(op.create("/c41/child")).error, -110)
    same(owner.call(op.delete("/c41/missing")).error, -101)


@check(102, "an id that is null does where scheme auth looks at none, and gets -5 elsewhere")
def null_ids(visit: Visit) -> None:
    client = visit.session()
    visit.remove(client, "/c102")
    nobodys = [Acl(ALL, "auth", None)]
    same(client.call(op.create("/c102", acl=nobodys)).error, -114)
    done(client.call(op.auth("digest", b"u:p"), xid=-4))
    done(client.call(op.create("/c102", acl=nobodys)))
    same(done(client.call(op.get_acl("/c102")))[0], [Acl(ALL, "digest", digest("u", "p"))])
    done(client.call(op.set_acl("/c102", [*nobodys, Acl(READ, "auth", None)])))
    for acl, error in (
        ([Acl(ALL, "world", None)], -5),
        ([Acl(ALL, "digest", None)], -5),
        ([Acl(ALL, "ip", None)], -5),
        ([Acl(ALL, "nope", None)], -114),
        ([Acl(ALL, None, "anyone")], -114),
        (nobodys * 2, -5),
        ([Acl(ALL, "auth", ""), *nobodys], -5),
        ([*nobodys, Acl(ALL, "auth", "")], 0),
    ):
        same(client.call(op.set_acl("/c102", acl)).error, error, str(acl))
