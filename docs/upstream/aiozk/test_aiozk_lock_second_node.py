"""Lock.acquire waits for a node of its own if the reply to its create is lost.

Needs aiozk, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import asyncio
import os
import uuid

from aiozk import ZKClient, exc
from aiozk.protocol import Create2Request, CreateRequest

HOSTS = os.environ.get("ZOOKEEPER_HOSTS", "127.0.0.1:2181")
PATIENCE = 3  # seconds after which nobody gets the lock


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


def lose_a_reply(client):
    """The connection breaks when the next create has been executed."""
    connection = client.session.conn
    send = connection.send

    def send_once(request, xid=None):
        answer = send(request, xid=xid)
        if not isinstance(request, CreateRequest | Create2Request):
            return answer
        connection.send = send
        lost = asyncio.get_running_loop().create_future()

        def break_connection(_):
            connection.writer.close()
            lost.set_exception(exc.ConnectError(connection.host, connection.port))

        answer.add_done_callback(break_connection)
        return lost

    connection.send = send_once


async def acquire(path, client):
    lose_a_reply(client)
    try:
        await client.recipes.Lock(path).acquire(timeout=PATIENCE)
    except exc.TimeoutError:
        return False
    return True


def test_a_lock_that_nobody_has_is_acquired():
    acquired = asyncio.run(with_clients(1, acquire))
    assert acquired, "nobody has the lock, and it is not acquired"
