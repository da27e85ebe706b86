"""Reads ``--model`` and ``--initial``: which model decides a history, from which initial value."""

import inspect
import json
from collections.abc import Hashable, Iterable
from typing import Any

from rumpus.checker.deciders.decide import ModelEntry
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.checker.deciders.registry import MODELS
from rumpus.checker.deciders.values import WrongOperations, freeze
from rumpus.checker.linearizability.own_model import entry_of
from rumpus.checker.models.model import Model
from rumpus.checker.nearest_name import meant
from rumpus.project_names import names_here
from rumpus.usage_error import UsageError
from rumpus.workloads.own.references import NotFound, is_reference, referred


def chosen_model(name: str) -> ModelEntry:
    """The model of a name, or a user's own class, ``package.module:Class``.

    The module may also be in the working directory, or beside the project's ``pyproject.toml``,
    which may give it a name.

    Raises:
        UsageError: there is no such model.
    """
    if name in MODELS:
        return MODELS[name]
    names = names_here()
    reference = names.model(name)
    if not is_reference(reference):
        there = [*MODELS, *names.of_kind("models")]
        raise UsageError(
            f"--model: there is no model {name!r}; "
            + meant(name, there, more="; or package.module:Class for one of your own")
        )
    names.find_modules([reference])
    try:
        found = referred(reference)
    except NotFound as error:
        raise UsageError(f"--model: {error}") from error
    return entry_of(name, model_class(found, reference))


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


def which_model(table: OperationTable) -> str:
    """The models that know all of a history's operations, in words."""
    fitting = fitting_models(table.functions)
    functions = ", ".join(sorted(table.functions))
    if not fitting:
        return (
            f"no model of ours knows all of its operations ({functions}): "
            "write one (docs/reference/models.md) and name it with --model package.module:Class"
        )
    return f"for its operations ({functions}) there are --model {', '.join(fitting)}"


def model_class(found: Any, name: str) -> type[Model]:
    """A user's model, checked.

    Raises:
        UsageError: it is none.
    """
    if not inspect.isclass(found) or not issubclass(found, Model):
        raise UsageError(f"--model: {name} is no class that is a rumpus.Model")
    return found
