"""Notices when the other side of a connection has been silent for too long."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from rumpus.simulation.kernel.process import Process

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Timer


class SilenceWatch:
    """Calls ``give_up`` after a time without a packet, once ``start`` has been called.

    Args:
        process: the process that waits for packets.
        limit: nanoseconds of silence that are allowed.
        is_excused: whether silence is all right at present.
        give_up: called when the silence has lasted for too long.

    Attributes:
        heard: when the last packet came, in virtual nanoseconds; set by the user of this class.
        limit: as above; a change takes effect at the next check.
    """

    __slots__ = ("_give_up", "_is_excused", "_process", "_timer", "heard", "limit")

    def __init__(
        self,
        process: Process,
        limit: int,
        is_excused: Callable[[], bool],
        give_up: Callable[[], object],
    ) -> None:
        self._process = process
        self.limit = limit
        self._is_excused = is_excused
        self._give_up = give_up
        self.heard = process.simulator.now
        self._timer: Timer | None = None

    def start(self) -> None:
        """Begin to watch, or begin anew."""
        self.stop()
        self.heard = self._process.simulator.now
        self._timer = self._process.call_later(self.limit, self._look)

    def stop(self) -> None:
        """Watch no longer."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        # Checked again after packets that came while the process was frozen are received.
        late = self._late()
        if late > 0:
            self._timer = self._process.call_later(0, self._give_up_if_late)
        else:
            self._timer = self._process.call_later(1 - late, self._look)

    def _late(self) -> int:
        """How much longer than allowed the silence has lasted, in nanoseconds."""
        if self._is_excused():
            return -self.limit
        return self._process.simulator.now - self.heard - self.limit

    def _give_up_if_late(self) -> None:
        if self._late() > 0:
            self._give_up()
        else:
            self._look()
