"""The first record of a run's history: what was run, so that the history can be judged alone.

It is a record of process ``control`` and function ``test``, after Jepsen's test map.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from rumpus.checker.history import History
from rumpus.recipes.promises import Promises

FUNCTION = "test"

MOST_CLIENTS = 10_000
"""How many clients a run may have."""


class FirstRecord(msgspec.Struct, kw_only=True, frozen=True):
    """What has to be known of a run to judge its history alone.

    Args:
        workload: name of the workload.
        recipe: name of the recipe within the workload.
        promises: what the recipe promised at the time of the run.
        clients: how many clients.
        session_timeout: the session timeout that clients asked for, in seconds.
        nemesis: kinds of fault that could be chosen.
        directed: whether the fault plan was given by the user.
        strict: whether hazards fail the run.
    """

    workload: str
    recipe: str
    promises: Promises
    clients: Annotated[int, msgspec.Meta(ge=1, le=MOST_CLIENTS)]
    session_timeout: Annotated[float, msgspec.Meta(ge=0, le=10**9)]
    nemesis: list[str] = msgspec.field(default_factory=list)
    directed: bool = False
    strict: bool = False

    def value(self) -> Mapping[str, Any]:
        """The record's value, with sets in sorted order: equal for equal fields."""
        value = msgspec.to_builtins(self, order="deterministic")
        assert isinstance(value, dict)
        return value


def first_record(history: History) -> FirstRecord | None:
    """The first record of a history; None if it has none.

    Raises:
        ValueError: there are several, or its value is malformed; the message names the record.
    """
    found = history.events("control", FUNCTION)
    if not found:
        return None
    if len(found) > 1:
        raise ValueError(f"record {found[1].index}: a history has one record of the test")
    try:
        return msgspec.convert(found[0].value, FirstRecord)
    except msgspec.ValidationError as error:
        raise ValueError(f"record {found[0].index} (control {FUNCTION}): {error}") from error
