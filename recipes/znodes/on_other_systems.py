"""Keys of etcd in place of znodes. They run on real servers only."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.other_systems import OtherSystemEntry, on_etcd

FIRST_CONNECTION: Final = "does not connect again once a request has got no answer"

OTHER_REGISTERS: Final[Mapping[str, OtherSystemEntry]] = {
    "etcd": on_etcd("etcd_keys:EtcdRegister"),
    "etcd-serializable-reads": on_etcd(
        "faulty_etcd_keys:SerializableReads",
        "reads are serializable: the server that is asked answers by itself, and may lag",
        "not-linearizable",
    ),
    "etcd-gets-then-puts": on_etcd(
        "faulty_etcd_keys:GetsThenPuts",
        "a compare-and-set reads, compares by itself, and writes whatever is there by then",
        "not-linearizable",
    ),
    "etcd-retries-cas": on_etcd(
        "faulty_etcd_keys:RetriesCas",
        "repeats a compare-and-set whose answer was lost, and reports it as refused if the first "
        "one had succeeded",
        "not-linearizable",
    ),
    "etcd-caches-reads": on_etcd(
        "faulty_etcd_keys:CachesReads",
        "answers reads from a cache that its own writes do not update: a client reads what it has "
        "overwritten itself",
        "session-order",
    ),
    "etcd-first-connection": on_etcd(
        "faulty_etcd_keys:FirstConnectionRegister", FIRST_CONNECTION, "stuck-waiter"
    ),
}

OTHER_WATCHED: Final[Mapping[str, OtherSystemEntry]] = {
    "etcd": on_etcd("etcd_watched_keys:EtcdWatchedKeys"),
    "etcd-from-now": on_etcd(
        "faulty_etcd_keys:FromNow",
        "begins a watch again from now on, not from the revision after the last event",
        "missed-event",
    ),
    "etcd-from-last-event": on_etcd(
        "faulty_etcd_keys:FromLastEvent",
        "begins a watch again at the revision of the last event, which comes again",
        "repeated-event",
    ),
    "etcd-by-key": on_etcd(
        "faulty_etcd_keys:ByKey",
        "hands out the changes of one key after those of another, whichever was earlier",
        "reordered-event",
    ),
    "etcd-any-news": on_etcd(
        "faulty_etcd_keys:AnyNews",
        "takes the end of a watch for a change, without comparing versions",
        "false-event",
    ),
    "etcd-ignores-timeout": on_etcd(
        "faulty_etcd_keys:IgnoresTimeout", "waits for ever, whatever the timeout", "overdue-call"
    ),
    "etcd-halves-timeout": on_etcd(
        "faulty_etcd_keys:HalvesTimeout", "gives up after half of the timeout", "early-timeout"
    ),
    "etcd-first-connection": on_etcd(
        "faulty_etcd_keys:FirstConnectionWatch", FIRST_CONNECTION, "stuck-waiter"
    ),
}

OTHER_MULTI_WRITES: Final[Mapping[str, OtherSystemEntry]] = {
    "etcd": on_etcd("etcd_multi_write:EtcdMultiWrite"),
    "etcd-one-by-one": on_etcd(
        "faulty_etcd_keys:OneByOne", "writes the keys in a transaction each", "torn-multi"
    ),
    "etcd-reads-one-by-one": on_etcd(
        "faulty_etcd_keys:ReadsOneByOne", "reads the keys in a transaction each", "torn-multi"
    ),
    "etcd-ignores-version": on_etcd(
        "faulty_etcd_keys:IgnoresVersion",
        "compares no version: a conditional write always takes effect",
        "not-linearizable",
    ),
    "etcd-first-connection": on_etcd(
        "faulty_etcd_keys:FirstConnectionMultiWrite", FIRST_CONNECTION, "stuck-waiter"
    ),
}
