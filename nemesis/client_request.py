"""The fault ``client-request``: the link fails at a client's n-th request of a kind.

The reply is lost or held back, or the connection is reset just before or just after the request
passes. Other faults hit such a moment only by luck.
"""

from collections.abc import Sequence
from typing import Any

from rumpus.harness.links.triggers import RequestAction, RequestTrigger
from rumpus.harness.links.zookeeper_frames import REQUESTS
from rumpus.nemesis.armed_fault import ArmedFault
from rumpus.nemesis.entry import one_of
from rumpus.nemesis.fault import Counted, Draft, LinkOptions, Milliseconds, Turn
from rumpus.nemesis.targets import Targets

ACTIONS: tuple[RequestAction, ...] = ("drop-reply", "hold-reply", "cut-before", "cut-after")


class RequestOptions(LinkOptions, frozen=True, kw_only=True):
    """Which request is affected, and how.

    Args:
        how: what is done; see ``harness.links.triggers.RequestAction``.
        request: the kind of request.
        number: which request of that kind from then on (1: the next).
        hold: for how many milliseconds ``hold-reply`` holds.
    """

    how: RequestAction = ACTIONS[0]
    request: str = "create"
    number: Counted = 1
    hold: Milliseconds = 1000.0

    def check(self, nodes: Sequence[str]) -> None:
        """Refuse kinds of request and servers that do not exist."""
        super().check(nodes)
        one_of("options.request", self.request, tuple(REQUESTS))


class ClientRequest(ArmedFault):
    """Arm a trigger for the n-th request of a kind of each client chosen."""

    kind = "client-request"
    summary = (
        "one request of a client, by kind and number: its reply is lost or held back, or the "
        "connection is reset just before or just after it passes"
    )
    works_on = "the clients' requests"
    needs = "triggers"
    usual = False
    takes = RequestOptions
    awaited = "request"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        options = self.options
        self.trigger = RequestTrigger(options.how, options.request, options.number, options.hold)

    @classmethod
    def draw(cls, turn: Turn) -> Draft:
        """Draw a kind of request that clients are sure to make, and arm it for all clients.

        In a plan's first fault it is each client's next such request: a client may make only
        few while the fault lasts.
        """
        number = turn.rng.randint(1, 5)
        options = {
            "how": turn.rng.choice(ACTIONS),
            "request": turn.rng.choice(turn.requests),
            "number": 1 if turn.first else number,
            "hold": round(turn.rng.uniform(100, 1000 * turn.needed), 1),
        }
        return Draft(Targets(role="all"), options)

    def inject(self) -> None:
        """Arm the triggers."""
        for client in self.chosen:
            self.armed[client] = self.context.trigger_links.arm(
                client, self.trigger, self.options.nodes
            )

    def words(self) -> str:
        """What is done about which request."""
        trigger = self.trigger
        return f"{trigger.action} of {trigger.request} number {trigger.number}"

    def record(self) -> dict[str, Any]:
        """What was done to which request, and whose requests were affected so far."""
        trigger = self.trigger
        return {"how": trigger.action, "request": trigger.request, "struck": self.struck()}
