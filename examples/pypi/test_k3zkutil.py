"""k3zkutil 0.1.10: a lock whose node has its owner's name in it."""

from k3zkutil import ZKConf, ZKLock


def k3_lock(client, path, identifier):
    parent, _, name = path.rpartition("/")
    client.ensure_path(parent)
    return ZKLock(name, ZKConf(lock_dir=f"{parent}/"), client, identifier=identifier)


def test_lock(rumpus):
    rumpus.run("lock", recipe=k3_lock, seeds=10).assert_valid()
