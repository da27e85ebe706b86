"""A semaphore: clients contend for a few permits, act while they hold one, and give it back."""

from typing import Any, ClassVar

from rumpus.checker.timeline.holds import Words
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.generators.script import Client
from rumpus.recipes.curator.catalogue import CURATOR_SEMAPHORES
from rumpus.recipes.semaphore.catalogue import SEMAPHORES
from rumpus.workloads.contests.contender import Contender
from rumpus.workloads.contests.contention import CUT_OFF_NS, ContentionWorkload
from rumpus.workloads.own.own_lock import OwnSemaphore


class SemaphoreWorkload(ContentionWorkload):
    """Clients contend for 2 permits and act while they hold one."""

    name = "semaphore"
    catalogue = SEMAPHORES
    elsewhere = CURATOR_SEMAPHORES
    adapter = OwnSemaphore
    of_kazoo = ("kazoo.recipe.lock:Semaphore",)
    model = "semaphore"
    holding = Words(thing="permit")
    permits: ClassVar = 2
    prompt = True
    tolerance = CUT_OFF_NS
    decider = "semaphore"

    def least_clients(self, recipe: Any) -> int:  # noqa: ARG002 - the same for all
        """One more than can hold at the same time."""
        return self.permits + 1

    def open(self, recipe: Any, context: ClientContext) -> Contender:
        """One recipe object."""
        semaphore = recipe(context.reached, self.path, self.permits, name=context.name)
        return Contender(context, semaphore, recipe.line(self.path))

    def longest_hold(self, client: Client) -> float:  # noqa: ARG002 - always the same
        """Some holds are long: then another holder's release must wake the waiters.

        Only some: while all permits are held for long nothing else happens.
        """
        return 5.0


SEMAPHORE = SemaphoreWorkload()
