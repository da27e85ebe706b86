"""Group membership: clients register and leave, list the members, and watch them.

``discover`` lists the members, ``look`` tells which the watched view shows. ``gather`` waits until
both agree or its time is over, and tells both.
"""

from collections.abc import Sequence
from typing import ClassVar, NotRequired, TypedDict

from rumpus.checker.every_run.timeouts import check_timeouts
from rumpus.checker.families.convergence import count_expiries
from rumpus.checker.families.presence import check_discovery, check_lists, check_presence
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.clients.leftovers import look_until
from rumpus.harness.generators.generator import Invocation
from rumpus.harness.generators.script import Client, ScriptFunction, Steps, only, until_ok
from rumpus.recipes.registry.catalogue import REGISTRIES
from rumpus.recipes.registry.service_registry import ServiceRegistry
from rumpus.workloads.framework.checks import at_least
from rumpus.workloads.framework.operation import operation
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.own.own_groups import OwnRegistry

PATIENCE_S = 3.0

FINAL_PATIENCE_S = 10.0
"""How long registering and leaving may take when every fault is healed."""


class Registered(TypedDict):
    """The registered address: the one asked for, or one that was registered before."""

    address: str


class Listed(TypedDict):
    """The members; ``settled`` if the list includes all that was committed before the call."""

    addresses: list[str]
    settled: NotRequired[bool | None]


class Gathered(TypedDict):
    """The members by a list from the servers, and by the watched view."""

    discovered: list[str]
    seen: list[str]


class GroupMembership(Workload):
    """Clients register, list and watch who is there, and leave."""

    name = "registry"
    catalogue = REGISTRIES
    adapter = OwnRegistry
    of_kazoo = ("kazoo.recipe.party:Party", "kazoo.recipe.party:ShallowParty")
    model = "group membership"
    main = "register"
    cleanup: ClassVar = {"register": "deregister"}
    requests = ("create", "delete", "get-children")

    def open(self, recipe: type[ServiceRegistry], context: ClientContext) -> ServiceRegistry:
        """The recipe object; the client is not registered yet."""
        return recipe(context.kazoo, self.path)

    @operation(timeout=PATIENCE_S)
    def register(self, registry: ServiceRegistry, address: str, timeout: float) -> Registered:
        """Register and watch; a client that is registered already confirms its registration."""
        address = registry.address or address
        registry.register(address, timeout)
        registry.watch()
        return {"address": address}

    @operation(timeout=PATIENCE_S)
    def deregister(self, registry: ServiceRegistry, timeout: float) -> None:
        """Remove the registration."""
        registry.deregister(timeout)

    @operation(timeout=PATIENCE_S, changes=False)
    def discover(self, registry: ServiceRegistry, timeout: float) -> Listed:
        """List the members."""
        return {"addresses": registry.discover(timeout), "settled": registry.settles}

    @operation(changes=False)
    def look(self, registry: ServiceRegistry) -> Listed:
        """Tell what the watched view shows."""
        return {"addresses": registry.watch().addresses}

    @operation(changes=False)
    def gather(self, registry: ServiceRegistry, patience: float) -> Gathered:
        """Wait until list and view agree; if they never do, tell what both were last."""

        def look() -> Gathered:
            discovered = registry.discover(PATIENCE_S)
            return {"discovered": discovered, "seen": registry.watch().addresses}

        return look_until(lambda both: both["discovered"] == both["seen"], look, patience)

    def load(self, client: Client) -> Steps:
        """Register, discover and look for a while, and deregister; and again."""
        stay = 0
        while not client.is_over:
            address = f"p{client.process}-{stay}"
            came = yield self._arrival(client, address)
            while came.type == "ok" and not client.draws.one_in(80):
                if client.is_over:
                    return
                yield client.rest(0.005, 0.055)
                yield self.look() if client.draws.below(8) < 3 else self.discover()
            if came.type == "ok":
                yield self._arrival(client, address)
            yield self.deregister()
            stay += 1

    def _arrival(self, client: Client, address: str) -> Invocation:
        """A register; one in six has a short timeout."""
        hurried = client.draws.one_in(6)
        timeout = client.draws.uniform(0.01, 0.21) if hurried else PATIENCE_S
        return self.register(address=address, timeout=timeout)

    def final(self) -> list[ScriptFunction]:
        """All clients register, then gather; half of them deregister, then all gather again."""
        gather = until_ok(lambda client: self.gather(patience=client.expiry_s), 3)
        leave = until_ok(self.deregister(timeout=FINAL_PATIENCE_S), 3)
        return [self._arrive, gather, only(lambda client: client.number % 2 == 0, leave), gather]

    def _arrive(self, client: Client) -> Steps:
        """Register, and give dead clients' sessions time to expire."""
        register = self.register(address=f"p{client.process}-last", timeout=FINAL_PATIENCE_S)
        yield from until_ok(register, 3)(client)
        yield client.rest(client.context.session_timeout + 2.0)

    checks = (
        check_timeouts,
        check_lists,
        check_discovery,
        check_presence,
    )
    needs = (at_least(6, "register", "registrations"),)
    expired = "sessions of clients that expired"

    def expiries(self, timeline: Timeline, _: Sequence[CheckResult]) -> int:
        """How many of the clients' own sessions expired."""
        return count_expiries(timeline)


REGISTRY = GroupMembership()
