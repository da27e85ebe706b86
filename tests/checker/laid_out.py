"""Timelines made by hand: a history, and what a test says of the rest."""

from dataclasses import fields

from rumpus.checker.check import all_kinds
from rumpus.checker.timeline.timeline import Timeline
from rumpus.recipes.promises import Promises

_FIELDS = {field.name for field in fields(Timeline)}


def laid_out(
    history, *, parts=(), prevents=None, wakeups=None, lock_delay=0.0, time_boundary=0.0, **given
):
    """A timeline.

    Args:
        history: the run's.
        parts: pairs of a function that makes a family's part, and what it makes here.
        prevents: what the recipe promises to prevent; everything if nothing is said.
        wakeups: how many waiters one release may wake.
        lock_delay: the promised one, in seconds.
        time_boundary: likewise.
        given: fields of ``Timeline``, and parts of it that are not worked out.
    """
    promises = Promises(
        prevents=frozenset(all_kinds() if prevents is None else prevents),
        wakeups=wakeups,
        tokens=True,
        fenced=True,
        lock_delay=lock_delay,
        time_boundary=time_boundary,
    )
    known = {name: value for name, value in given.items() if name in _FIELDS}
    rest = {name: value for name, value in given.items() if name not in _FIELDS}
    timeline = Timeline(**{"history": history, "promises": promises, **known}).given(**rest)
    timeline.__dict__["_made"] = dict(parts)
    return timeline
