"""Pictures of a report, as many as there is room for in the file."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from rumpus.checker.verdict import Anomaly
from rumpus.results.pictures.lanes import Lanes
from rumpus.results.pictures.story_marks import Mark
from rumpus.results.pictures.timeline import draw_timeline

CONTEXT = 50_000_000
"""Nanoseconds that a picture shows at least beside what it is about."""

_PICTURE_BYTES = 4_000_000


@dataclass
class Drawing:
    """Draws pictures until ``room`` bytes are used up, and counts what was left out.

    Args:
        lanes: what is drawn.
        room: bytes.
        thinned: of the picture with the most, how many spans are narrower than it can show.
        omitted: how many pictures there was no room for.
    """

    lanes: Lanes
    room: int = _PICTURE_BYTES
    thinned: int = 0
    omitted: int = 0

    def admit(self, draw: Callable[[], Markup]) -> Markup | None:
        """A picture, or None where the file would become too large."""
        svg = draw() if self.room > 0 else None
        if svg is None or len(svg) > self.room:
            self.omitted += 1
            return None
        self.room -= len(svg)
        return svg

    def timeline(
        self,
        start: int,
        end: int,
        description: str,
        highlight: Anomaly | None = None,
        *,
        marks: Sequence[Mark] = (),
        clients: Collection[int] = (),
        narrow: bool = False,
    ) -> Markup | None:
        """A stretch of the run, cut at its ends; arguments as for ``draw_timeline``."""
        thinned = 0

        def draw() -> Markup:
            nonlocal thinned
            svg, thinned = draw_timeline(
                self.lanes,
                max(start, self.lanes.start),
                min(end, self.lanes.end),
                description,
                highlight,
                marks=marks,
                clients=clients,
                narrow=narrow,
            )
            return svg

        svg = self.admit(draw)
        if svg is not None and highlight is None and not marks:
            self.thinned = max(self.thinned, thinned)
        return svg
