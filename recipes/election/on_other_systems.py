"""Elections on etcd. They run on real servers only."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.other_systems import REVOKES, OtherSystemEntry, on_etcd

OTHER_ELECTIONS: Final[Mapping[str, OtherSystemEntry]] = {
    "etcd": on_etcd("etcd_election:EtcdElection", weakness=REVOKES),
    "etcd-does-not-wait": on_etcd(
        "faulty_etcd_queues:UnqueuedElection",
        "leads as soon as its key is there, without waiting for those with smaller revisions",
        *("split-brain", "unfair-grant"),
    ),
    "etcd-resigns-by-prefix": on_etcd(
        "faulty_etcd_queues:ResignsByPrefixElection",
        "resigns by deleting all keys below the prefix, and a candidate that is woken does not "
        "look whether its own key is still there",
        "split-brain",
    ),
    "etcd-ignores-lost-lease": on_etcd(
        "faulty_etcd_queues:IgnoresLostLeaseElection",
        "goes on believing when its keepalives are not answered, and when the lease is gone",
        "stale-belief",
    ),
    "etcd-unbound-candidate": on_etcd(
        "faulty_etcd_queues:UnboundElection",
        "the key is not bound to the lease: a leader that has died stays first for ever",
        *("leaderless", "orphan-node"),
    ),
    "etcd-first-session": on_etcd(
        "faulty_etcd_queues:FirstSessionElection",
        "does not begin another session when its own has ended",
        "stuck-waiter",
    ),
    "etcd-counts-terms": on_etcd(
        "faulty_etcd_queues:CountsTermsElection",
        "the epoch counts this client's own terms, and no other client's",
        "token-regression",
    ),
    "etcd-never-leading": on_etcd(
        "faulty_etcd_queues:NeverLeadingElection",
        "leading is always false: a client that was elected does nothing",
        "unbelieving-holder",
    ),
    "etcd-campaigns-for-ever": on_etcd(
        "faulty_etcd_queues:CampaignsForEverElection",
        "campaigns until it leads, whatever the timeout",
        "overdue-call",
    ),
    "etcd-campaigns-for-half": on_etcd(
        "faulty_etcd_queues:CampaignsForHalfElection",
        "gives up after half of the timeout",
        "early-timeout",
    ),
    "etcd-proclaims-early": on_etcd(
        "faulty_etcd_queues:ProclaimsEarlyElection",
        "says already when it joins the queue that it knows that it leads",
        "false-acknowledgement",
    ),
    "etcd-serializable-observer": on_etcd(
        "faulty_etcd_queues:SerializableObserverElection",
        "reads who leads from whatever server it is connected to, which may lag",
        "epoch-regression",
    ),
}
