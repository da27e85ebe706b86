"""Known bugs of ZooKeeper 3.8.0 that can be switched on in servers (``Settings.bugs``)."""

CURRENT_EPOCH_BEFORE_DATA = "current-epoch-before-data"
ACK_ORDER = "ack-order"
NULL_POINTER_IN_SYNC = "null-pointer-in-sync"
DISCONTINUOUS_COMMITTED_LOG = "discontinuous-committed-log"
UNCOMMITTED_FROM_LOG = "uncommitted-from-log"
SYNC_TAKEN_FOR_WRITE = "sync-taken-for-write"
LATE_LOGGING = "late-logging"

BUGS: dict[str, str] = {
    CURRENT_EPOCH_BEFORE_DATA: (
        "ZOOKEEPER-4643, 4646, 4785 (fixed in 3.8.5): a learner that syncs by DIFF writes its new "
        "currentEpoch and acknowledges NEWLEADER before the transactions it got are on its disk; "
        "if it dies in between, it has a high epoch and an old zxid, wins the next election, and "
        "committed transactions are lost."
    ),
    ACK_ORDER: (
        "ZOOKEEPER-4685: acknowledgements of proposals may reach the leader before that of "
        "NEWLEADER; the leader takes the first one for it, does not count it, and may wait in "
        "vain for a quorum."
    ),
    NULL_POINTER_IN_SYNC: (
        "ZOOKEEPER-4394: a COMMIT between NEWLEADER and UPTODATE of a proposal that came before "
        "NEWLEADER finds an empty list; the follower drops the connection and starts over."
    ),
    DISCONTINUOUS_COMMITTED_LOG: (
        "ZOOKEEPER-4925: what a follower gets by DIFF does not go into its committedLog; as a "
        "later leader it hands out a DIFF with a gap."
    ),
    UNCOMMITTED_FROM_LOG: (
        "A server that is re-synced by SNAP keeps in its log what was never committed; as a later "
        "leader it reads its log for a learner that is far behind, and sends it that as well."
    ),
    SYNC_TAKEN_FOR_WRITE: (
        "CommitProcessor finds the request of a transaction by session and cxid, and some clients "
        "(kazoo) number their requests anew on each connection. A sync that waits on a learner is "
        "taken for a write that its session sent through another server. It is answered too early; "
        "when the leader has answered it, the learner applies that write a second time, so that a "
        "znode which was deleted meanwhile is back on this server only. So do real servers of "
        "3.4.13 to 3.9.3 (docs/upstream/zookeeper)."
    ),
    LATE_LOGGING: (
        "ZOOKEEPER-4712: a learner that loses its leader does not stop the thread that writes the "
        "log. It rebuilds its tree from the log and looks for a leader, and only then the "
        "proposals are logged that waited for the disk. If the ensemble goes on without them, "
        "they are on this disk all the same, and the next start applies them."
    ),
}
"""Name of each switch, and what the servers do wrong when it is on."""
