"""The fault ``client-frame``: something happens to a client at its n-th frame.

Frames are requests, replies and watch events. Times within a fraction of a millisecond make no
difference to a run, but before or after which frame a fault begins does.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, Literal, get_args

from rumpus.harness.ensemble import Ensemble, EnvironmentRefusal
from rumpus.nemesis.armed_fault import ArmedFault
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.fault import Counted, Draft, FaultOptions, Turn
from rumpus.nemesis.targets import Targets

FrameAction = Literal["lose", "reset", "silence", "freeze", "stall"]
"""What happens at a frame. ``lose``: it is swallowed and its connection reset. Otherwise it passes.
``reset``: its connection is reset. The others last until the fault is healed. ``silence``: nothing
passes after it, in either direction. ``freeze``: the client's process is frozen. ``stall``: the
client's main thread, which performs its operations, does not run."""

ACTIONS: tuple[FrameAction, ...] = get_args(FrameAction)

STALL: Final = "stall"
"""The action that only simulated clients can suffer: random plans, which do not know where they are
performed, leave it out."""

LATER_S: Final = 0.6
"""For how many seconds a stalled thread is behind its client's new session."""

FRAME_MODES: Final[Mapping[str, tuple[tuple[FrameAction, float], ...]]] = MappingProxyType(
    {
        "drops": (("lose", 0.0),),
        "cuts": (("reset", 0.0),),
        "expiries": (("silence", 0.0),),
        "pauses": (("freeze", 0.0),),
        "stalls": (("silence", LATER_S), ("stall", 0.0)),
    }
)
"""What is placed at every frame, and how many seconds before the others it is healed. ``drops``:
the frame is lost with its connection. ``cuts``: the connection is reset after it. ``expiries``:
nothing passes any more until the session has ended. ``pauses``: the client is frozen until its
session has ended. ``stalls``: the thread that performs the client's operations does not run until
after the client has lost its session and got another one."""

MAIN = 0.0
"""Chooses a client's first thread."""

MOST_DRAWN = 40
"""The highest number of a frame in random plans."""


class FrameOptions(FaultOptions, frozen=True, kw_only=True):
    """Which frame, and what happens at it.

    Args:
        how: what happens; see ``FrameAction``.
        number: which frame from then on (1: the next).
    """

    how: FrameAction = ACTIONS[0]
    number: Counted = 1


class ClientFrame(ArmedFault):
    """Arm a trigger for the n-th frame of each client chosen."""

    kind = "client-frame"
    summary = (
        "at the n-th request, reply or watch event of a client: it is lost, the connection is "
        "reset after it, nothing passes from then on, or the client or its main thread is frozen"
    )
    works_on = "the clients' frames"
    several = True
    needs = "triggers"
    usual = False
    drawn = False
    takes = FrameOptions
    awaited = "frame"

    @classmethod
    def prepare(cls, entry: Entry, ensemble: Ensemble) -> None:
        """Refuse to stall a thread of a real client."""
        if entry.options.get("how") == STALL and ensemble.machines is None:
            raise EnvironmentRefusal(
                f"{cls.kind} stalls a thread at a frame of simulated clients only: give it "
                "another `how` than stall, or use --ensemble sim"
            )

    @classmethod
    def draw(cls, turn: Turn) -> Draft:
        """Draw a frame and what happens at it."""
        options = {
            "how": turn.rng.choice([each for each in ACTIONS if each != STALL]),
            "number": turn.rng.randint(1, MOST_DRAWN),
        }
        return Draft(Targets(role="one"), options)

    def words(self) -> str:
        """What happens at which frame."""
        return f"{self.options.how} at frame {self.options.number}"

    def inject(self) -> None:
        """Arm the triggers."""
        how, links = self.options.how, self.context.trigger_links
        for client in self.chosen:
            self.armed[client] = links.arm_frame(
                client,
                self.options.number,
                partial(self._act, client),
                passes=how != "lose",
                resets=how in ("lose", "reset"),
            )

    def _act(self, client: int) -> None:
        """Do what concerns the whole client."""
        context, how = self.context, self.options.how
        if how == "silence":
            context.links.cut(client, "black-hole")
        elif how == "freeze":
            context.clients.pause(client)
        elif how == STALL:
            context.client_machines.stall(client, MAIN)

    def heal(self) -> None:
        """Withdraw the triggers, and undo what they did."""
        super().heal()
        context, how = self.context, self.options.how
        for client, armed in self.armed.items():
            if armed.acted is None:
                continue
            if how == "freeze" and context.clients.state(client) == "paused":
                context.clients.resume(client)
            elif how == "silence":
                context.links.heal(client)
            elif how == STALL:
                context.client_machines.unstall(client)
