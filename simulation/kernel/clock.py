"""The clocks of a simulated machine: they can be wrong, and run fast or slow."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rumpus.simulation.kernel.simulator import Simulator


class Clock:
    """Monotonic and wall clock of one process, in nanoseconds.

    ``rate`` is how much its time runs faster than the world's: 1.01 gains 10 ms a second. Waits
    follow it, too. Steps of the wall clock do not touch the monotonic one.
    """

    def __init__(self, simulator: "Simulator", boot: int, epoch: int) -> None:
        self._simulator = simulator
        self.rate: float = 1
        self._since = simulator.now
        self._shown = boot + simulator.now
        self.offset = boot
        """From the world's time to the monotonic one, as long as the rate is 1."""
        self._ahead = epoch - boot
        self._epoch = epoch
        self.wrong = False
        """Whether it has ever been set or run at another rate."""

    def monotonic(self) -> int:
        """Never goes back."""
        if self.rate == 1:
            return self._simulator.now + self.offset
        return self._shown + int((self._simulator.now - self._since) * self.rate)

    def wall(self) -> int:
        """Since 1970."""
        return self.monotonic() + self._ahead

    def step(self, nanoseconds: int) -> None:
        """Set the wall clock forward, or back if negative."""
        self.wrong = True
        self._ahead += nanoseconds

    def true_wall(self) -> int:
        """What the wall clock would show if it were right."""
        return self._epoch + self._simulator.now

    def run_at(self, rate: float) -> None:
        """Change how fast both clocks run from now on.

        Raises:
            ValueError: clocks never stand still nor run back.
        """
        if rate <= 0:
            raise ValueError(f"a clock's rate must be above 0, not {rate}")
        self.wrong = True
        self._shown = self.monotonic()
        self._since = self._simulator.now
        self.offset = self._shown - self._since
        self.rate = rate
