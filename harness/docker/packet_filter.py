"""The packet filter of a node's network, as iptables text: rules to load, and rules read back.

All rules are in chains of their own, to which ``INPUT`` jumps first: one for partitions, one for
losses, one for delays. So a partition replaces another in one atomic load, healing empties the
chain, and no other rules are changed. Delays are in the table ``mangle``, which packets meet before
the others: so they are late first, and may be dropped when they arrive.
"""

import re
from collections.abc import Iterable, Mapping

from rumpus.harness.ensemble import Slowness

CHAIN = "RUMPUS"
LOSSES = "RUMPUS-LOSSES"
DELAYS = "RUMPUS-DELAYS"

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


_END_DELAYS = (
    "before=$(cat /run/packet-delay.pid 2>/dev/null || echo none); "
    "kill $before 2>/dev/null && while kill -0 $before 2>/dev/null; do sleep 0.01; done; "
    "rm -f /run/packet-delay.pid"
)


def delay_script(links: Mapping[str, Slowness]) -> str:
    """A bash script that makes packets from these addresses late, and no others.

    The rules go before the program that lets packets pass ends: while it is not there, packets
    pass at once.

    Args:
        links: IPv4 address -> how slow.
    """
    numbered = [*enumerate(sorted(links.items()), 1)]
    queues = " ".join(
        f"{number}:{round(1e6 * slow.delay)}:{round(1e6 * slow.jitter)}:{slow.bytes_per_second}"
        for number, (_, slow) in numbered
    )
    rules = (
        f"-s {source}/32 -j NFQUEUE --queue-num {number} --queue-bypass"
        for number, (source, _) in numbered
    )
    return (
        f"{_load_script(DELAYS, (), 'mangle')}"
        f"{_END_DELAYS}\n"
        f"{f'packet-delay {queues}' if queues else ''}\n"
        f"{_load_script(DELAYS, rules, 'mangle')}"
    )


def _load_script(chain: str, rules: Iterable[str], table: str = "filter") -> str:
    lines = "".join(f"-A {chain} {rule}\\n" for rule in rules)
    iptables = f"iptables -w -t {table}"
    return (
        "set -e\n"
        f"{iptables} -n -L {chain} >/dev/null 2>&1 || {iptables} -N {chain}\n"
        f"{iptables} -C INPUT -j {chain} 2>/dev/null || {iptables} -I INPUT -j {chain}\n"
        f"printf '*{table}\\n:{chain} - [0:0]\\n{lines}COMMIT\\n' | iptables-restore -w --noflush\n"
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


QUEUES_SCRIPT = "iptables -w -t mangle -v -S && cat /proc/net/netfilter/nfnetlink_queue"
"""A script that prints the rules for delays, and the queues that somebody reads; for `queued`."""

_QUEUES = re.compile(
    rf"-A {DELAYS} -s (\S+?)(?:/32)?(?: -c (\d+) \d+)? -j NFQUEUE --queue-num (\d+) --queue-bypass"
)
_READ = re.compile(r"\s*(\d+)(?:\s+\d+){8}")


def queued(listing: str) -> dict[str, int]:
    """Address -> how many of its packets were queued, where somebody lets them pass later."""
    lines = [line.rstrip() for line in listing.splitlines()]
    if not any(re.fullmatch(rf"-A INPUT(?: -c \d+ \d+)? -j {DELAYS}", line) for line in lines):
        return {}
    served = {found[1] for found in map(_READ.fullmatch, lines) if found}
    found = filter(None, map(_QUEUES.fullmatch, lines))
    return {each[1]: int(each[2] or 0) for each in found if each[3] in served}


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
