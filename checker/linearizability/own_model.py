"""A model of another repository, decided by the general search."""

import inspect
from collections.abc import Hashable

from rumpus.checker.deciders.decide import Algorithm, ModelEntry
from rumpus.checker.deciders.decision import Budget, Decision
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.checker.deciders.values import WrongOperations
from rumpus.checker.models.model import Model


class ModelFailed(Exception):  # noqa: N818 - says what it is
    """A model of another repository raised an exception; the message names both."""


def entry_of(name: str, model: type[Model]) -> ModelEntry:
    """The entry of a model.

    Args:
        name: by which messages name it.
        model: its class.

    Returns:
        The entry. Its ``decide`` raises ``ModelFailed`` if the model does not work.
    """

    def decide(table: OperationTable, initial: Hashable, budget: Budget) -> Decision:
        # Most histories are judged by a model of rumpus, most of which need no search.
        from rumpus.checker.linearizability.search import check_linearizable  # noqa: PLC0415

        try:
            return check_linearizable(model(initial), table, budget)
        except WrongOperations:
            raise
        except Exception as error:  # whatever a user's model raises
            raise ModelFailed(f"{name} fails ({type(error).__name__}: {error})") from error

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
