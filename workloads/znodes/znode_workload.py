"""What the workloads on plain znodes have in common: they put ZooKeeper itself to the test.

Some have recipes for keys of other systems, too, which put these to the test.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from rumpus.checker.check import Check
from rumpus.checker.every_run.final_answers import check_final_answers
from rumpus.checker.history import Op, session_hex
from rumpus.checker.znodes.znode_history import Seen
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.generators.generator import Invocation
from rumpus.harness.generators.script import ScriptFunction, until_answered
from rumpus.recipes.contests.interfaces import system_of
from rumpus.recipes.servers import ZOOKEEPER
from rumpus.recipes.znodes.register import Reading
from rumpus.workloads.framework.checks import answered
from rumpus.workloads.framework.operation import unless_refused
from rumpus.workloads.framework.workload import Workload

TRIES, TRY_PAUSE_S = 12, 1.0
"""How often, and how many seconds apart, a client asks in the final phase before it counts as
stuck."""


class ZnodeWorkload(Workload):
    """Operations of one request or a few each."""

    at_the_end: ClassVar[Sequence[tuple[str, Any]]]
    """Operations with values; every client calls each in the final phase until it is answered."""

    rate = 0.01
    plain = True
    needs = (answered(100),)
    expired = "sessions that expired"

    def open(self, recipe: type[Any], context: ClientContext) -> Any:
        """The recipe object."""
        return recipe(context.reached, self.path)

    def prepare(self, opened: Any) -> None:
        """Create the znodes that the recipe needs."""
        opened.prepare()

    def close(self, opened: Any) -> None:
        """End what a recipe for other servers has going on in the background."""
        if system_of(type(opened)) != ZOOKEEPER:
            opened.close()

    def shared(self) -> Counter[str]:
        """Counts of all clients: how many operations, or the latest version seen of each znode."""
        return Counter()

    def on_completion(self, shared: Counter[str], came: Op) -> None:
        """Note a znode's version, if the answer has one and it is the latest."""
        if came.type == "ok" and isinstance(came.value, dict) and "version" in came.value:
            key, version = came.value.get("key", ""), came.value["version"]
            shared[key] = max(shared[key], version)

    def final(self) -> list[ScriptFunction]:
        """The operations of ``at_the_end``, one after the other."""
        return [until_answered(Invocation(*each), TRIES, TRY_PAUSE_S) for each in self.at_the_end]

    def judged_by(self) -> Sequence[Check]:
        """What the checks find, and whether every client got its answers in the final phase."""
        asked = lambda f, value: (f, value) in self.at_the_end  # noqa: E731 - two words
        return [*self.checks, partial(check_final_answers, most_tries=TRIES, asked=asked)]


def seen(key: str, reading: Reading | None) -> Seen:
    """A recipe's answer in the form that histories have."""
    value, version, zxid, session = unless_refused(reading)
    return Seen(key=key, value=value, version=version, zxid=zxid, session=session_hex(session))
