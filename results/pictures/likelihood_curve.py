"""The picture of a likelihood: the share of futures that fail, over the time of the run."""

from markupsafe import Markup

from rumpus.results.likelihood import Likelihood
from rumpus.results.pictures.lanes import Lanes
from rumpus.results.pictures.svg import TimeScale, line, path, picture, rect, text, time_axis
from rumpus.results.pictures.timeline import fault_bands, fault_labels

_HEIGHT = 90.0


def draw_likelihood(lanes: Lanes, likelihood: Likelihood, began: int) -> Markup:
    """A dot for each moment, lines between them, and a mark where the failure became likely.

    Args:
        lanes: the run.
        likelihood: of the run's failure.
        began: when the load began, in nanoseconds on the run's clock.
    """
    scale = TimeScale(lanes.start, lanes.end, lanes.start)
    labels, top = fault_labels(lanes, scale)
    bottom = top + _HEIGHT

    def spot(at: float, share: float) -> tuple[float, float]:
        return scale.x(began + round(at * 1e9)), bottom - share * _HEIGHT

    parts = [*fault_bands(lanes, scale, top, bottom), *time_axis(scale, top, bottom)]
    for share in (0.0, 0.5, 1.0):
        y = bottom - share * _HEIGHT
        parts.append(line(scale.left, y, scale.right, y, "grid"))
        parts.append(text(122, y + 3, f"{100 * share:.0f} %", "tick", anchor="end"))
    if (step := likelihood.step()) is not None:
        left, right = (spot(at, 0)[0] for at in step)
        title = f"became likely between {step[0]:g} and {step[1]:g} s of load"
        parts.append(rect(left, top, max(right - left, 2), _HEIGHT, "marked-violation", title))
    spots = [(moment, *spot(moment.at, moment.share)) for moment in likelihood.moments]
    parts.append(path("M" + "L".join(f"{x:.1f} {y:.1f}" for _, x, y in spots), "likelihood"))
    for moment, x, y in spots:
        title = f"from {moment.at:g} s: {moment.failed} of {moment.futures} futures failed"
        parts.append(rect(x - 2, y - 2, 4, 4, "likelihood-moment", title))
    return picture(bottom + 18, [*parts, *labels], f"how likely the failure was: {title_of(step)}")


def title_of(step: tuple[float, float] | None) -> str:
    """A step in words."""
    if step is None:
        return "as likely at the beginning as at the end"
    return f"it became likely between {step[0]:g} and {step[1]:g} s of load"
