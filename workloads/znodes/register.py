"""Registers: znodes that clients read, write, and compare-and-set by version.

Operations, all with a ``key``: ``read`` -> {value, version, zxid, session}; ``write`` {value} and
``cas`` {value: [expected version, new value]} -> the same. ``reconnect`` drops the client's
connection: its session goes on at another server, which may be behind.
"""

from typing import Any, Literal, get_args

from rumpus.checker.every_run.model_check import NOT_LINEARIZABLE
from rumpus.checker.families.convergence import SESSION_ORDER
from rumpus.checker.znodes.sync_freshness import check_sync_freshness
from rumpus.checker.znodes.znode_history import Seen, writes_by_comparison
from rumpus.harness.generators.script import Client, Steps
from rumpus.recipes.znodes.catalogue import REGISTERS
from rumpus.recipes.znodes.on_other_systems import OTHER_REGISTERS
from rumpus.recipes.znodes.register import ABSENT, LocalRegister
from rumpus.workloads.framework.checks import follows, promised
from rumpus.workloads.framework.operation import operation
from rumpus.workloads.own.own_interfaces import OwnRegister
from rumpus.workloads.znodes.znode_workload import ZnodeWorkload, seen

Key = Literal["r0", "r1", "r2"]


class RegisterWorkload(ZnodeWorkload):
    """Clients read, write, and compare and set a few znodes."""

    name = "register"
    catalogue = REGISTERS
    elsewhere = OTHER_REGISTERS
    adapter = OwnRegister
    model = "versioned-register"
    main = "write"
    requests = ("write", "read")
    checks = (
        follows(model, NOT_LINEARIZABLE, initial=(("value", None), ("version", ABSENT))),
        follows("sequential-consistency", SESSION_ORDER, seen_as=writes_by_comparison),
        promised("stale-sync", check_sync_freshness),
    )
    at_the_end = tuple(("read", {"key": key}) for key in get_args(Key))

    @operation(changes=False)
    def read(self, registers: LocalRegister, key: Key) -> Seen:
        """Read a register."""
        return seen(key, registers.read(key))

    @operation()
    def write(self, registers: LocalRegister, key: Key, value: str) -> Seen:
        """Write a register, whatever its version."""
        return seen(key, registers.write(key, value))

    @operation()
    def cas(self, registers: LocalRegister, key: Key, value: tuple[int, str]) -> Seen:
        """Write a register if it has the expected version."""
        return seen(key, registers.cas(key, *value))

    @operation()
    def reconnect(self, registers: LocalRegister) -> dict[str, Any]:
        """Drop the connection."""
        registers.reconnect()
        return {}

    def load(self, client: Client) -> Steps:
        """A compare-and-set expects the latest version; one in eight, an absent register."""
        latest, draws = client.shared, client.draws
        while not client.is_over:
            key, value = draws.choose(get_args(Key)), f"v{client.process}-{client.time}"
            expected = ABSENT if draws.one_in(8) else latest[key]
            yield draws.weighted(
                (49, self.read(key=key)),
                (20, self.write(key=key, value=value)),
                (29, self.cas(key=key, value=(expected, value))),
                (2, self.reconnect()),
            )


REGISTER = RegisterWorkload()
