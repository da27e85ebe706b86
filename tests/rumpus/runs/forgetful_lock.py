"""A lock whose timed-out tries leave their node, which the same object finds at its next try."""

import threading
import time

from rumpus import Line


class ForgetfulLock:
    @staticmethod
    def line(path):
        return Line("sequential", path, mark="lock-")

    def __init__(self, client, path):
        self.client = client
        self.path = path
        self.node = None

    def acquire(self, timeout):
        end = time.monotonic() + timeout
        self.client.ensure_path(self.path)
        if self.node is None or not self.client.exists(self.node):
            self.node = self.client.create(f"{self.path}/lock-", ephemeral=True, sequence=True)
        while True:
            children = sorted(self.client.get_children(self.path))
            place = children.index(self.node.rpartition("/")[2])
            if place == 0:
                return True
            gone = threading.Event()
            ahead = f"{self.path}/{children[place - 1]}"
            if self.client.exists(ahead, watch=lambda _event, gone=gone: gone.set()):
                gone.wait(max(0.0, end - time.monotonic()))
            if time.monotonic() >= end:
                return False

    def release(self):
        node, self.node = self.node, None
        self.client.delete(node)
