"""Whoever treats all recipes alike catches two classes."""

import importlib
import inspect
import pkgutil

import pytest

import rumpus.recipes
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown


def exceptions_of_recipes():
    for module in pkgutil.walk_packages(rumpus.recipes.__path__, "rumpus.recipes."):
        for name, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            ours = kind.__module__ == module.name and issubclass(kind, Exception)
            if ours and not name.startswith("_"):
                yield kind


EXCEPTIONS = list(exceptions_of_recipes())


@pytest.mark.parametrize("kind", EXCEPTIONS, ids=lambda kind: kind.__name__)
def test_an_exception_says_that_nobody_knows_or_that_nothing_was_done(kind):
    assert issubclass(kind, OutcomeUnknown) != issubclass(kind, NotDone)
    assert kind.__doc__


def test_names_of_exceptions_are_told_apart():
    names = [kind.__name__ for kind in EXCEPTIONS]
    assert len(set(names)) == len(names) > 10
