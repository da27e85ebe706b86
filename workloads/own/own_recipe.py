"""The base of adapters: an object of another repository, with the interface of a family.

A recipe is named by a reference, ``package.module:Name``. ``Name`` is a class or a function that is
called with a kazoo client and a path. It may take more, by these names: ``name`` or ``identifier``
(the client's name), ``hosts`` (the servers' addresses, for clients that it makes itself), and what
the family says (docs/how-to/own-recipes.md). What it lacks, an adapter derives or leaves out; the
promises' ``notes`` say which. Attributes of the class that are read:

- ``promises``: what it promises, a ``Promises`` or a collection of names (``promise_names``);
- ``line``: a static or class method, path -> ``Line``: which znodes its contenders have.

A recipe that lives on services (``--service``) gets None in place of the kazoo client, and
``services``, name -> ``host:port`` of this client's links. It is read besides:

- ``outcome_unknown``: exceptions, besides ``OSError``, that leave an outcome unknown.
"""

import inspect
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, ClassVar, Final, NamedTuple, Self

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError

from rumpus.checker.nearest_name import nearest
from rumpus.recipes.outcomes import OutcomeUnknown
from rumpus.recipes.promises import Line, Promises
from rumpus.recipes.requests.session import Session
from rumpus.recipes.servers import ZOOKEEPER, Servers
from rumpus.workloads.own.own_sessions import NoSession, askers
from rumpus.workloads.own.promise_names import with_names
from rumpus.workloads.own.references import NotFound
from rumpus.workloads.own.tolerant_calls import (
    HOSTS,
    NAMES,
    SERVICES,
    TIMEOUTS,
    accepted,
    place_of,
    succeeded,
)

ONLY_IF_PROMISED: Final = frozenset(
    {
        "early-timeout", "false-reentry", "herd", "overdue-call", "refused-reentry",
        "token-regression", "unaware-holder", "unbelieving-holder", "unfair-grant",
        "unheld-release",
    }
)  # fmt: skip
"""What is not judged unless its author promises it: plain code on kazoo has no timeouts that hold
while no server answers, no tokens, and no order, and learns late of the end of its session. To
release what one does not hold is an error in some libraries, and nothing in others."""


NOT_ON_SERVICES: Final = frozenset(
    {
        "double-grant", "false-census", "false-reentry", "false-release", "herd",
        "refused-reentry", "stale-belief",
        "unaware-holder", "unbelieving-holder", "unfair-grant",
    }
)  # fmt: skip
"""What cannot be judged where the servers are the user's: it takes ZooKeeper's logs, sessions or
znodes."""


class Method(NamedTuple):
    """A method that a family calls: the names that it may have, and how it is called."""

    names: tuple[str, ...]
    signature: str


def method(signature: str, *more: str) -> Method:
    """A method with this signature, as it is called first; ``more``: other names it may have."""
    return Method((signature.partition("(")[0], *more), signature)


class OwnRecipe:
    """A recipe of a family, made from a user's class or function.

    Calls and attributes that a subclass does not define go to the user's object. Errors of kazoo
    become ``OutcomeUnknown``; other errors that the object raises end the client's session.

    Attributes:
        factory: makes the user's object.
        promises: what is judged.
        usual: what a recipe of the family promises if it does not say; None: what all of the
            family's own recipes promise, without ``ONLY_IF_PROMISED``.
        ways: the methods that the family needs, in one way or another: an object that has all
            methods of one way will do.
        further: for each argument after client and path: the names that it may have.
        answers: exceptions by which a request is refused for certain; they are not translated.
        lives_on_services: whether a recipe of the family may live on services.
        system: what its servers are (``recipes.servers``).
    """

    factory: ClassVar[Callable[..., Any]]
    promises: ClassVar[Promises]
    usual: ClassVar[Promises | None] = None
    ways: ClassVar[Sequence[Sequence[Method]]] = ()
    further: ClassVar[Sequence[Sequence[str]]] = ()
    answers: ClassVar[tuple[type[Exception], ...]] = ()
    lives_on_services: ClassVar[bool] = False
    system: ClassVar[str] = ZOOKEEPER

    def __init__(
        self, client: KazooClient | Servers, path: str, *more: Any, **options: Any
    ) -> None:
        self.services = client.services if isinstance(client, Servers) else None
        self.client: Any = client if self.services is None else None
        self.path = path
        self._more = more
        self._options = options
        self._made: Any = None
        self._askers = askers() if self.services is None else None
        self._began = 0
        self._idle: list[Any] = []

    @property
    def own(self) -> Any:
        """The user's object. It is made at the first call, when the client has been started."""
        if self._made is None:
            self._made = self.new_own()
        return self._made

    def new_own(self, **options: Any) -> Any:
        """Another object of the user's.

        Raises:
            TypeError: a function has made an object that lacks a method.
        """
        factory = type(self).factory
        values = [self.client, self.path]
        given = {**self._addresses(), **self._options, **options}
        by_name = accepted(factory, given)
        name = given.get("name")
        if name is not None and not set(NAMES) & by_name.keys():
            by_name |= accepted(factory, {"identifier": name})
        for number, value in enumerate(self._more):
            names = self.further[number] if number < len(self.further) else ()
            place = place_of(factory, names, len(values))
            if isinstance(place, str):
                by_name[place] = value
            elif place is not None:
                values.append(value)
        made = factory(*values, **by_name)
        if missing := self.missing(made):
            raise TypeError(f"it is a {type(made).__name__}, which lacks {missing}")
        return made

    def _addresses(self) -> dict[str, Any]:
        """Where the servers are, by the name of the parameter that takes it."""
        if self.services is not None:
            return {SERVICES: dict(self.services)}
        return {HOSTS: ",".join(f"{host}:{port}" for host, port in self.client.hosts)}

    @property
    def unknowns(self) -> tuple[type[BaseException], ...]:
        """Exceptions that leave the outcome of a call unknown: of the library that it speaks by."""
        if self.services is None:
            return (KazooException,)
        told = (type(self).factory, self._made)
        return (OSError, *(error for each in told for error in _declared_unknown(each)))

    def begin_asking(self) -> None:
        """A call of the object begins that may be granted something."""
        self._began = 0 if self._askers is None else self._askers.now

    def answering(self) -> KazooClient:
        """The client in whose session the call was answered, see ``own_sessions``."""
        assert self._askers is not None, "services have no sessions"
        return self._askers.answering(self.client, self._began)

    def answered(self) -> Session | NoSession:
        """The session in which the object has just said yes; of services a stand-in.

        It may have gone through several before it did. What its client was told of these came
        before the answer, so it takes nothing back.
        """
        return NoSession() if self.services is not None else Session(self.answering())

    @contextmanager
    def lent(self) -> Iterator[Any]:
        """An object of the user's that no other call uses meanwhile; a new one if all are in use.

        For families in which a call may be given up, and goes on while others follow.
        """
        lent = self._idle.pop() if self._idle else self.new_own()
        try:
            yield lent
        finally:
            self._idle.append(lent)

    def __getattr__(self, name: str) -> Any:
        """What this adapter does not define is the user's object's.

        ``remaining`` is asked for on kazoo's connection thread, too, where the object must not be
        made: its constructor may send requests, whose answers that thread would have to read.
        """
        if name.startswith("_") or (name == "remaining" and self._made is None):
            raise AttributeError(name)
        try:
            value = getattr(self.own, name)
        except self.answers:
            raise
        except (*self.unknowns, *TIMEOUTS) as error:
            raise OutcomeUnknown(f"{type(error).__name__}: {error}") from error
        return self.translated(value) if callable(value) else value

    def translated(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method of the user's object, whose errors of kazoo are ``OutcomeUnknown``.

        It is called without the options that it does not take.
        """

        def call(*arguments: Any, **options: Any) -> Any:
            try:
                return method(*arguments, **accepted(method, options))
            except self.answers:
                raise
            except (*self.unknowns, *TIMEOUTS) as error:
                raise OutcomeUnknown(f"{type(error).__name__}: {error}") from error

        return call

    def waited(self, method: Callable[..., Any], call: Callable[[], Any]) -> bool:
        """Whether a wait succeeded: by its answer, or by an exception for timeouts.

        Raises:
            OutcomeUnknown: kazoo raised an error.
        """
        try:
            return succeeded(method, call())
        except TIMEOUTS:
            return False
        except self.unknowns as error:
            raise OutcomeUnknown(f"{type(error).__name__}: {error}") from error

    @classmethod
    def line(cls, path: str) -> Line | None:
        """What the user's class says; else nobody knows where its contenders queue."""
        own: Callable[[str], Line] | None = getattr(cls.factory, "line", None)
        return cls.assumed_line(path) if own is None else own(path)

    @classmethod
    def assumed_line(cls, path: str) -> Line | None:  # noqa: ARG003 - for subclasses
        """The line of a recipe that does not say; None in families whose clients do not queue."""
        return None

    @classmethod
    def of(
        cls,
        factory: Any,
        reference: str,
        usual: Promises,
        promised: Sequence[str] = (),
        kinds: Collection[str] = frozenset(),
    ) -> type[Self]:
        """The recipe's class; arguments and errors are those of ``promises_of``."""
        return cls.promising(factory, cls.promises_of(factory, reference, usual, promised, kinds))

    @classmethod
    def promises_of(
        cls,
        factory: Any,
        reference: str,
        usual: Promises,
        promised: Sequence[str] = (),
        kinds: Collection[str] = frozenset(),
        *,
        services: bool = False,
    ) -> Promises:
        """What is judged of a recipe that a user's class or function makes.

        Args:
            factory: the user's class or function.
            reference: its name, for messages.
            usual: what all of the family's own recipes promise.
            promised: names of further promises.
            kinds: the kinds of anomaly that there are besides those of rumpus.
            services: whether it lives on services.

        Raises:
            NotFound: it cannot be called, or lacks a method that the family needs.
            ValueError: a promise is unknown.
        """
        if not callable(factory):
            raise NotFound(f"{reference} is no class and no function, so it makes no recipe")
        missing = cls.missing(factory) if inspect.isclass(factory) else ""
        if missing:
            called = re.search(r"\w+", missing)
            public = [name for name in dir(factory) if not name.startswith("_")]
            if called and (near := nearest(called[0], public)):
                raise NotFound(f"{reference} lacks {missing}; it has `{near}`")
            raise NotFound(
                f"{reference} lacks {missing}: write a class of a few lines that has it and calls "
                "yours, and name that one (docs/how-to/own-recipes.md)"
            )
        promises = cls._promised(factory, usual, promised, kinds, services=services)
        derived = (
            cls.derived_on_services(factory, promises)
            if services
            else cls.derived(factory, promises)
        )
        return replace(promises, notes=" ".join([promises.notes, *derived]).strip())

    @classmethod
    def promising(cls, factory: Any, promises: Promises) -> type[Self]:
        """The recipe's class, of a user's class or function whose promises are known."""
        return type(
            f"{cls.__name__}Of{getattr(factory, '__name__', 'Object')}",
            (cls,),
            {
                "factory": staticmethod(factory),
                "promises": promises,
                **cls.attributes_of(factory),
            },
        )

    @classmethod
    def _promised(
        cls,
        factory: Any,
        usual: Promises,
        promised: Sequence[str],
        kinds: Collection[str],
        *,
        services: bool,
    ) -> Promises:
        declared: Promises | str | Collection[str] | None = getattr(factory, "promises", None)
        away = cls.unseen_on_services(factory) if services else frozenset()
        if isinstance(declared, Promises):
            promises = with_names(declared, promised, kinds)
            return replace(promises, prevents=promises.prevents - away)
        names = declared.split(",") if isinstance(declared, str) else list(declared or ())
        base = cls.usual_of(factory) or Promises(prevents=usual.prevents - ONLY_IF_PROMISED)
        always = ["unexpected-error", *cls.implied(factory)]
        promises = with_names(base, [*always, *names, *promised], kinds)
        away |= cls.unseen(factory, promises)
        promises = replace(promises, prevents=promises.prevents - away)
        said = ", ".join([*names, *promised])
        what = f"It promises {said}." if said else "It does not say what it promises."
        notes = f"{what} Judged: {', '.join(sorted(promises.prevents))}."
        return replace(promises, notes=notes)

    @classmethod
    def usual_of(cls, factory: Any) -> Promises | None:  # noqa: ARG003 - for subclasses
        """See ``usual``; of this class or function."""
        return cls.usual

    @classmethod
    def implied(cls, factory: Any) -> list[str]:  # noqa: ARG003 - for subclasses
        """What is judged besides because the class or function has further methods."""
        return []

    @classmethod
    def unseen(cls, factory: Any, promises: Promises) -> frozenset[str]:  # noqa: ARG003 - likewise
        """Anomalies that nobody could see in this class or function, so they are not judged."""
        return frozenset()

    @classmethod
    def derived(cls, factory: Any, promises: Promises) -> list[str]:  # noqa: ARG003 - for subclasses
        """What is derived for this class or function, or left out, in sentences."""
        return []

    @classmethod
    def unseen_on_services(cls, factory: Any) -> frozenset[str]:
        """Anomalies that nobody could see where it lives on services."""
        return NOT_ON_SERVICES if has(factory, "left") else NOT_ON_SERVICES | {"orphan-node"}

    @classmethod
    def derived_on_services(cls, factory: Any, promises: Promises) -> list[str]:  # noqa: ARG003
        """What is derived where it lives on services, or left out, in sentences."""
        unseen = ", ".join(sorted(cls.unseen_on_services(factory)))
        how = "by what its clients believe and do, never by a session or a server's log"
        return [f"It lives on services (--service): it is judged {how}. Not judged: {unseen}."]

    @classmethod
    def missing(cls, kind: Any) -> str:
        """What a class, or an object, lacks and the family needs, in words; empty if nothing."""
        if hasattr(kind, "__getattr__"):  # it may have anything
            return ""
        lacking = [
            [each for each in way if not any(_has(kind, name) for name in each.names)]
            for way in cls.ways
        ]
        if not all(lacking):
            return ""
        ways = [" and ".join(map(_in_words, way)) for way in sorted(lacking, key=len)]
        return "; or ".join(dict.fromkeys(ways))

    @classmethod
    def attributes_of(cls, factory: Any) -> dict[str, Any]:  # noqa: ARG003 - for subclasses
        """Class attributes that the workload reads, taken from the user's class or derived."""
        return {}


def catch_up(client: KazooClient, path: str, timeout: float) -> None:
    """Send a write without effect: after it the client's reads show all that was committed before.

    Raises what kazoo raises.
    """
    with suppress(NoNodeError):
        client.delete_async(f"{path}/none").get(timeout=timeout)


def _declared_unknown(thing: Any) -> tuple[type[BaseException], ...]:
    """What a class, a function or an object declares as ``outcome_unknown``."""
    told = getattr(thing, "outcome_unknown", ())
    return tuple(told) if isinstance(told, tuple | list) else (told,)


def is_of_kazoo(factory: Any) -> bool:
    """Whether it is a class of kazoo's recipes, of which it is known where their nodes are."""
    return getattr(factory, "__module__", "").startswith("kazoo.recipe.")


def has(factory: Any, *names: str) -> bool:
    """Whether a class has one of these attributes. Of a function nobody knows: it has not."""
    return any(_has(factory, name) for name in names)


def _has(kind: Any, name: str) -> bool:
    """Whether an object has an attribute; or a class, or its ``__init__`` sets it."""
    if hasattr(kind, name):
        return True
    if not inspect.isclass(kind):
        return False
    for owner in kind.__mro__:
        code = getattr(vars(owner).get("__init__"), "__code__", None)
        if code is not None and name in code.co_names:
            return True
    return False


def _in_words(method: Method) -> str:
    others = " or ".join(f"`{name}`" for name in method.names[1:])
    return f"`{method.signature}`" + (f" (or {others})" if others else "")
