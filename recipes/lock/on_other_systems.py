"""Locks on Redis and etcd. They run on real servers only."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.other_systems import REVOKES, OtherSystemEntry, on_etcd

OTHER_LOCKS: Final[Mapping[str, OtherSystemEntry]] = {
    "redis": OtherSystemEntry("redis.redis_lock:RedisLock", "redis", "redis"),
    "redis-sentinel": OtherSystemEntry(
        "redis.redis_lock:SentinelLock",
        "redis-sentinel",
        "redis",
        weakness="a primary acknowledges a grant before its replicas have it, so a failover can "
        "lose the grant, and the count of tokens with it",
    ),
    "redis-py": OtherSystemEntry("redis.packaged_locks:RedisPyLock", "redis", "redis"),
    "redlock": OtherSystemEntry("redis.redlock:Redlock", "redis-independent", "redis"),
    "redlock-py": OtherSystemEntry(
        "redis.packaged_locks:RedlockPy",
        "redis-independent",
        "redlock",
        extra="redis",
        weakness="it fails as long as one server of five does not answer",
    ),
    "redlock-fenced": OtherSystemEntry("redis.redlock:FencedRedlock", "redis-independent", "redis"),
    "redlock-forgetful": OtherSystemEntry(
        "redis.redlock:ForgetfulRedlock",
        "redis-forgetful",
        "redis",
        weakness="a server that is started again within the time to live has forgotten the grant, "
        "and can take part in another",
    ),
    "etcd": on_etcd("etcd_lock:EtcdLock"),
    "etcd-queue": on_etcd("etcd_queue_lock:EtcdQueueLock", weakness=REVOKES),
    "redis-plain-delete": OtherSystemEntry(
        "redis.faulty_redis_locks:PlainDelete",
        "redis",
        "redis",
        "releases by a plain DEL: a holder whose lease has ended deletes the key of the next",
        frozenset({"split-brain"}),
    ),
    "redis-believes-for-good": OtherSystemEntry(
        "redis.faulty_redis_locks:BelievesForGood",
        "redis",
        "redis",
        "a holder believes until it releases, whenever its lease ends",
        frozenset({"stale-belief"}),
    ),
    "redlock-minority": OtherSystemEntry(
        "redis.faulty_redis_locks:MinorityRedlock",
        "redis-independent",
        "redis",
        "two of five servers are enough",
        frozenset({"split-brain"}),
    ),
    "etcd-unbound": on_etcd(
        "faulty_etcd_locks:Unbound",
        "the key is not bound to a lease: that of a client that is gone stays",
        "deadlock",
    ),
    "etcd-queue-does-not-wait": on_etcd(
        "faulty_etcd_queues:UnqueuedLock",
        "holds as soon as its key is there, without waiting for those with smaller revisions",
        *("split-brain", "unfair-grant"),
    ),
}
