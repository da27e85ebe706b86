"""Long ACLs, indexed: what a client may do is found without a look at each entry.

A request of one megabyte can make an ACL of 40,000 entries, and another one can ask 70,000 times
for the znode that has it. Entry by entry that takes hours, and with an index a second.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Final

from rumpus.simulation.zookeeper.wire.permissions import Acl
from rumpus.simulation.zookeeper.wire.request import Identities

LONG: Final = 16
"""From how many entries on an ACL is indexed."""

_MOST_KEPT: Final = 64

Network = tuple[int, int]
"""Address, and length of its prefix in bits."""

_kept: dict[int, tuple[Acl, "AclIndex"]] = {}
"""The id of an ACL -> the ACL, which is kept so that no other one gets its id, and its index."""


class AclIndex:
    """Which permissions an ACL gives to whom.

    Args:
        acl: the entries.
        parse: makes a network of the id of an ``ip`` entry, or an address; None if it is malformed.
    """

    def __init__(self, acl: Acl, parse: Callable[[str], Network | None]) -> None:
        self._parse = parse
        self._of_ids: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._of_networks: dict[int, defaultdict[int, int]] = {}
        for permissions, scheme, name in acl:
            self._of_ids[scheme, name] |= permissions
            if scheme == "ip" and (network := parse(name)) is not None:
                address, bits = network
                shift = 32 - bits
                same_length = self._of_networks.setdefault(shift, defaultdict(int))
                same_length[address >> shift] |= permissions

    def permits(self, wanted: int, identities: Identities) -> bool:
        """Whether a client with these ids has one of the wanted permissions."""
        of_ids = self._of_ids
        if of_ids.get(("world", "anyone"), 0) & wanted:
            return True
        for identity in identities:
            if of_ids.get(identity, 0) & wanted:
                return True
            scheme, name = identity
            if scheme == "ip" and (network := self._parse(name)) is not None:
                address, _ = network
                for shift, permissions in self._of_networks.items():
                    if permissions.get(address >> shift, 0) & wanted:
                        return True
        return False


def indexed(acl: Acl, parse: Callable[[str], Network | None]) -> AclIndex:
    """The index of an ACL; made once, as long as few others are asked for."""
    found = _kept.get(id(acl))
    if found is not None and found[0] is acl:
        return found[1]
    if len(_kept) >= _MOST_KEPT:
        _kept.clear()
    index = AclIndex(acl, parse)
    _kept[id(acl)] = acl, index
    return index
