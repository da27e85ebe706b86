"""Several znodes written by one transaction, and read as they were at one moment.

Operations: ``write`` {value} and ``write_if`` {value, version} write the same value into all nodes,
both -> {version}; ``read`` -> {values: {node: value}, version}. ``version`` is the last node's.
"""

from rumpus.checker.every_run.model_check import NOT_LINEARIZABLE
from rumpus.checker.families.torn_transactions import check_torn
from rumpus.checker.znodes.znode_history import Held, Version, transactions_as_register
from rumpus.harness.generators.script import Client, Steps
from rumpus.recipes.znodes.catalogue import MULTI_WRITES
from rumpus.recipes.znodes.multi_write import MultiWrite
from rumpus.recipes.znodes.on_other_systems import OTHER_MULTI_WRITES
from rumpus.workloads.framework.checks import follows
from rumpus.workloads.framework.operation import operation, unless_refused
from rumpus.workloads.own.own_interfaces import OwnMultiWrite
from rumpus.workloads.znodes.znode_workload import ZnodeWorkload

UNWRITTEN = (("value", None), ("version", 0))


class MultiWorkload(ZnodeWorkload):
    """Clients write several znodes by one transaction, and read them as of one moment."""

    name = "multi"
    catalogue = MULTI_WRITES
    elsewhere = OTHER_MULTI_WRITES
    adapter = OwnMultiWrite
    model = "versioned-register"
    main = "write"
    requests = ("multi", "read")
    checks = (
        check_torn,
        follows(model, NOT_LINEARIZABLE, initial=UNWRITTEN, seen_as=transactions_as_register),
    )
    at_the_end = (("read", None),)

    @operation()
    def write(self, nodes: MultiWrite, value: str) -> Version:
        """Write all nodes."""
        return Version(version=nodes.write(value))

    @operation()
    def write_if(self, nodes: MultiWrite, value: str, version: int) -> Version:
        """Write all nodes if the last one has this version."""
        return Version(version=unless_refused(nodes.write_if(value, version)))

    @operation(changes=False)
    def read(self, nodes: MultiWrite) -> Held:
        """Read all nodes."""
        values, version = nodes.read()
        return Held(values=values, version=version)

    def load(self, client: Client) -> Steps:
        """Half of the conditional writes name an old version: these must change nothing."""
        while not client.is_over:
            value = f"v{client.process}-{client.time}"
            version = client.draws.choose((client.shared[""], 0))
            write, write_if = self.write(value=value), self.write_if(value=value, version=version)
            yield client.draws.weighted((2, write), (2, write_if), (4, self.read()))


MULTI = MultiWorkload()
