"""How two variants take turns on one machine, slice by slice, so that noise hits both alike."""

import math
from typing import NamedTuple

RAMP_NS = 50_000_000
"""At the start of a slice, not counted: everybody sets out at once there."""


class Slices(NamedTuple):
    """Turns of equal length, with a rest after each in which what is under way comes to its end.

    Times are nanoseconds on the system's monotonic clock. Variant ``v`` of ``variants`` works
    in the slices whose number is ``v`` modulo ``variants``.
    """

    begin: int
    length: int
    rest: int
    total: int
    variants: int = 2

    @property
    def end(self) -> int:
        """When the last one's rest is over."""
        return self.begin + self.total * (self.length + self.rest)

    def number(self, now: int) -> int | None:
        """In which slice a time lies; None in a rest, before the first and after the last."""
        number, within = divmod(now - self.begin, self.length + self.rest)
        return number if 0 <= number < self.total and within < self.length else None

    def counted(self, now: int) -> int | None:
        """The same, None in a ramp too."""
        number = self.number(now)
        if number is None or (now - self.begin) % (self.length + self.rest) < RAMP_NS:
            return None
        return number

    def next_turn(self, variant: int, now: int) -> int | None:
        """When a variant may work: now, later, or never again."""
        number = self.number(now)
        if number is not None and number % self.variants == variant:
            return now
        first = max(0, math.ceil((now - self.begin) / (self.length + self.rest)))
        following = first + (variant - first) % self.variants
        if following >= self.total:
            return None
        return self.begin + following * (self.length + self.rest)

    @property
    def counted_ms(self) -> float:
        """Milliseconds of a slice without its ramp."""
        return (self.length - RAMP_NS) / 1e6
