"""Operations of a workload, declared as methods.

An operation is a method of a workload with the decorator::

    @operation(timeout=1.5)
    def read(self, counters: list[Counter], key: int, timeout: float) -> int: ...

In a client's process the method is called with what ``Workload.open`` made and the values of the
call. In the generators of the load, ``self.read(key=3)`` is that call, as an ``Invocation``. The
annotations say what the call and its answer carry: histories are held to them before they are
judged (``operation_values``).

What the method returns is the value of the operation's ``ok``; where the call has a ``key``, beside
that. A method that is declared to return None answers nothing. ``NotDone`` and what derives from it
make it a ``fail``, ``OutcomeUnknown`` an ``info``; so do ``Failed`` and ``Unknown``, which carry a
value. What else the method raises escapes: then nobody knows what happened, and the client is
closed and opened anew in another session.
"""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints, overload

import msgspec
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from rumpus.harness.clients.client_body import Outcome
from rumpus.harness.generators.generator import Invocation
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.workloads.framework.patient_call import PatientCall, StillRunning

Method = Callable[..., Any]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class Failed(NotDone):
    """The operation did not happen, and its ``fail`` carries a value.

    Args:
        error: why, in words.
        value: the value.
    """

    def __init__(self, error: str, value: Any = None) -> None:
        super().__init__(error)
        self.value = value


class Unknown(OutcomeUnknown):
    """Nobody knows whether the operation happened, and its ``info`` carries a value.

    Args:
        error: why, in words.
        value: the value.
    """

    def __init__(self, error: str, value: Any = None) -> None:
        super().__init__(error)
        self.value = value


class Bound:
    """An operation of one workload; called with the values, it is the call of them."""

    def __init__(self, operation: "Operation", workload: Any) -> None:
        self._operation = operation
        self._workload = workload
        self.f: str = workload.called.get(operation.f, operation.f)

    def __call__(self, **values: Any) -> Invocation:
        """The call of the operation with these values, and its timeout if none is given."""
        timeout = self._operation.timeout
        if timeout is not None:
            values.setdefault("timeout", timeout)
        return Invocation(self.f, values or None)

    def shapes(self) -> tuple[Any, Any]:
        """See ``Operation.shapes``."""
        return self._operation.shapes()

    def perform(self, opened: Any, value: Any) -> Outcome:
        """Carry the call out in a client's process."""
        return self._operation.perform(self._workload, opened, value or {})


class Operation:
    """See ``operation``."""

    def __init__(
        self,
        method: Method,
        f: str | None,
        *,
        timeout: float | None,
        overdue: float | None,
        changes: bool,
    ) -> None:
        self.method = method
        self.f = f or method.__name__
        self.timeout = timeout
        self.overdue = overdue
        self.changes = changes
        self.answers = method.__annotations__.get("return", Any) is not None
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, workload: None, owner: type) -> "Operation": ...
    @overload
    def __get__(self, workload: object, owner: type) -> Bound: ...
    def __get__(self, workload: object | None, owner: type) -> "Operation | Bound":
        return self if workload is None else Bound(self, workload)

    def perform(self, workload: Any, opened: Any, values: dict[str, Any]) -> Outcome:
        """Call the method, wait for it no longer than it may take, and say how it ended."""

        def call() -> Any:
            return self.method(workload, opened, **values)

        try:
            if self.overdue is None:
                answer = call()
            else:
                answer = PatientCall(call).result(values["timeout"] + self.overdue)
        except StillRunning:
            return Outcome("info", error="has not returned yet")
        except NotDone as error:
            return Outcome("fail", getattr(error, "value", None), str(error))
        except OutcomeUnknown as error:
            value = getattr(error, "value", None)
            return Outcome("info" if self.changes else "fail", value, str(error))
        except (KazooException, KazooTimeoutError) as error:
            if self.changes:
                raise
            return Outcome("fail", error=f"{type(error).__name__}: {error}")
        if "key" in values and self.answers and not isinstance(answer, dict):
            answer = {"key": values["key"], "value": answer}
        return Outcome("ok", answer)

    def shapes(self) -> tuple[Any, Any]:
        """What the call's value has to be, and that of its ``ok``, as types of msgspec."""
        hints = get_type_hints(self.method, include_extras=True)
        answer = hints.pop("return", Any)
        fields: list[Any] = []
        for parameter in list(inspect.signature(self.method).parameters.values())[2:]:
            kind = hints.get(parameter.name, Any)
            if parameter.name in ("timeout", "patience"):  # histories of others may lack it
                fields.append((parameter.name, Seconds | None, None))
            elif parameter.default is inspect.Parameter.empty:
                fields.append((parameter.name, kind))
            else:
                fields.append((parameter.name, kind, parameter.default))
        asked: Any = msgspec.defstruct("Call", fields, kw_only=True) if fields else Any
        if fields and all(len(field) > 2 for field in fields):
            asked = asked | None  # a call may carry nothing where nothing has to be told
        if not self.answers:
            return asked, Any
        if any(field[0] == "key" for field in fields) and not _is_object(answer):
            key = hints["key"]
            answer = msgspec.defstruct("Answer", [("key", key), ("value", answer)], kw_only=True)
        return asked, answer


def _is_object(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, dict | msgspec.Struct)


def operation(
    *,
    timeout: float | None = None,
    overdue: float | None = None,
    changes: bool = True,
    name: str | None = None,
) -> Callable[[Method], Operation]:
    """Make a method of a workload an operation.

    Args:
        timeout: seconds that a call may take if none are given; the method takes ``timeout``.
        overdue: for calls that may not return: by how many seconds one may run over its timeout
            before its client gives it up, as of unknown outcome, and goes on.
        changes: whether it changes anything. What does not has not happened when it gets no
            answer, or an error of ZooKeeper's or kazoo's: a ``fail``.
        name: of the operation in histories, where the method's is no good.
    """

    def decorate(method: Method) -> Operation:
        return Operation(method, name, timeout=timeout, overdue=overdue, changes=changes)

    return decorate
