"""One entry of a fault plan as data, and the error for what is wrong with a plan."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec

from rumpus.checker.nearest_name import nearest
from rumpus.nemesis.targets import Targets

_FEW: Final = 8
"""So many names are always named, whichever is meant."""


class PlanError(ValueError):
    """A fault plan is malformed, or asks for what is impossible.

    The message names the file, the entry, the field and what is allowed. The command line
    prints it without a traceback and exits with 2.
    """


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fault of a plan; ``nemesis.plan`` describes the fields.

    ``options`` are plain data here: ``Fault.takes`` is their type, another for each kind of fault.
    """

    id: Annotated[int, msgspec.Meta(ge=-(1 << 53), lt=1 << 53)]
    at: float
    kind: str
    targets: Targets
    duration: float
    options: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def end(self) -> float:
        """When it is healed, in seconds since the load began."""
        return self.at + self.duration


def one_of(field: str, value: Any, allowed: Sequence[str]) -> None:
    """Raise PlanError unless a field has one of the values allowed."""
    if value not in allowed:
        near = nearest(str(value), allowed) if len(allowed) > _FEW else None
        hint = f"did you mean {near}?" if near else f"allowed are {', '.join(allowed)}"
        raise PlanError(f'field "{field}" is "{value}"; {hint}')


def check_names(field: str, names: Sequence[str], allowed: Sequence[str]) -> None:
    """Raise PlanError unless a field has names that are allowed, at least one, and each once."""
    if not names:
        raise PlanError(f'field "{field}" is empty; allowed are {", ".join(allowed)}')
    for name in names:
        one_of(field, name, allowed)
    if len(set(names)) != len(names):
        raise PlanError(f'field "{field}" names one twice')
