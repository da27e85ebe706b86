"""Logs, each in one znode: ``append`` {key, value: piece}; ``read`` {key} -> [piece, ...]."""

from typing import Annotated

import msgspec

from rumpus.checker.every_run.model_check import NOT_LINEARIZABLE
from rumpus.harness.generators.script import Client, Steps
from rumpus.recipes.znodes.append_log import AppendLog
from rumpus.recipes.znodes.catalogue import APPEND_LOGS
from rumpus.workloads.framework.checks import follows
from rumpus.workloads.framework.operation import operation
from rumpus.workloads.own.own_interfaces import OwnAppendLog
from rumpus.workloads.znodes.znode_workload import ZnodeWorkload

OPERATIONS = 200
"""How many operations are on one log before the next log begins, so that none grows long."""

Log = Annotated[str, msgspec.Meta(pattern="^l[0-9]+$")]


class AppendWorkload(ZnodeWorkload):
    """Clients append to logs in single znodes, and read them."""

    name = model = main = "append"
    catalogue = APPEND_LOGS
    adapter = OwnAppendLog
    requests = ("write", "read")
    checks = (follows("append", NOT_LINEARIZABLE),)
    at_the_end = (("read", {"key": "l0"}), ("read", {"key": "l1"}))

    @operation()
    def append(self, logs: AppendLog, key: Log, value: str) -> None:
        """Put a piece at the end of a log."""
        logs.append(key, value)

    @operation(changes=False)
    def read(self, logs: AppendLog, key: Log) -> list[str] | None:
        """Read all pieces."""
        return logs.read(key)

    def load(self, client: Client) -> Steps:
        """Three appends to one read, log after log."""
        counts = client.shared
        while not client.is_over:
            key = f"l{counts['operations'] // OPERATIONS}"
            append = self.append(key=key, value=f"p{counts['operations']}")
            counts["operations"] += 1
            yield client.draws.weighted((3, append), (1, self.read(key=key)))


APPENDS = AppendWorkload()
