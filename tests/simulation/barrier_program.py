"""A program whose processes pass double barriers together, round after round."""

import contextlib
import itertools
import random
import threading
import time
import uuid

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError
from kazoo.recipe.barrier import DoubleBarrier

SESSION_TIMEOUT = 10.0
"""Longer than any fault: connections drop, sessions do not expire."""

LONGEST_WORK = 1.0
FOR_EVER = {"max_tries": -1, "delay": 0.05, "max_delay": 0.5}

READY = "ready"


class RecheckingBarrier:
    """A double barrier that looks again whenever a watch has fired or was lost.

    Kazoo forgets all watches when a connection drops, and tells them so by an event of another
    type. What shows that all have entered stays, for those who look late.
    """

    def __init__(self, client, path, parties):
        self._client = client
        self._path = path
        self._parties = parties
        self._own = uuid.uuid4().hex
        client.retry(client.ensure_path, path)

    def enter(self):
        """Wait until all have entered."""
        with contextlib.suppress(NodeExistsError):  # an earlier attempt's answer was lost
            self._client.retry(self._client.create, f"{self._path}/{self._own}", ephemeral=True)
        self._await(lambda names: READY in names or len(names) >= self._parties)
        self._client.retry(self._client.ensure_path, f"{self._path}/{READY}")

    def leave(self):
        """Wait until all have left."""
        with contextlib.suppress(NoNodeError):
            self._client.retry(self._client.delete, f"{self._path}/{self._own}")
        self._await(lambda names: names == [READY])

    def _await(self, over):
        while True:
            changed = threading.Event()
            # Called at the loss of the watch as well.
            names = self._client.retry(
                self._client.get_children,
                self._path,
                watch=lambda _, changed=changed: changed.set(),
            )
            if over(names):
                return
            changed.wait()


BARRIERS = {"kazoo": DoubleBarrier, "rechecking": RecheckingBarrier}


def work(hosts, barrier, parties, tell):
    """Pass one barrier after the other.

    Args:
        hosts: connection string.
        barrier: one of ``BARRIERS``.
        parties: how many pass it together.
        tell: called before and after each ``enter``, and after each ``leave``, with ``entering``,
            ``inside`` or ``outside`` and the number of the round.
    """
    client = KazooClient(
        hosts, timeout=SESSION_TIMEOUT, connection_retry=FOR_EVER, command_retry=FOR_EVER
    )
    client.start(timeout=30)
    for number in itertools.count():
        shared = BARRIERS[barrier](client, f"/barrier/{number}", parties)
        time.sleep(random.uniform(0, LONGEST_WORK))  # who comes first waits most of the time
        tell("entering", number)
        shared.enter()
        tell("inside", number)
        time.sleep(random.uniform(0, LONGEST_WORK))
        shared.leave()
        tell("outside", number)
