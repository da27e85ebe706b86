"""Lease: more clients obtain it than its limit allows.

Needs aiozk, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import asyncio
import os
import uuid
from datetime import timedelta

from aiozk import ZKClient

HOSTS = os.environ.get("ZOOKEEPER_HOSTS", "127.0.0.1:2181")
DURATION = timedelta(minutes=10)


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


def look_together(clients):
    """Each client goes on when all have been told who has the lease."""
    together = asyncio.Barrier(len(clients))

    def wrap(get_children):
        async def look(*args, **kwargs):
            names = await get_children(*args, **kwargs)
            await together.wait()
            return names

        return look

    for client in clients:
        client.get_children = wrap(client.get_children)


async def obtain(path, *clients):
    look_together(clients)
    leases = [client.recipes.Lease(path, limit=1) for client in clients]
    obtained = await asyncio.gather(*(lease.obtain(DURATION) for lease in leases))
    for client in clients:
        del client.get_children  # as it was
    return obtained


def test_a_lease_with_a_limit_of_one_is_obtained_by_one():
    obtained = asyncio.run(with_clients(2, obtain))
    assert obtained.count(True) == 1, "two clients have the only lease"
