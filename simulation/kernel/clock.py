"""The clocks of a simulated machine: they can be wrong, and run fast or slow."""

from typing import Protocol

SECOND = 1_000_000_000
EPOCH = 1_700_000_000 * SECOND
"""What wall clocks show when a world begins, by default, in nanoseconds since 1970."""
BOOT = 100_000 * SECOND
"""What monotonic clocks show when a world begins: as on a machine that booted a day ago."""


class Time(Protocol):
    """What a clock reads the true time from; the simulator, in practice."""

    now: int
    """Virtual nanoseconds since the world began."""


class Clock:
    """Monotonic and wall clock of one process, in nanoseconds.

    ``rate`` is its speed in relation to virtual time: at 1.01 it gains 10 ms a second. The
    process's timeouts follow it, too. Steps of the wall clock do not touch the monotonic one.

    Args:
        world: gives the virtual time.
        epoch: what the wall clock shows when the world begins, in nanoseconds since 1970.
    """

    def __init__(self, world: Time, epoch: int) -> None:
        self._world = world
        self.rate: float = 1
        self._since = world.now
        self._shown = BOOT + world.now
        self.offset = BOOT
        """Monotonic clock minus virtual time; valid while the rate is 1."""
        self._ahead = epoch - BOOT
        self._epoch = epoch
        self.wrong = False
        """Whether the clock has ever been stepped or had its rate changed."""

    def monotonic(self) -> int:
        """The monotonic clock; it never goes back."""
        if self.rate == 1:
            return self._world.now + self.offset
        return self._shown + int((self._world.now - self._since) * self.rate)

    def wall(self) -> int:
        """The wall clock: nanoseconds since 1970."""
        return self.monotonic() + self._ahead

    def step(self, nanoseconds: int) -> None:
        """Set the wall clock forward, or back if negative."""
        self.wrong = True
        self._ahead += nanoseconds

    def true_wall(self) -> int:
        """What the wall clock would show if it were right."""
        return self._epoch + self._world.now

    def run_at(self, rate: float) -> None:
        """Change how fast both clocks run from now on.

        Raises:
            ValueError: the rate is not above 0; clocks never stand still nor run back.
        """
        if rate <= 0:
            raise ValueError(f"a clock's rate must be above 0, not {rate}")
        self.wrong = True
        self._shown = self.monotonic()
        self._since = self._world.now
        self.offset = self._shown - self._since
        self.rate = rate
