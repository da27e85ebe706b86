"""Any object that is acquired in a mode, or that has a lock for each mode, as a read-write lock.

Either ``acquire(mode, timeout)``, with the mode ``"read"`` or ``"write"``, and ``release()``; or
``read_lock`` and ``write_lock``, attributes or methods without arguments that give locks with
``acquire`` and ``release``. Of the lock in use, or of the object, the rest is read as of locks
(``own_lock``).
"""

from typing import Any

from rumpus.recipes.promises import Line, Promises
from rumpus.workloads.own.own_lock import OwnLock
from rumpus.workloads.own.own_recipe import has, method
from rumpus.workloads.own.tolerant_calls import call, first, succeeded, takes

SIDES = {"read": ("read_lock", "reader", "r_lock"), "write": ("write_lock", "writer", "w_lock")}
"""Mode -> the names that its lock may have."""

_SIDED = "`read_lock` and `write_lock`"


class OwnReadWriteLock(OwnLock):
    """See the module."""

    ways = (
        (method("read_lock", *SIDES["read"][1:]), method("write_lock", *SIDES["write"][1:])),
        (method("acquire(mode, timeout) -> bool"), method("release()")),
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._sides: dict[str, Any] = {}
        self._mode = "write"

    @classmethod
    def missing(cls, kind: Any) -> str:
        """As in every family; an ``acquire`` that takes no mode is that of a plain lock."""
        acquire = getattr(kind, "acquire", None)
        sided = has(kind, *SIDES["read"]) and has(kind, *SIDES["write"])
        if acquire is not None and not sided and not takes(acquire, "mode"):
            return "the parameter `mode` of `acquire(mode, timeout) -> bool`, or " + _SIDED
        return super().missing(kind)

    @classmethod
    def assumed_line_of(cls, promises: Promises, path: str) -> Line:  # noqa: ARG003 - the base's
        """Nobody knows which nodes are readers'."""
        return Line(kind="unknown", path=path)

    @property
    def subject(self) -> Any:
        """The lock of the mode in use, where there is one for each."""
        names = SIDES[self._mode]
        if not any(hasattr(self.own, name) for name in names):
            return self.own
        if self._mode not in self._sides:
            found = next(getattr(self.own, name) for name in names if hasattr(self.own, name))
            self._sides[self._mode] = found if hasattr(found, "acquire") else found()
        return self._sides[self._mode]

    def enter_own(self, timeout: float) -> bool:
        """Have the object acquire, in the mode."""
        enter = first(self.subject, self.enter_names)
        return succeeded(enter, call(enter, timeout=timeout, mode=self._mode))

    def acquire(self, mode: str, timeout: float) -> bool:  # type: ignore[override] # has modes
        """Whether the object granted it in this mode; errors as of locks."""
        self._mode = mode
        return super().acquire(timeout)
