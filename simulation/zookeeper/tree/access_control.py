"""Access control: ACLs and the ids of connections.

Source: ``PrepRequestProcessor.fixupACL``, ``ZooKeeperServer.checkACL`` and the providers in
``org.apache.zookeeper.server.auth`` of ZooKeeper 3.8.0.
"""

import re
from base64 import b64encode
from hashlib import sha1

from rumpus.simulation.zookeeper.tree.acl_index import LONG, indexed
from rumpus.simulation.zookeeper.wire.error_codes import INVALID_ACL, NO_AUTH, Refusal
from rumpus.simulation.zookeeper.wire.jute import MalformedRecord
from rumpus.simulation.zookeeper.wire.permissions import OPEN, Acl, AskedAcl
from rumpus.simulation.zookeeper.wire.request import Identities

_WITH_IDS = frozenset({"world", "digest", "ip"})
"""Schemes whose ids a server parses: for a null id it answers -5 (MARSHALLINGERROR)."""

LONGEST_PROVED = 4096
"""Bytes that entries ``auth`` of one ACL may become.

A request of 64 KB can name 4,000 of them, each of which stands for all ids of its client: hundreds
of megabytes, in every log. A real server writes them all.
"""

_FRAMED = 12
"""Bytes of an entry besides its names: the permissions, and how long each name is."""

_ADDRESS = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?:/(\d{1,2}))?", re.ASCII)


def permits(acl: Acl, wanted: int, identities: Identities) -> bool:
    """Whether a client with these ids has one of the wanted permissions."""
    if not acl or acl == OPEN:
        return True
    for scheme, _ in identities:
        if scheme == "super":
            return True
    if len(acl) >= LONG:
        return indexed(acl, _parse_network).permits(wanted, identities)
    for permissions, scheme, name in acl:
        if permissions & wanted:
            if scheme == "world" and name == "anyone":
                return True
            for held_scheme, held_name in identities:
                if held_scheme == scheme and (
                    held_name == name or (scheme == "ip" and _in_network(held_name, name))
                ):
                    return True
    return False


def check(acl: Acl, wanted: int, identities: Identities) -> None:
    """Check that a client with these ids has one of the wanted permissions.

    Raises:
        Refusal: NO_AUTH, if it has none.
    """
    if acl is not OPEN and not permits(acl, wanted, identities):
        raise Refusal(NO_AUTH)


def resolve(acl: AskedAcl | None, identities: Identities) -> Acl:
    """The ACL as it is stored: without duplicates, ``auth`` replaced by the client's digest ids.

    An id may be null for the scheme ``auth`` only.

    Raises:
        Refusal: INVALID_ACL, for an empty ACL, an unknown scheme or a malformed id, and for entries
            ``auth`` that become longer than `LONGEST_PROVED`.
        MalformedRecord: a field is null for which a real server answers MARSHALLINGERROR.
    """
    if acl == OPEN:
        return OPEN
    if not acl:
        raise Refusal(INVALID_ACL)
    resolved: list[tuple[int, str, str]] = []
    proved = 0
    for permissions, scheme, name in _without_duplicates(acl):
        if scheme is None:
            raise Refusal(INVALID_ACL)
        if scheme == "auth":
            mine = [(permissions, held, who) for held, who in identities if held == "digest"]
            proved += sum(len(held) + len(who) + _FRAMED for _, held, who in mine)
            if not mine or proved > LONGEST_PROVED:
                raise Refusal(INVALID_ACL)
            resolved += mine
        elif name is None:
            if scheme in _WITH_IDS:
                raise MalformedRecord(f"an id of the scheme {scheme} is null")
            raise Refusal(INVALID_ACL)
        elif (scheme == "world" and name == "anyone") or _is_valid_id(scheme, name):
            resolved.append((permissions, scheme, name))
        else:
            raise Refusal(INVALID_ACL)
    return tuple(resolved)


def _without_duplicates(acl: AskedAcl) -> AskedAcl:
    """The entries without repetitions.

    Java compares each entry with those before it, field by field.

    Raises:
        MalformedRecord: a field that Java compares is null.
    """
    kept: dict[tuple[int, str | None, str | None], None] = {}
    for entry in acl:
        permissions, scheme, name = entry
        if scheme is None or name is None:
            for other in kept:
                if other[0] == permissions and (scheme is None or other[1] == scheme):
                    raise MalformedRecord("an entry with a null is compared")
        kept[entry] = None
    return tuple(kept)


def masked(acl: Acl) -> Acl:
    """The ACL as getACL shows it to clients without ADMIN: the hashes of digests are hidden."""
    return tuple(
        [
            (permissions, scheme, name.partition(":")[0] + ":x" if scheme == "digest" else name)
            for permissions, scheme, name in acl
        ]
    )


def authenticate(
    scheme: str | None, proof: bytes | None, address: str, super_digest: str | None = None
) -> Identities:
    """The ids that an auth packet adds; none if authentication fails.

    Args:
        scheme: of the packet; all but ``digest`` and ``ip`` fail.
        proof: "user:password" for ``digest``; ignored for ``ip``.
        address: of the client.
        super_digest: "user:hash" of the superuser.
    """
    if scheme == "ip":
        return (("ip", address),)
    if scheme != "digest" or proof is None:
        return ()
    name = digest_id(proof)
    if name == super_digest:
        return (("super", ""), ("digest", name))
    return (("digest", name),)


def address_of(host: str) -> str:
    """The IPv4 address of a host: its name if that is one, else one in 10.0.0.0/8 by its hash."""
    if _ADDRESS.fullmatch(host):
        return host
    return f"10.{'.'.join(map(str, sha1(host.encode(), usedforsecurity=False).digest()[:3]))}"


def digest_id(proof: bytes) -> str:
    """The id of the scheme ``digest`` for "user:password": the user and a hash of both."""
    text = proof.decode("utf-8", "replace")
    user = text.partition(":")[0]
    digest = sha1(text.encode(), usedforsecurity=False).digest()
    return f"{user}:{b64encode(digest).decode()}"


def user_of(scheme: str, name: str) -> str:
    """An id as ``whoAmI`` shows it: of a digest the user, without the hash."""
    return name.partition(":")[0] if scheme == "digest" else name


def _is_valid_id(scheme: str, name: str) -> bool:
    if scheme == "digest":
        # Java's split drops empty parts at the end, so "user:" has only one.
        return len(name.rstrip(":").split(":")) == 2
    return scheme == "ip" and _parse_network(name) is not None


def _parse_network(text: str) -> tuple[int, int] | None:
    """Address and prefix length of a network such as "10.0.0.0/8"; None if malformed."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        return None
    parts = [int(part) for part in match.groups()[:4]]
    bits = 32 if match[5] is None else int(match[5])
    if max(parts) > 255 or bits > 32:
        return None
    return int.from_bytes(bytes(parts), "big"), bits


def _in_network(address: str, network: str) -> bool:
    of_address, of_network = _parse_network(address), _parse_network(network)
    if of_address is None or of_network is None:
        return False
    shift = 32 - of_network[1]
    return of_address[0] >> shift == of_network[0] >> shift
