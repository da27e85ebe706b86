"""The packet filter of a node's network, as iptables text: rules to load, and rules read back.

All rules are in a chain of their own, to which ``INPUT`` jumps first. So a partition replaces
another in one atomic load, healing empties the chain, and no other rules are changed.
"""

import re
from collections.abc import Iterable

CHAIN = "RUMPUS"

_DROP = re.compile(rf"-A {CHAIN} -s (\S+?)(?:/32)? -j DROP")


def drop_script(sources: Iterable[str]) -> str:
    """A bash script that makes the chain drop all packets from these IPv4 addresses and no others.

    No addresses: the chain is emptied. Run it in the node's network with NET_ADMIN.
    """
    rules = "".join(f"-A {CHAIN} -s {source}/32 -j DROP\\n" for source in sorted(sources))
    return (
        "set -e\n"
        f"iptables -w -n -L {CHAIN} >/dev/null 2>&1 || iptables -w -N {CHAIN}\n"
        f"iptables -w -C INPUT -j {CHAIN} 2>/dev/null || iptables -w -I INPUT -j {CHAIN}\n"
        f"printf '*filter\\n:{CHAIN} - [0:0]\\n{rules}COMMIT\\n' | iptables-restore -w --noflush\n"
    )


READ_SCRIPT = "iptables -w -S"
"""A script that prints the rules in force, for `dropped` to read."""


def dropped(listing: str) -> frozenset[str]:
    """The addresses whose packets are dropped, from what ``iptables -S`` printed.

    Rules that ``INPUT`` does not jump to are not in force and do not count.
    """
    lines = [line.strip() for line in listing.splitlines()]
    if f"-A INPUT -j {CHAIN}" not in lines:
        return frozenset()
    return frozenset(found[1] for line in lines if (found := _DROP.fullmatch(line)))


def reach_script(address: str) -> str:
    """A bash script that tries to connect to an address, for one second at most; see `reached`.

    It connects to a port where nobody listens. If packets pass both ways, the target's kernel
    refuses the connection at once, whatever its server does. So neither a dead server nor a
    paused one with a full queue of connections is taken for a partition.
    """
    return f"LC_ALL=C timeout 1 bash -c 'exec 3<>/dev/tcp/{address}/1' 2>&1"


def reached(code: int, said: str) -> bool:
    """Whether the script's exit code and output say that packets pass both ways."""
    return code == 0 or "Connection refused" in said
