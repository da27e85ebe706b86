"""Whether each server has what the ensemble committed, by the servers' files.

This is a promise of ZooKeeper's, and holds whatever the recipe is. `checker.servers.replicas` and
`checker.servers.commitment` find out; here it is named:

``lost-transaction``
    Fewer than a quorum of disks have what a client was shown. A server's log jumps over committed
    transactions, and no snapshot brought them. A leader let another server drop one.
``diverged-servers``
    A server has, or had, another tree than the history leads to: it leads with another tree, would
    start with one although its log is whole, has read from its disk what the ensemble dropped, has
    another record of a zxid than others, or says so itself; or the digests that leaders logged are
    not those of their transactions.
``latent-divergence``
    A hazard: a server's disk holds what the ensemble dropped, which would change its tree at its
    next start (ZOOKEEPER-4712).
"""

from collections.abc import Iterator

from rumpus.checker.check import check
from rumpus.checker.history import History
from rumpus.checker.servers.node_files import counter
from rumpus.checker.servers.replicas import Replica
from rumpus.checker.servers.server_truth import ServerTruth
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import ANYTHING, Anomaly, CheckResult, Kind
from rumpus.checker.wording import counted

LOST_TRANSACTION = Kind(
    "lost-transaction",
    "a server never got a transaction that the ensemble committed",
    about="servers",
    explains=ANYTHING,
)
DIVERGED_SERVERS = Kind(
    "diverged-servers",
    "a server's tree differs from the one that the others have",
    about="servers",
    explains=ANYTHING,
)
LATENT_DIVERGENCE = Kind(
    "latent-divergence",
    "a server's disk holds what the ensemble dropped, until its next start",
    about="disks",
)

MOST_NAMED = 3
"""How many znodes a description names."""


@check("servers", finds=[LOST_TRANSACTION, DIVERGED_SERVERS, LATENT_DIVERGENCE])
def check_server_state(timeline: Timeline) -> CheckResult | None:
    """Compare the servers with what they committed, and with what clients were shown.

    What has no time of its own gets that of the run's beginning. None without the servers' files.
    """
    truth, clock, history = timeline.truth, timeline.clock, timeline.history
    if truth is None:
        return None
    start = history.start
    times = {
        txn.zxid: txn.time_ms
        for txns in (truth.committed, truth.uncertain, truth.forked)
        for txn in txns
    }

    def anomaly(kind: str, description: str, *zxids: int) -> Anomaly:
        found = [times[zxid] for zxid in zxids if zxid in times]
        begin, end = (
            (clock.monotonic(min(found)), clock.monotonic(max(found)))
            if clock is not None and found
            else (start, start)
        )
        return Anomaly(kind=kind, description=description, start=begin, end=end)

    found = [anomaly("diverged-servers", each.words, each.zxid) for each in truth.astray]
    if words := _shown_to_clients(truth, history):
        found.append(anomaly("lost-transaction", words))
    uncompared = []
    for replica in truth.replicas:
        found += [anomaly("lost-transaction", words, *zxids) for words, zxids in _lost(replica)]
        for zxid, paths in sorted(replica.snapshots.items()):
            words = f"{replica.name} wrote a snapshot with {_znodes(paths, zxid)}"
            found.append(anomaly("diverged-servers", words, zxid))
        if replica.differing:
            found.append(anomaly(*_other_tree(replica), replica.at))
        if replica.late:
            found.append(anomaly("latent-divergence", _out_of_order(replica), *replica.late))
        if differences := replica.own_words.differences:
            found.append(anomaly("diverged-servers", _complaint(replica), differences[0]))
        elif replica.own_words.counted:
            found.append(anomaly("diverged-servers", _complaint(replica)))
        if replica.differing is None:
            uncompared.append(f"{replica.name}: {replica.unread}")
    return CheckResult(
        name="servers",
        anomalies=found,
        stats={
            "compared": sum(replica.differing is not None for replica in truth.replicas),
            "not_compared": uncompared,
        },
    )


def _shown_to_clients(truth: ServerTruth, history: History) -> str:
    """The loss of what a server answered with, in words; empty if there is none.

    An answer carries the last zxid that its server had applied. That was committed, so a quorum had
    it on disk. (The zxid with which an epoch begins is in no log.)
    """
    shown = max(
        (op.value.get("shown") or 0 for op in history.events("link", "requests")), default=0
    )
    if not counter(shown) or truth.reasons:
        return ""  # what the files cannot tell is told as such
    have = [replica.name for replica in truth.replicas if replica.tail >= shown]
    if len(have) > len(truth.replicas) // 2:
        return ""
    who = f"only {', '.join(have)}" if have else "none"
    return (
        f"a client was shown 0x{shown:x}, so a quorum had it on disk, but of "
        f"{len(truth.replicas)} servers {who} still has it"
    )


def _lost(replica: Replica) -> Iterator[tuple[str, tuple[int, int]]]:
    """What a server lacked, in words, and between which zxids. Refused requests are no loss."""
    for gap in replica.gaps:
        if not gap.changes:
            continue
        first, last = gap.txns[0].zxid, gap.txns[-1].zxid
        span = f"0x{first:x}" if first == last else f"0x{first:x} to 0x{last:x}"
        never = counted(len(gap.txns), "committed transaction")
        words = (
            f"{replica.name} never got {never} ({span}): its log jumps from "
            f"0x{gap.before:x} to 0x{gap.after:x} with no snapshot between"
        )
        yield words, (first, gap.after)
    for server, txn in replica.truncated:
        words = (
            f"{replica.name} led, and let server {server} drop 0x{txn.zxid:x}, its last "
            "transaction, which was committed"
        )
        yield words, (txn.zxid, txn.zxid)


def _other_tree(replica: Replica) -> tuple[str, str]:
    """The anomaly, and the words, for a server that would start with another tree."""
    what = _znodes(replica.differing or (), replica.at)
    if not replica.dropped or replica.gaps:
        return "diverged-servers", f"{replica.name}, started from its files, has {what}"
    dropped = (
        f"{counted(len(replica.dropped), 'transaction')} that the ensemble dropped, from "
        f"0x{replica.dropped[0]:x} on"
    )
    if replica.reloaded:
        return "diverged-servers", f"{replica.name} has started with {dropped}, and has {what}"
    return "latent-divergence", f"{replica.name} has logged {dropped}: its next start gives {what}"


def _out_of_order(replica: Replica) -> str:
    """ZOOKEEPER-4712, mostly: the thread that writes the log outlives its leader.

    Where it comes too late for what the next leader has sent, the order is another.
    """
    first, last = min(replica.late), max(replica.late)
    what = f"0x{first:x}" if first == last else f"0x{first:x} to 0x{last:x}"
    many = counted(len(replica.late), "transaction")
    return f"{replica.name} has logged {many} ({what}) after later ones: a start applies them so"


def _znodes(paths: tuple[str, ...], zxid: int) -> str:
    named = ", ".join(paths[:MOST_NAMED]) + (" ..." if len(paths) > MOST_NAMED else "")
    return f"{len(paths)} znodes that differ from the history at 0x{zxid:x} ({named})"


def _complaint(replica: Replica) -> str:
    said = replica.own_words
    words = f"{replica.name} found its tree to differ from the leader's"
    if said.differences:
        words += f", first after 0x{said.differences[0]:x}"
    if said.counted:
        words += f", {said.counted:,} times since its last start"
    return words
