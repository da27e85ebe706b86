"""aiozk's recipes without asyncio: each object has a client of aiozk whose loop runs on a thread.

aiozk speaks asyncio, and makes its own connections, so it is given the servers' addresses.
"""

import asyncio
import threading
import time
from datetime import timedelta

from aiozk import ZKClient
from aiozk.exc import TimeoutError as TimedOut

SESSION_TIMEOUT = 2  # seconds, as the clients of the runs have
SECOND = timedelta(seconds=1)
FOR_EVER = timedelta(days=1)


class _OnAThread:
    def __init__(self, client, path, hosts):
        client.ensure_path(path)
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.client = ZKClient(hosts, session_timeout=SESSION_TIMEOUT)
        self.call(self.client.start())

    def call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()


class Lock(_OnAThread):
    def __init__(self, client, path, hosts):
        super().__init__(client, path, hosts)
        self.lock = self.client.recipes.Lock(path)

    def acquire(self, timeout):
        try:
            self.call(self.lock.acquire(timeout))
        except TimedOut:
            return False
        return self.lock.locked()

    def release(self):
        self.call(self.lock.release())


class Lease(_OnAThread):
    """A lease that is not over before it is released, as a semaphore."""

    def __init__(self, client, path, hosts, limit):
        super().__init__(client, path, hosts)
        self.lease = self.client.recipes.Lease(path, limit)

    def acquire(self, timeout):
        end = time.monotonic() + timeout
        while not self.call(self.lease.obtain(FOR_EVER)):
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def release(self):
        self.call(self.lease.release())


class ShortLease(Lease):
    """A lease that is over after a second, unless it is released before."""

    ends = 0.0

    def acquire(self, timeout):
        end = time.monotonic() + timeout
        while True:
            began = time.monotonic()
            if self.call(self.lease.obtain(SECOND)):
                self.ends = began + SECOND.total_seconds()
                return True
            if time.monotonic() > end:
                return False
            time.sleep(0.05)

    def release(self):
        ends, self.ends = self.ends, 0.0
        if ends > time.monotonic():
            super().release()

    def remaining(self):
        return self.ends - time.monotonic()


class Barrier(_OnAThread):
    def __init__(self, client, path, hosts):
        super().__init__(client, path, hosts)
        self.barrier = self.client.recipes.Barrier(f"{path}/barrier")

    def create(self):
        self.call(self.barrier.create())

    def remove(self):
        self.call(self.barrier.lift())

    def wait(self, timeout):
        try:
            self.call(self.barrier.wait(timeout))
        except TimedOut:
            return False
        return True
