"""Some of many parameters by default, and all of them every night.

``@sampled("recipe", RECIPES, of=10)`` is ``parametrize``, but by default only every tenth is
performed. Which ones depends on the commit: one commit has the same ones in every run, and the
next one has others. ``@one_in(4)`` does so with a single test, ``pytestmark = file_in(4,
__name__)`` with a whole file, and ``costs.json`` with every test that takes more than a second of
processor time, the more seldom the more it takes, unless files are named on the command line. Of
what does not say how many, Hypothesis tries 30 examples instead of 100. ``make test-full`` performs
all.

A failure is repeated by its name alone: a test that is named whole on the command line is
performed, whether it is in the sample or not. ``RUMPUS_SAMPLE``, a number, takes another sample
than the commit's; the header of a run names it.
"""

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from zlib import crc32

import pytest
from _pytest.mark.structures import ParameterSet
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = 30

COSTS = Path(__file__).with_name("costs.json")
"""Seconds of processor time (on real servers: half of all time) of each test that takes more than
one: of all its parameters that one run performed. ``RUMPUS_WRITE_COSTS=1 make test`` brings it up
to date."""

TIERS = ((8, 4), (4, 3), (1, 2))
"""What takes so many seconds is performed in one of so many commits."""


def full():
    """Whether everything is to be performed: ``make test-full``."""
    return bool(os.environ.get("RUMPUS_FULL_CHECKS"))


@cache
def turn():
    """The number that decides which parameters are in the sample."""
    if given := os.environ.get("RUMPUS_SAMPLE"):
        return int(given)
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return 0  # an unpacked archive on a machine without git
    return int(done.stdout[:6], 16) if done.returncode == 0 else 0


def sampled(names, values, *, of, ids=None):
    """``parametrize`` with all values, of which every ``of``-th is performed by default."""
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    return pytest.mark.parametrize(
        names, sampled_values(values, of=of, alone=len(names) == 1), ids=ids
    )


def sampled_values(values, *, of, alone=True):
    """The same for the parameters of a fixture; ``alone``: a tuple is one value.

    Of few values one is performed.
    """
    sets = [ParameterSet.extract_from(value, force_tuple=alone) for value in values]
    of = min(of, len(sets))
    return [
        pytest.param(
            *each.values, id=each.id, marks=[*each.marks, pytest.mark.sampled(place=place, of=of)]
        )
        for place, each in enumerate(sets)
    ]


def one_in(of):
    """A decorator for a test that costs much: by default one commit of so many performs it."""

    def decorate(test):
        place = crc32(f"{test.__module__}.{test.__qualname__}".encode())
        return pytest.mark.sampled(place=place, of=of)(test)

    return decorate


@cache
def costs():
    """Name of a test -> its seconds."""
    return json.loads(COSTS.read_text())


def file_in(of, name):
    """A mark for a file whose tests share what costs much: one commit of so many performs it."""
    return pytest.mark.sampled(place=crc32(name.encode()), of=of)


def is_its_turn(item):
    """Whether a test is performed by what it costs."""
    name = item.nodeid.partition("[")[0]
    seconds = costs().get(name, 0)
    of = next((of for least, of in TIERS if seconds >= least), 1)
    return crc32(name.encode()) % of == turn() % of


def fewer_examples():
    """Have Hypothesis try fewer examples than its hundred of whatever does not say how many."""
    if not full():
        whole = settings.get_profile(settings.get_current_profile_name())
        settings.register_profile("sample", whole, max_examples=EXAMPLES)
        settings.load_profile("sample")


def is_in_sample(item):
    """Whether a test is in today's sample by each of its parameters."""
    return all(
        mark.kwargs["place"] % mark.kwargs["of"] == turn() % mark.kwargs["of"]
        for mark in item.iter_markers("sampled")
    )


def take_sample(config, items):
    """Deselect what is neither in the sample nor named whole on the command line."""
    if full():
        return
    named = tuple(arg for arg in config.args if "::" in arg)
    whole = not any(".py" in arg for arg in config.args)
    kept, others = [], []
    for item in items:
        is_named = any(arg.endswith(item.nodeid) for arg in named)
        chosen = is_in_sample(item) and not (whole and not is_its_turn(item))
        (kept if is_named or chosen else others).append(item)
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = kept
