"""The client's side of workloads on plain znodes: operations whose outcome is told as it was."""

from collections.abc import Callable, Mapping
from typing import Any

from rumpus.harness.clients.client_body import Outcome
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.znodes.znode_access import ZnodeAccess

REFUSED = Outcome("fail")
"""The system looked and said no."""

Operation = Callable[[Any], Any]
"""From an operation's value to its result, or to an ``Outcome``."""


class ZnodeClient:
    """Carries out the operations of a workload.

    Args:
        access: the recipe; it is prepared before its first operation.
        operations: what each operation does.
    """

    grants = ""
    ends = ""

    def __init__(self, access: ZnodeAccess, operations: Mapping[str, Operation]) -> None:
        self._access = access
        self._operations = operations
        self._prepared = False

    def believes(self) -> bool:
        """Nobody holds anything."""
        return False

    def invoke(self, f: str, value: Any) -> Outcome:
        """Run one operation; what escapes is an unknown outcome."""
        if not self._prepared:
            try:
                self._access.prepare()
            except (NotDone, OutcomeUnknown) as error:
                return Outcome("fail", value, f"not begun: {error}")
            self._prepared = True
        try:
            result = self._operations[f](value)
        except NotDone as error:
            return Outcome("fail", value, str(error))
        except OutcomeUnknown as error:
            return Outcome("info", value, str(error))
        return result if isinstance(result, Outcome) else Outcome("ok", result)


def hexadecimal(session: int) -> str:
    """A session's id as histories have it."""
    return f"0x{session & 0xFFFFFFFFFFFFFFFF:x}"
