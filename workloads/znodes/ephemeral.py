"""Ephemeral znodes: there while the session that made them lives, and gone after it.

Operations: ``create`` {name} -> {name, session}; ``remove`` {name}, if the client's own session
created it; ``look`` -> {owners: {name: session}, session}, which includes all that was committed
before the call.
"""

from typing import Any, Literal, get_args

from rumpus.checker.history import session_hex
from rumpus.checker.znodes.ephemeral_lives import Looked, Made, check_ephemerals
from rumpus.harness.generators.script import Client, Steps
from rumpus.recipes.znodes.catalogue import EPHEMERALS
from rumpus.recipes.znodes.ephemeral_nodes import EphemeralNodes
from rumpus.workloads.framework.operation import operation, unless_refused
from rumpus.workloads.own.own_interfaces import OwnEphemerals
from rumpus.workloads.znodes.znode_workload import ZnodeWorkload

Name = Literal["e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7"]


class EphemeralWorkload(ZnodeWorkload):
    """Clients make ephemeral znodes, remove their own, and look at all of them."""

    name = model = "ephemeral"
    catalogue = EPHEMERALS
    adapter = OwnEphemerals
    main = "create"
    checks = (check_ephemerals,)
    at_the_end = (("look", None),)

    @operation()
    def create(self, nodes: EphemeralNodes, name: Name) -> Made[Name]:
        """Create a node; refused if it is there."""
        return Made(name=name, session=session_hex(unless_refused(nodes.create(name))))

    @operation()
    def remove(self, nodes: EphemeralNodes, name: Name) -> None:
        """Remove a node of the client's own session."""
        unless_refused(nodes.remove(name))

    @operation(changes=False)
    def look(self, nodes: EphemeralNodes) -> Looked[Name]:
        """Read the owner of every node."""
        owners, session = nodes.owners()
        told: Any = {name: session_hex(own) if own else None for name, own in owners.items()}
        return Looked(owners=told, session=session_hex(session))

    def load(self, client: Client) -> Steps:
        """Create, remove and look; all clients use the same names, so that they conflict."""
        while not client.is_over:
            name = client.draws.choose(get_args(Name))
            make, remove = self.create(name=name), self.remove(name=name)
            yield client.draws.weighted((3, make), (2, remove), (3, self.look()))


EPHEMERAL = EphemeralWorkload()
