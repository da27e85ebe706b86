"""Operations of a workload, declared as methods.

An operation is a method of a workload with the decorator::

    @operation(timeout=1.5)
    def read(self, counters: list[Counter], key: int, timeout: float) -> int: ...

In a client's process the method is called with what ``Workload.open`` made and the values of the
call. In scripts ``self.read(key=3)`` makes that call's ``Invocation``. The annotations give the
types of the call's values and of its answer: histories are checked against them before they are
judged (``operation_values``).

One positional-only parameter (``def append(self, log: Log, value: int, /)``) is the whole value:
the call is written ``self.append(7)``, and carries ``7``. Values that the method does not take are
left out, because a clean-up is called with the values of the operation that it undoes.

What the method returns is the value of the operation's ``ok``; if the call has a ``key``, the
``ok`` carries both. A method that is declared to return None has no answer. If the method raises
``NotDone`` or a subclass, the operation is a ``fail``; if ``OutcomeUnknown``, an ``info``.
``Failed`` and ``Unknown`` are such exceptions that carry a value; ``Refused`` is one without an
error. Any other exception escapes: then nobody knows what happened, and the client is closed and
opened anew in another session.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar, get_type_hints, overload

import msgspec
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from rumpus.harness.clients.client_body import Outcome
from rumpus.harness.clients.patient_call import PatientCall, StillRunning
from rumpus.harness.generators.generator import Invocation
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown

T = TypeVar("T")
Method = Callable[..., Any]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
"""The type of a time in seconds among the values of a call."""
DURATIONS = ("timeout", "patience")
"""Parameters that calls in histories of other tools may lack."""


class _WithValue(Exception):  # noqa: N818 - an outcome, as in recipes.outcomes
    """An exception whose ``value`` becomes that of the operation's completion.

    Args:
        error: why, in words.
        value: the value.
    """

    def __init__(self, error: str, value: Any = None) -> None:
        super().__init__(error)
        self.value = value


class Failed(_WithValue, NotDone):
    """The operation did not happen: a ``fail`` with a value."""


class Unknown(_WithValue, OutcomeUnknown):
    """Nobody knows whether the operation happened: an ``info`` with a value."""


class Refused(NotDone):
    """The system answered no (a compare-and-set that lost): a ``fail`` without an error."""


def unless_refused(answer: T | None) -> T:
    """The answer; raises ``Refused`` if it is None or False, by which the system says no."""
    if answer is None or answer is False:
        raise Refused
    return answer


class Bound:
    """An operation of one workload object; calling it with values makes an ``Invocation``."""

    def __init__(self, operation: "Operation", workload: Any) -> None:
        self._operation = operation
        self._workload = workload
        self.f: str = workload.called.get(operation.f, operation.f)

    def __call__(self, *alone: Any, **values: Any) -> Invocation:
        """The operation's ``Invocation`` with these values; its own timeout if none is given."""
        if alone:
            return Invocation(self.f, *alone)
        timeout = self._operation.timeout
        if timeout is not None:
            values.setdefault("timeout", timeout)
        return Invocation(self.f, values or None)

    def shapes(self) -> tuple[Any, Any]:
        """See ``Operation.shapes``."""
        return self._operation.shapes()

    def perform(self, opened: Any, value: Any) -> Outcome:
        """Carry out a call in a client's process."""
        return self._operation.perform(self._workload, opened, value)


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
        goes_on: bool,
        refusals: Mapping[type[Exception], str | None],
    ) -> None:
        self.method = method
        self.f = f or method.__name__
        self.timeout = timeout
        self.overdue = overdue
        self.changes = changes
        self.goes_on = goes_on
        self.refusals = refusals
        self.parameters = list(inspect.signature(method).parameters.values())[2:]
        self.alone = any(one.kind is one.POSITIONAL_ONLY for one in self.parameters)
        if overdue is not None and "timeout" not in (one.name for one in self.parameters):
            raise TypeError(
                f"operation {self.f}: overdue={overdue} is counted from the call's timeout, so the "
                "method must take `timeout`"
            )
        self.answers = method.__annotations__.get("return", Any) is not None
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, workload: None, owner: type) -> "Operation": ...
    @overload
    def __get__(self, workload: object, owner: type) -> Bound: ...
    def __get__(self, workload: object | None, owner: type) -> "Operation | Bound":
        return self if workload is None else Bound(self, workload)

    def perform(self, workload: Any, opened: Any, value: Any) -> Outcome:
        """Call the method, wait no longer than it may take, and return how it ended."""
        values: dict[str, Any] = {} if self.alone else value or {}

        def call() -> Any:
            if self.alone:
                return self.method(workload, opened, value)
            taken = {one.name for one in self.parameters} & values.keys()
            return self.method(workload, opened, **{name: values[name] for name in taken})

        unknown: Literal["info", "fail"] = "info" if self.changes else "fail"
        try:
            if self.overdue is None:
                answer = call()
            else:
                answer = PatientCall(call).result(values["timeout"] + self.overdue)
        except StillRunning:
            return Outcome("info", error="has not returned yet")
        except NotDone as error:
            return Outcome("fail", _value(error), str(error) or None)
        except OutcomeUnknown as error:
            return Outcome(unknown, _value(error), str(error))
        except tuple(self.refusals) as error:
            words = (self.refusals[kind] for kind in self.refusals if isinstance(error, kind))
            return Outcome("fail", error=next(words))
        except (KazooException, KazooTimeoutError) as error:
            if self.changes and not self.goes_on:
                raise
            return Outcome(unknown, error=f"{type(error).__name__}: {error}")
        if "key" in values and self.answers and not isinstance(answer, dict):
            answer = {"key": values["key"], "value": answer}
        return Outcome("ok", answer)

    def shapes(self) -> tuple[Any, Any]:
        """The types, for msgspec, of the call's value and of the value of its ``ok``."""
        hints = get_type_hints(self.method, include_extras=True)
        answer = hints.pop("return", Any) if self.answers else Any
        fields: list[Any] = []
        for parameter in self.parameters:
            kind = hints.get(parameter.name, Any)
            if parameter.name in DURATIONS:
                fields.append((parameter.name, Seconds | None, None))
            elif parameter.default is inspect.Parameter.empty:
                fields.append((parameter.name, kind))
            else:
                fields.append((parameter.name, kind, parameter.default))
        asked: Any = dict[str, Any] | None
        if self.alone:
            asked = fields[0][1]
        elif fields:
            asked = msgspec.defstruct("Call", fields, kw_only=True)
            if all(len(field) > 2 for field in fields):
                asked = asked | None
        if "key" in hints and not _is_object(answer):
            value: Any = ("value", answer) if self.answers else ("value", Any, None)
            answer = msgspec.defstruct("Answer", [("key", hints["key"]), value], kw_only=True)
            answer = answer if self.answers else answer | None
        return asked, answer


def _value(error: Exception) -> Any:
    return error.value if isinstance(error, _WithValue) else None


def _is_object(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, dict | msgspec.Struct)


def operation(
    *,
    timeout: float | None = None,
    overdue: float | None = None,
    changes: bool = True,
    goes_on: bool = False,
    refusals: Mapping[type[Exception], str | None] | None = None,
    name: str | None = None,
) -> Callable[[Method], Operation]:
    """Make a method of a workload an operation.

    Args:
        timeout: the default of the call's ``timeout``, in seconds; the method takes ``timeout``.
        overdue: for calls that may hang: how many seconds a call may run over its timeout. After
            that its client gives it up (an ``info``) and goes on.
        changes: whether the operation changes anything. If not, an unknown outcome or an error of
            ZooKeeper or kazoo is a ``fail``, for nothing can have happened.
        goes_on: whether the client goes on after an error of ZooKeeper or kazoo, in another session
            if need be, and the operation is just an ``info``. Otherwise the error escapes.
        refusals: exceptions by which the system says no -> the error of the ``fail``, if any.
        name: the operation's name in histories, if it is not the method's.
    """

    def decorate(method: Method) -> Operation:
        return Operation(
            method,
            name,
            timeout=timeout,
            overdue=overdue,
            changes=changes,
            goes_on=goes_on,
            refusals=refusals or {},
        )

    return decorate
