"""Reads ``--model`` and ``--initial``: which model decides a history, from which initial value."""

import contextlib
import importlib
import inspect
import json
import sys
from collections.abc import Hashable, Iterable
from pathlib import Path

from rumpus.checker.deciders.decide import Algorithm, ModelEntry
from rumpus.checker.deciders.decision import Budget, Decision
from rumpus.checker.deciders.operation_table import OperationTable, WrongOperations, freeze
from rumpus.checker.deciders.registry import MODELS
from rumpus.checker.linearizability.search import check_linearizable
from rumpus.checker.models.model import Model
from rumpus.usage_error import UsageError


def chosen_model(name: str) -> ModelEntry:
    """The model of a name, or a user's own class, ``package.module:Class``.

    The module may also be in the working directory.

    Raises:
        UsageError: there is no such model.
    """
    if name in MODELS:
        return MODELS[name]
    if ":" not in name:
        raise UsageError(
            f"--model: there is no model {name!r}; there are {', '.join(MODELS)}; "
            "or package.module:Class for one of your own (docs/models.md)"
        )
    return _entry_of(name, _class_of(name))


def initial_value(text: str | None) -> Hashable:
    """The value of ``--initial``: parsed as JSON, or the text itself if it is not JSON.

    Raises:
        UsageError: it is nested too deeply, or has an integer of more than 64 bits.
    """
    if text is None:
        return None
    try:
        return freeze(json.loads(text))
    except (WrongOperations, RecursionError) as error:
        raise UsageError(f"--initial: {error}") from error
    except ValueError:
        return text


def fitting_models(functions: Iterable[str]) -> list[str]:
    """The models that know all of these operations."""
    wanted = set(functions)
    return [name for name, entry in MODELS.items() if wanted <= entry.functions.keys()]


def _class_of(name: str) -> type[Model]:
    module_name, _, class_name = name.partition(":")
    with contextlib.suppress(OSError):  # the working directory may have been removed
        if (here := str(Path.cwd())) not in sys.path:
            sys.path.append(here)  # last, so that it hides nothing that is installed
    try:
        found = getattr(importlib.import_module(module_name), class_name, None)
    except Exception as error:  # whatever a user's module raises
        raise UsageError(
            f"--model: {module_name!r} cannot be imported ({type(error).__name__}: {error})"
        ) from error
    if not inspect.isclass(found) or not issubclass(found, Model):
        raise UsageError(
            f"--model: {module_name!r} has no class {class_name!r} that is a "
            "rumpus.checker.models.model.Model"
        )
    return found


def _entry_of(name: str, model: type[Model]) -> ModelEntry:
    def decide(table: OperationTable, initial: Hashable, budget: Budget) -> Decision:
        try:
            return check_linearizable(model(initial), table, budget)
        except WrongOperations:
            raise
        except Exception as error:  # whatever a user's model raises
            raise UsageError(
                f"--model: {name} fails ({type(error).__name__}: {error}); -v shows where"
            ) from error

    return ModelEntry(
        name=name,
        summary=inspect.getdoc(model) or "",
        functions=dict.fromkeys(sorted(model.functions), ""),
        algorithms=(
            Algorithm(
                name="windowed search",
                when="always",
                cost="exponential in the number of concurrent and unknown operations at worst",
                source="checker/linearizability/search.py",
            ),
        ),
        decide=decide,
        initial="what the model takes",
    )
