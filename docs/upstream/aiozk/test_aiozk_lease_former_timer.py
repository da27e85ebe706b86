"""Lease: what was given back long ago ends the next lease when it would have been over.

Needs aiozk, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import asyncio
import os
import uuid
from datetime import timedelta

from aiozk import ZKClient

HOSTS = os.environ.get("ZOOKEEPER_HOSTS", "127.0.0.1:2181")
SHORT, LONG = timedelta(seconds=1), timedelta(minutes=10)


async def with_clients(number, use):
    clients = [ZKClient(HOSTS) for _ in range(number)]
    for client in clients:
        await client.start()
    path = "/aiozk-test-" + uuid.uuid4().hex
    await clients[0].ensure_path(path)
    try:
        return await use(path, *clients)
    finally:
        await clients[0].deleteall(path)
        for client in clients:
            await client.close()


async def obtain_twice(path, client, other):
    lease = client.recipes.Lease(path)
    assert await lease.obtain(SHORT)
    await lease.release()
    assert await lease.obtain(LONG)
    await asyncio.sleep(SHORT.total_seconds() + 0.5)
    return await other.recipes.Lease(path).obtain(LONG)


def test_a_lease_is_obtained_by_nobody_before_it_is_over():
    obtained = asyncio.run(with_clients(2, obtain_twice))
    assert not obtained, "two clients have the lease, which is of ten minutes"
