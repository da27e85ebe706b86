"""Plain operations on znodes, which test ZooKeeper itself rather than a recipe."""

from rumpus.recipes.znodes.append_log import AppendLog
from rumpus.recipes.znodes.ephemeral_nodes import EphemeralNodes
from rumpus.recipes.znodes.guarded_znodes import GuardedZnodes
from rumpus.recipes.znodes.multi_write import MultiWrite
from rumpus.recipes.znodes.register import LinearizableRegister
from rumpus.recipes.znodes.sequence import VersionNumbers

__all__ = [
    "AppendLog",
    "EphemeralNodes",
    "GuardedZnodes",
    "LinearizableRegister",
    "MultiWrite",
    "VersionNumbers",
]
