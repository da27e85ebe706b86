"""The fault ``client-switch``: a thread of a client is held back when it is to run.

Which thread runs first decides what a program does only where threads meet. To hold back one thread
at one switch, and let all others go first, finds most such mistakes (delay-bounded scheduling: M.
Emmi, S. Qadeer, Z. Rakamaric, "Delay-Bounded Scheduling", POPL 2011).
"""

from typing import Final

from rumpus.nemesis.armed_fault import ArmedFault
from rumpus.nemesis.client_frame import FRAME_MODES
from rumpus.nemesis.fault import Counted, Draft, FaultOptions, Milliseconds, Turn
from rumpus.nemesis.targets import Targets

HOLD_MS: Final = 300.0
"""For how long a thread is held back if nothing else is said: many times the time of a request."""

SWITCHES: Final = "switches"
"""The mode of corners that places the fault at every switch to a thread."""

CORNER_MODES: Final = (*FRAME_MODES, SWITCHES)
"""What corners can place at every frame, or at every switch."""

MOST_DRAWN = 60
"""The highest number of a switch in random plans."""


class SwitchOptions(FaultOptions, frozen=True, kw_only=True):
    """Which switch, and for how long the thread does not run.

    Args:
        number: which switch from then on (1: the next).
        hold: milliseconds.
    """

    number: Counted = 1
    hold: Milliseconds = HOLD_MS


class ClientSwitch(ArmedFault):
    """Hold back the thread that is the n-th to run of each client chosen."""

    kind = "client-switch"
    summary = (
        "the thread of a client that is the n-th to run from then on is held back for a while, so "
        "that all others go first"
    )
    works_on = "the order of the clients' threads"
    several = True
    needs = "simulation"
    usual = False
    drawn = False
    takes = SwitchOptions
    awaited = "switch"

    @classmethod
    def draw(cls, turn: Turn) -> Draft:
        """Draw a switch."""
        return Draft(Targets(role="one"), {"number": turn.rng.randint(1, MOST_DRAWN)})

    def words(self) -> str:
        """Which switch, and for how long."""
        return f"thread held back for {self.options.hold:g} ms at switch {self.options.number}"

    def inject(self) -> None:
        """Arm the triggers."""
        machines, options = self.context.client_machines, self.options
        for client in self.chosen:
            self.armed[client] = machines.hold_back(client, options.number, options.hold / 1000)
