"""Who may do what, by access control lists (``PrepRequestProcessor.checkACL`` of ZooKeeper 3.8)."""

from collections.abc import Sequence
from functools import lru_cache
from struct import Struct
from zlib import crc32

from rumpus.checker.servers.txnlog import AccessList

READ, WRITE, CREATE, DELETE, ADMIN = 1, 2, 4, 8, 16

Identity = tuple[str, str]
"""Scheme and id, as a list has them: ``("digest", "user:hash")``."""

_KNOWN = frozenset({"world", "digest"})
"""Schemes of which it can be told here whether a client is meant."""

_EVERYBODY = frozenset({("world", "anyone"), ("ip", "0.0.0.0/0")})

_INT = Struct(">i")


def allowed(acl: AccessList, wanted: int, identities: Sequence[Identity] | None) -> bool | None:
    """Whether a list allows something; None if that cannot be told.

    Args:
        acl: the znode's.
        wanted: permissions, of which one suffices.
        identities: whom the client has proved to be; None: not known.
    """
    if not acl:
        return True
    unsure = identities is None
    for permissions, scheme, name in acl:
        if not permissions & wanted:
            continue
        if (scheme, name) in (identities or ()) or (scheme, name) in _EVERYBODY:
            return True
        unsure = unsure or scheme not in _KNOWN
    return None if unsure else False


@lru_cache(1024)
def sums(acl: AccessList) -> frozenset[int]:
    """The CRC-32 of a list as a server may send it: whole, or with its digests hidden."""
    hidden = tuple(
        (permissions, scheme, f"{name.partition(':')[0]}:x" if scheme == "digest" else name)
        for permissions, scheme, name in acl
    )
    return frozenset({_sum(acl), _sum(hidden)})


def _sum(acl: AccessList) -> int:
    parts = [_INT.pack(len(acl))]
    for permissions, *names in acl:
        parts.append(_INT.pack(permissions))
        for name in names:
            raw = name.encode()
            parts += [_INT.pack(len(raw)), raw]
    return crc32(b"".join(parts))


OPEN_SUM = _sum(((31, "world", "anyone"),))
"""Of the list that nearly every znode has."""
