"""The fault ``client-frame``: something happens to a client at its n-th frame.

Frames are requests, replies and watch events. Times within a fraction of a millisecond make no
difference to a run, but before or after which frame a fault begins does.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta

from rumpus.harness.simulated_faults import ArmedTrigger, FrameAction
from rumpus.nemesis.client_fault import ClientFault
from rumpus.nemesis.fault import Draft, FaultOptions, Turn
from rumpus.nemesis.fault_context import Finding, NeverActed
from rumpus.nemesis.targets import Targets

ACTIONS: tuple[FrameAction, ...] = ("lose", "reset", "silence", "freeze")

MOST_DRAWN = 40
"""The highest number of a frame in random plans."""


class FrameOptions(FaultOptions, frozen=True, kw_only=True):
    """Which frame, and what happens at it.

    Args:
        how: what happens; see ``harness.simulated_faults.FrameAction``.
        number: which frame from then on (1: the next).
    """

    how: FrameAction = ACTIONS[0]
    number: Annotated[int, Meta(ge=1)] = 1


class ClientFrame(ClientFault):
    """Arm a trigger for the n-th frame of each client chosen.

    The fault is in force once all triggers are armed, and counts as healed only if at least one of
    them has acted.
    """

    kind = "client-frame"
    summary = (
        "at the n-th request, reply or watch event of a client: it is lost, the connection is "
        "reset after it, nothing passes from then on, or the client is frozen"
    )
    works_on = "the clients' frames"
    several = True
    needs = "simulation"
    usual = False
    drawn = False
    takes = FrameOptions

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._armed: dict[int, ArmedTrigger] = {}

    @classmethod
    def draw(cls, turn: Turn) -> Draft:
        """Draw a frame and what happens at it."""
        options = {
            "how": turn.rng.choice(ACTIONS),
            "number": turn.rng.randint(1, MOST_DRAWN),
        }
        return Draft(Targets(role="one"), options)

    def inject(self) -> None:
        """Arm the triggers."""
        context = self.context
        for client in self.chosen:
            self._armed[client] = context.trigger_links.arm_frame(
                client, self.options.number, self.options.how, context.clients.pause
            )

    def in_force(self) -> Finding:
        """All triggers are armed."""
        detail = f"{self.options.how} at frame {self.options.number}"
        return Finding(bool(self._armed) and len(self._armed) == len(self.chosen), detail)

    def heal(self) -> None:
        """Withdraw the triggers, and undo what they did."""
        context = self.context
        for client, armed in self._armed.items():
            armed.withdraw()
            if armed.acted is None:
                continue
            if self.options.how == "freeze" and context.clients.state(client) == "paused":
                context.clients.resume(client)
            elif self.options.how == "silence":
                context.links.heal(client)

    def healed(self, timeout: float) -> Finding:
        """At least one trigger has acted, and all clients are connected."""
        back = super().healed(timeout)
        struck = self._struck()
        if back.ok and not struck:
            return NeverActed(False, "nothing happened: no such frame came")
        return Finding(back.ok, f"struck: {', '.join(struck) or 'none'}; {back.detail}")

    def record(self) -> dict[str, Any]:
        """What happened to whom so far."""
        return {"how": self.options.how, "struck": self._struck()}

    def _struck(self) -> Sequence[str]:
        return [f"c{c}" for c, armed in self._armed.items() if armed.acted is not None]
