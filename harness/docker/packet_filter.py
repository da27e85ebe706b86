"""The packet filter of a node's network, as iptables text: rules to load, and rules read back.

All rules are in chains of their own, to which ``INPUT`` jumps first: one for partitions, one for
losses. So a partition replaces another in one atomic load, healing empties the chain, and no other
rules are changed.
"""

import re
from collections.abc import Iterable, Mapping

CHAIN = "RUMPUS"
LOSSES = "RUMPUS-LOSSES"

_DROP = re.compile(rf"-A {CHAIN} -s (\S+?)(?:/32)? -j DROP")


def drop_script(sources: Iterable[str]) -> str:
    """A bash script that makes the chain drop all packets from these IPv4 addresses and no others.

    No addresses: the chain is emptied. Run it in the node's network with NET_ADMIN.
    """
    return _load_script(CHAIN, (f"-s {source}/32 -j DROP" for source in sorted(sources)))


def loss_script(shares: Mapping[str, float]) -> str:
    """A bash script that makes packets from these addresses be lost at random, and no others.

    Args:
        shares: IPv4 address -> the share of packets, above 0 and below 1.
    """
    rules = (
        f"-s {source}/32 -m statistic --mode random --probability {share:.4f} -j DROP"
        for source, share in sorted(shares.items())
    )
    return _load_script(LOSSES, rules)


def _load_script(chain: str, rules: Iterable[str]) -> str:
    lines = "".join(f"-A {chain} {rule}\\n" for rule in rules)
    return (
        "set -e\n"
        f"iptables -w -n -L {chain} >/dev/null 2>&1 || iptables -w -N {chain}\n"
        f"iptables -w -C INPUT -j {chain} 2>/dev/null || iptables -w -I INPUT -j {chain}\n"
        f"printf '*filter\\n:{chain} - [0:0]\\n{lines}COMMIT\\n' | iptables-restore -w --noflush\n"
    )


READ_SCRIPT = "iptables -w -S"
"""A script that prints the rules in force, for `dropped` to read."""


COUNTED_SCRIPT = "iptables -w -v -S"
"""The same with the rules' counters, for `lossy` to read."""

_LOSES = re.compile(
    rf"-A {LOSSES} -s (\S+?)(?:/32)? -m statistic --mode random --probability (\S+)"
    r"(?: -c (\d+) \d+)? -j DROP"
)


def lossy(listing: str) -> dict[str, tuple[float, int]]:
    """Address -> the share of its packets that are lost, and how many were; of `COUNTED_SCRIPT`.

    Rules that ``INPUT`` does not jump to are not in force and do not count.
    """
    lines = [line.strip() for line in listing.splitlines()]
    if not any(re.fullmatch(rf"-A INPUT(?: -c \d+ \d+)? -j {LOSSES}", line) for line in lines):
        return {}
    found = filter(None, map(_LOSES.fullmatch, lines))
    return {each[1]: (round(float(each[2]), 4), int(each[3] or 0)) for each in found}


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
