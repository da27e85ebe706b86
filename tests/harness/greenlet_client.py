"""A workload's client that takes kazoo's lock, and tells what its threads are made of."""

import threading
import time

from rumpus.harness.clients.client_body import Outcome


class GreenletClient:
    grants, ends = "acquire", "release"

    def __init__(self, context):
        self._context = context
        self._lock = context.kazoo.Lock("/lock", context.name)

    def believes(self):
        return self._lock.is_acquired

    def close(self):
        """Nothing goes on in the background."""

    def invoke(self, f, value):
        if f == "look":
            beats = []

            def beat():
                time.sleep(0.01)
                beats.append(type(threading.current_thread()).__module__)

            threads = [threading.Thread(target=beat) for _ in range(100)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            found = {
                "handler": self._context.kazoo.handler.name,
                "lock": type(threading.Lock()).__module__.partition(".")[0],
                "beats": len(beats),
            }
            return Outcome("ok", found)
        if f == "acquire":
            granted = self._lock.acquire(timeout=value)
            return Outcome("ok" if granted else "fail", {"node": self._lock.node})
        if f == "act":
            return Outcome("ok", self._context.act(1).accepted)
        self._lock.release()
        return Outcome("ok")


def build():
    return GreenletClient
