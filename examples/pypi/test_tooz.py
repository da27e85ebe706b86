"""tooz 9.1.0: OpenStack's coordination library; its driver for ZooKeeper, given our client.

Fails: docs/track-record/findings.md, "Flaws of other programs".
"""

from tooz.coordination import get_coordinator


class ToozLock:
    def __init__(self, client, path, name):
        self.member = get_coordinator("zookeeper://", name.encode(), namespace=path.strip("/"))
        self.member._coord = client

    def acquire(self, timeout):
        self.lock = self.member.get_lock(b"lock")
        return self.lock.acquire(timeout=timeout)

    def release(self):
        self.lock.release()


def test_lock(rumpus):
    rumpus.run("lock", recipe=ToozLock, seeds=10, time_limit=30).assert_valid()
