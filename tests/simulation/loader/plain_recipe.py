"""A user's program: threads, a queue, an executor, time, randomness and kazoo."""

import logging
import queue
import random
import threading
import time
import uuid
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

from kazoo.client import KazooClient

CALLS = 0
log = logging.getLogger(__name__)


class Producer(threading.Thread):
    def __init__(self, items, count):
        super().__init__(name="producer")
        self.items = items
        self.count = count

    def run(self):
        for number in range(self.count):
            time.sleep(random.random() * 0.2)
            self.items.put((number, uuid.uuid4().hex))
        self.items.put(None)


class Program:
    def __init__(self, hosts, report):
        self.client = KazooClient(hosts=hosts, timeout=4.0)
        self.items = queue.Queue(maxsize=4)
        self.stop = threading.Event()
        self.mutex = threading.Lock()
        self.done = 0
        self.by_first_letter = defaultdict(set)
        self.report = report

    def consume(self):
        while (item := self.items.get()) is not None:
            number, name = item
            with self.mutex:
                self.done += 1
                self.by_first_letter[name[0]].add(name)
            self.client.create(f"/item-{number}-{name}", str(number).encode())
            time.sleep(0.01)

    def run(self):
        global CALLS  # noqa: PLW0603 - shows whose module it is
        CALLS += 1
        self.client.start(timeout=30)
        began = time.monotonic()
        threads = [Producer(self.items, 10), threading.Thread(target=self.consume)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with ThreadPoolExecutor(3) as pool:
            kept = list(pool.map(self.client.exists, (f"/p{n}" for n in range(5))))
        timer = threading.Timer(0.5, self.stop.set)
        timer.start()
        self.stop.wait()
        self.report(
            done=self.done,
            kept=kept,
            names=[sorted(names) for names in self.by_first_letter.values()],
            took=round(time.monotonic() - began, 3),
            thread=threading.current_thread().name,
            handler=type(self.client.handler).__name__,
            calls=CALLS,
        )
        self.client.stop()
        self.client.close()
