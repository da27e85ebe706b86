"""Barrier.wait and Lock.acquire do not return if the connection was lost while they wait.

Needs aiozk, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import asyncio
import os
import uuid

import pytest
from aiozk import ZKClient
from aiozk.states import States

HOSTS = os.environ.get("ZOOKEEPER_HOSTS", "127.0.0.1:2181")
PATIENCE = 3  # seconds after which a call that does not return counts as stuck


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


async def reconnect(client):
    """What a client does that notices that its connection is lost."""
    client.session.state.transition_to(States.SUSPENDED)
    await client.session.state.wait_for(States.CONNECTED)


async def wait_at_a_barrier(path, client, other):
    await other.recipes.Barrier(path + "/barrier").create()
    waiting = asyncio.create_task(client.recipes.Barrier(path + "/barrier").wait())
    await asyncio.sleep(0.5)
    await reconnect(client)
    await asyncio.sleep(0.5)
    await other.recipes.Barrier(path + "/barrier").lift()
    done, _ = await asyncio.wait([waiting], timeout=PATIENCE)
    waiting.cancel()
    return bool(done)


async def wait_for_a_lock(path, client, other):
    first = other.recipes.Lock(path)
    await first.acquire()
    waiting = asyncio.create_task(client.recipes.Lock(path).acquire())
    await asyncio.sleep(0.5)
    await reconnect(client)
    await asyncio.sleep(0.5)
    await first.release()
    done, _ = await asyncio.wait([waiting], timeout=PATIENCE)
    waiting.cancel()
    return bool(done)


@pytest.mark.parametrize("wait", [wait_at_a_barrier, wait_for_a_lock])
def test_a_waiter_is_told_after_its_connection_was_lost(wait):
    returned = asyncio.run(with_clients(2, wait))
    assert returned, "what it waits for has happened, and it still waits"
