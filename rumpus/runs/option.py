"""The declaration of an option of a run.

An option is declared once: as a field of ``rumpus.runs.run_settings.RunOptions``, whose type is
annotated with an ``Option``. All that people see of it follows from that: see "A new option" in
CONTRIBUTING.md.
"""

import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeVar, get_type_hints

from rumpus.checker.nearest_name import nearest
from rumpus.option_values import Values
from rumpus.references_of_objects import reference_of
from rumpus.usage_error import UsageError

P = ParamSpec("P")
R = TypeVar("R")

Need = Literal["sim", "docker", "zookeeper", "python"]
"""What a run must be for an option: simulated; on real servers; with servers that are ZooKeeper's;
with clients in Python."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """What is declared of an option beside its name, its type and its default.

    Attributes:
        words: what it says, a noun phrase for ``rumpus run --help``.
        values: which values it may have.
        usual: the default in words, where the value does not say enough.
        in_python: the words for ``rumpus.run``, where they differ.
        spelled: its name on the command line and in cases; empty: the field's name.
        metavar: stands for its value in the usage; None: as its values have it.
        bare: its value if the command line has the option without one; None: it must have one.
        refers: what a class or function is called that may be given in place of its reference;
            empty: none may.
        needs: what a run must be for it -> how a refusal goes on (``applicability``).
        excludes: options that cannot be given beside it.
        in_project: whether ``pyproject.toml`` may have a default for it.
        in_case: whether it is one of a case's settings; if not, the case has it in another way, or
            its plan stands for it.
        special: whether a run is simpler to understand without it, so that shrinking tries that.
        several: whether the command line may have it several times, for a list.
    """

    words: str
    values: Values[Any]
    usual: str = ""
    in_python: str = ""
    spelled: str = ""
    metavar: str | None = None
    bare: str | None = None
    refers: str = ""
    needs: Mapping[Need, str] = field(default_factory=dict)
    excludes: Sequence[str] = ()
    in_project: bool = True
    in_case: bool = True
    special: bool = False
    several: bool = False


@dataclass(frozen=True, kw_only=True)
class Declared:
    """An option with its name and default.

    Attributes:
        name: the field's.
        option: what is declared of it.
        default: the value that it has if nobody says another; ``MISSING`` if it must be said.
    """

    name: str
    option: Option
    default: Any

    @property
    def spelled(self) -> str:
        """Its name in a case, and the option's on the command line but for dashes."""
        return self.option.spelled or self.name

    @property
    def key(self) -> str:
        """Its name with dashes: in ``pyproject.toml``, and after ``--``."""
        return self.spelled.replace("_", "-")

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return f"--{self.key}"

    @property
    def metavar(self) -> str | None:
        """What stands for its value in the usage; None: ``choices``, or its name in capitals."""
        return self.option.metavar or self.option.values.metavar

    @property
    def words_in_python(self) -> str:
        """What it says, for callers of ``rumpus.run``."""
        if self.option.in_python or self.default is not None or not self.option.usual:
            return self.option.in_python or self.option.words
        return f"{self.option.words}; None: {self.option.usual}"

    @property
    def usual(self) -> str:
        """The default in words; empty if there is none to tell."""
        if self.option.usual or self.default in (None, "", (), MISSING):
            return self.option.usual
        if isinstance(self.default, bool) or callable(self.default):
            return ""
        return f"{self.default:g}" if isinstance(self.default, float) else str(self.default)

    def is_given(self, values: Any) -> bool:
        """Whether an object that has the options as attributes has another value than usual."""
        value = getattr(values, self.name)
        return bool(value) if self.default == () else bool(value != self.default)

    def checked(self, value: Any) -> Any:
        """A value that a program or a file gives, as a run takes it.

        Raises:
            WrongValue: the option cannot have it.
            UsageError: it is a class or function that cannot be imported by a name.
        """
        if value is None and self.default is None:
            return None
        if isinstance(value, str) and value == self.default:
            return value
        if self.option.refers:
            several = isinstance(value, list | tuple | set | frozenset)
            things = list(value) if several else [value]
            references = [reference_of(each, self.option.refers) for each in things]
            value = references if several else references[0]
        return self.option.values.checked(value)


def declared_by(kind: type) -> dict[str, Declared]:
    """The options that a dataclass, and those that it inherits from, declare, by name."""
    options: dict[str, Option] = {}
    for owner in reversed(kind.__mro__):
        for name, hint in get_type_hints(owner, include_extras=True).items():
            for each in getattr(hint, "__metadata__", ()):
                if isinstance(each, Option):
                    options[name] = each
    return {
        each.name: Declared(name=each.name, option=options[each.name], default=each.default)
        for each in fields(kind)
        if each.name in options
    }


def checked(
    given: Mapping[str, Any], options: Mapping[str, Declared], *, spelled: str = "{0.flag}"
) -> dict[str, Any]:
    """Options that were given, as a run takes them.

    Args:
        given: option -> value; what is no option stays as it is.
        options: the options that there are.
        spelled: how errors name an option, a format of a ``Declared``.

    Raises:
        UsageError: an option cannot have its value; the message names both, and what it may have.
    """
    taken = dict(given)
    for name, value in given.items():
        if (option := options.get(name)) is not None:
            try:
                taken[name] = option.checked(value)
            except ValueError as error:
                raise UsageError(f"{spelled.format(option)}: {error}") from error
    return taken


def taking(options: Callable[P, Any]) -> Callable[[Callable[[dict[str, Any]], R]], Callable[P, R]]:
    """A decorator: the function takes the arguments that a dataclass of options takes.

    Its signature for callers, type checkers and editors is the class's, and its docstring describes
    each option. The function itself is called with what is given, by name.
    """

    def with_options(function: Callable[[dict[str, Any]], R]) -> Callable[P, R]:
        signature = _plain_signature(options)

        @wraps(function)
        def call(*arguments: P.args, **given: P.kwargs) -> R:
            try:
                bound = signature.bind(*arguments, **given)
            except TypeError as error:
                raise TypeError(
                    f"{function.__name__}() {error}{_meant(given, signature)}"
                ) from None
            return function(dict(bound.arguments))

        told = inspect.getdoc(function) or ""
        call.__doc__ = told.replace("Raises:", f"Args:\n{_described(options)}\n\nRaises:", 1)
        call.__signature__ = signature.replace(  # type: ignore[attr-defined]  # of callers
            return_annotation=inspect.signature(function).return_annotation
        )
        return call

    return with_options


def _meant(given: Mapping[str, Any], signature: inspect.Signature) -> str:
    """How an error about arguments goes on: with what a name that is none may have meant."""
    unknown = [name for name in given if name not in signature.parameters]
    near = nearest(unknown[0], signature.parameters) if unknown else None
    return f"; did you mean {near}?" if near else ""


def _plain_signature(options: Callable[..., Any]) -> inspect.Signature:
    """The signature of a class of options, without what is declared of them."""
    hints = get_type_hints(options)
    signature = inspect.signature(options)
    return signature.replace(
        parameters=[
            each.replace(annotation=hints[name]) for name, each in signature.parameters.items()
        ]
    )


def _described(options: Any) -> str:
    """The options in the form of a docstring's ``Args``."""
    lines = []
    for option in declared_by(options).values():
        line = f"{option.name}: {option.words_in_python}."
        lines += textwrap.wrap(
            line, 96, initial_indent="    ", subsequent_indent="        ", break_on_hyphens=False
        )
    return "\n".join(lines)
