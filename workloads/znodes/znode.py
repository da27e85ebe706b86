"""Znodes with access control lists (ACLs): who may do what, and what the Stats say.

Operations, all with a ``name`` -> {name, stat, and ``data`` or ``children``}: ``make`` {value, acl}
creates a node, ``allow`` {acl} replaces its ACL, ``set`` {value}, ``read`` and ``list``.
``grow`` and ``prune`` {child} create and delete a child that is open to everybody. ``read`` and
``list`` may be of a ``child``, too; their answer is only {name} then. ``acl`` is a list of
[permissions, scheme, id]. What an ACL forbids fails with the error "no authority".
"""

from functools import partial
from typing import Annotated, cast

import msgspec
from kazoo.exceptions import BadVersionError, NoAuthError, NodeExistsError, NoNodeError

from rumpus.checker.znodes.access_rules import EVERY_ADDRESS, NO_AUTHORITY, check_access
from rumpus.checker.znodes.stat_laws import Told, check_stats
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.generators.script import Client, Draws, Steps
from rumpus.recipes.znodes.catalogue import GUARDED_ZNODES
from rumpus.recipes.znodes.guarded_znodes import Entry, GuardedZnodes, Sight, credential
from rumpus.workloads.framework.operation import operation
from rumpus.workloads.own.own_interfaces import OwnGuardedZnodes
from rumpus.workloads.znodes.znode_workload import ZnodeWorkload

OPERATIONS, ALLOWED_AT = 30, 15
"""How many operations are on one node, and which of them may replace its ACL. The first one is
``make``."""

NOBODYS_ADDRESS = "192.0.2.1"
"""An address that no client has: its network is for documentation only (RFC 5737)."""

REFUSALS: dict[type[Exception], str | None] = {
    NoAuthError: NO_AUTHORITY,
    **dict.fromkeys((BadVersionError, NoNodeError, NodeExistsError)),
}

Name = Annotated[str, msgspec.Meta(pattern="^(z[0-9]+|none)$")]


class GuardedWorkload(ZnodeWorkload):
    """Clients make znodes with access control lists, use them, and compare their Stats."""

    name = "znode"
    catalogue = GUARDED_ZNODES
    adapter = OwnGuardedZnodes
    model = "access control and Stats"
    main = "set"
    requests = ("create", "read")
    checks = (
        partial(check_access, user=lambda client: credential(f"c{client}")),
        check_stats,
    )
    at_the_end = (("list", {"name": "none"}),)

    def open(self, recipe: type[GuardedZnodes], context: ClientContext) -> GuardedZnodes:
        """The recipe object; every client is a user of its own."""
        znodes = recipe(context.kazoo, self.path)
        znodes.user = f"c{context.client}"
        return znodes

    @operation(refusals=REFUSALS)
    def make(self, znodes: GuardedZnodes, name: Name, value: str, acl: list[Entry]) -> Told[Name]:
        """Create a node with an ACL."""
        return told(name, znodes.make(name, value, acl))

    @operation(refusals=REFUSALS)
    def allow(self, znodes: GuardedZnodes, name: Name, acl: list[Entry]) -> Told[Name]:
        """Replace a node's ACL."""
        return told(name, znodes.allow(name, acl))

    @operation(refusals=REFUSALS, name="set")
    def write(self, znodes: GuardedZnodes, name: Name, value: str) -> Told[Name]:
        """Set a node's data."""
        return told(name, znodes.write(name, value))

    @operation(refusals=REFUSALS, changes=False)
    def read(self, znodes: GuardedZnodes, name: Name, child: str = "") -> Told[Name]:
        """Read the data of a node, or of a child."""
        return told(name, znodes.read(f"{name}/{child}".rstrip("/")), child)

    @operation(refusals=REFUSALS, changes=False, name="list")
    def listing(self, znodes: GuardedZnodes, name: Name, child: str = "") -> Told[Name]:
        """List the children of a node, or of a child."""
        return told(name, znodes.listing(f"{name}/{child}".rstrip("/")), child)

    @operation(refusals=REFUSALS)
    def grow(self, znodes: GuardedZnodes, name: Name, child: str) -> None:
        """Create a child."""
        znodes.grow(name, child)

    @operation(refusals=REFUSALS)
    def prune(self, znodes: GuardedZnodes, name: Name, child: str) -> None:
        """Delete a child."""
        znodes.prune(name, child)

    def load(self, client: Client) -> Steps:
        """Operations on one node after the other, each with an ACL of its own."""
        counts, draws = client.shared, client.draws
        while not client.is_over:
            node, turn = divmod(counts["operations"], OPERATIONS)
            counts["operations"] += 1
            of_node = {"name": f"z{node}"}
            of_child = {**of_node, "child": draws.choose(("c0", "c1"))}
            of_either = of_child if draws.one_in(3) else of_node
            value, acl = "v" * (1 + draws.below(9)), draw_list(draws, client.clients)
            if turn == 0:
                yield self.make(**of_node, value=value, acl=acl)
            elif turn == ALLOWED_AT and node % 2:
                yield self.allow(**of_node, acl=acl)
            else:
                yield draws.weighted(
                    (5, self.read(**of_either)),
                    (4, self.write(**of_node, value=value)),
                    (4, self.listing(**of_either)),
                    (4, self.grow(**of_child)),
                    (3, self.prune(**of_child)),
                )


def draw_list(draws: Draws, clients: int) -> list[Entry]:
    """An ACL of one or two schemes: a client gets all, some or no permissions by it."""
    someone, anyone = credential(f"c{draws.below(clients)}"), ("world", "anyone")
    return draws.choose(
        (
            [(31, *anyone)],
            [(31, "auth", "")],
            [(1, *anyone), (31, "auth", "")],
            [(31, "digest", someone)],
            [(31, "ip", EVERY_ADDRESS)],
            [(31, "ip", NOBODYS_ADDRESS), (1, *anyone)],
            [(1 + draws.below(31), *anyone), (2, "digest", someone)],
        )
    )


def told(name: str, sight: Sight, child: str = "") -> Told[Name]:
    """A recipe's answer in the form that histories have; for a child only the ``name``."""
    stat, data, children = sight
    found = {"stat": stat._asdict(), "data": data, "children": children}
    more = {what: value for what, value in found.items() if value is not None and not child}
    return cast("Told[Name]", {"name": name, **more})


ZNODE = GuardedWorkload()
