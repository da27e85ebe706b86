"""Calls of functions of other repositories: what a function does not take is left out."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

from kazoo.exceptions import LockTimeout
from kazoo.handlers.threading import KazooTimeoutError

TIMEOUTS: Final = (TimeoutError, KazooTimeoutError, LockTimeout)
"""Exceptions that say that the time was over."""

Parameters = Mapping[str, inspect.Parameter]

NAMES: Final = ("name", "identifier")
"""Parameters that take the client's name."""

HOSTS: Final = "hosts"
"""The parameter that takes the servers' addresses, as kazoo's clients take them."""

SERVICES: Final = "services"
"""The parameter that takes the addresses of services, by their names."""


def parameters_of(function: Callable[..., Any]) -> Parameters:
    """A function's parameters by name; none if it does not tell (some builtins).

    They are read once for each function and class, and once for a method of all objects of a class:
    every call of a recipe asks for them, and reading takes longer than many a call.
    """
    bound = inspect.ismethod(function)
    owner = function.__func__ if bound else function  # type: ignore[attr-defined] # of a method
    if not inspect.isfunction(owner) and not inspect.isclass(owner):
        return _read(function)  # an object that can be called: perhaps each has other parameters
    known = _KNOWN.setdefault(owner, {})
    if bound not in known:
        known[bound] = _read(function)
    return known[bound]


_KNOWN: Final = WeakKeyDictionary[Callable[..., Any], dict[bool, Parameters]]()
"""Function or class -> whether it is bound, as a method -> its parameters."""


def _read(function: Callable[..., Any]) -> Parameters:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def takes(function: Callable[..., Any], name: str) -> bool:
    """Whether a function has a parameter of that name, which can be given by name."""
    parameter = parameters_of(function).get(name)
    return parameter is not None and parameter.kind in (
        parameter.KEYWORD_ONLY,
        parameter.POSITIONAL_OR_KEYWORD,
    )


def accepted(function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a function names among its parameters.

    What a function with ``**options`` passes on, and whether that is taken there, is not known: so
    it is given only what it names itself.
    """
    return {name: value for name, value in options.items() if takes(function, name)}


def call(function: Callable[..., Any], *values: Any, timeout: float | None, **options: Any) -> Any:
    """Call with the timeout and the options that it takes.

    A timeout of None is left out where the function has a default of its own.
    """
    given = accepted(function, options)
    if takes(function, "timeout"):
        default = parameters_of(function)["timeout"].default
        if timeout is not None or default is inspect.Parameter.empty:
            given["timeout"] = timeout
    return function(*values, **given)


def place_of(function: Callable[..., Any], names: Sequence[str], position: int) -> str | int | None:
    """Where a function takes a value: the first of these names that it has, or by position.

    Args:
        function: the function.
        names: names that the parameter may have.
        position: the value's place among the positional arguments, from 0.

    Returns:
        The name; the position, if the parameter there has any other name than those of
        a client's name or of addresses; None: the function does not take the value.
    """
    for name in names:
        if takes(function, name):
            return name
    positional = [
        each
        for each in parameters_of(function).values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    if len(positional) > position and positional[position].name not in (*NAMES, HOSTS, SERVICES):
        return position
    return None


def succeeded(function: Callable[..., Any], told: Any) -> bool:
    """Whether a call's answer says yes.

    None says yes, unless the function's annotation says that it returns something.
    """
    if told is None:
        declared = getattr(function, "__annotations__", {}).get("return")
        return declared is None or declared == "None"
    return bool(told)


def first(own: Any, names: Sequence[str]) -> Callable[..., Any]:
    """The object's method with the first of these names that it has.

    Raises:
        TypeError: it has none of them.
    """
    for name in names:
        method = getattr(own, name, None)
        if callable(method):
            found: Callable[..., Any] = method
            return found
    raise TypeError(f"{type(own).__name__} has no {' and no '.join(names)}")


def attribute(own: Any, names: Sequence[str]) -> Any:
    """The value of the first of these attributes, or the answer of such a method without arguments.

    None if there is none of them.
    """
    for name in names:
        if hasattr(own, name):
            told = getattr(own, name)
            return told() if callable(told) else told
    return None
