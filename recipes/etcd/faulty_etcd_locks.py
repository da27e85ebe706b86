"""Locks on etcd with one known mistake each."""

from rumpus.recipes.etcd.etcd_lock import EtcdLock


class Unbound(EtcdLock):
    """Writes the key without a lease."""

    bound = False
