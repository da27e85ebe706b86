"""Sets whose order is that of insertion, where private code says ``set`` or ``frozenset``.

The order of builtin sets depends on addresses and hash seeds, and programs let it out: kazoo
calls listeners in the order of a set. These behave as the builtin ones, for code that asks for
``isinstance(x, set)`` too, and work with builtin sets on either side of an operator.
"""

from abc import ABCMeta
from collections.abc import Callable, Iterable, Iterator, MutableSet
from collections.abc import Set as AbstractSet
from functools import cache, wraps
from types import GenericAlias
from typing import Any, Self

_BUILTIN_SETS = (set, frozenset)
_mro_of = type.__dict__["__mro__"].__get__
_STANDS_FOR: dict[type, type] = {}
"""The builtin set of each ordered one."""


class _SetType(ABCMeta):
    """Lets builtin sets count as instances of the ordered ones, also for methods of the class.

    Derived from ``ABCMeta``, so that a class may combine a set with an abstract base class.
    """

    def __instancecheck__(cls, instance: Any) -> bool:
        kind = type(instance)
        return cls in _mro_of(kind) or (
            cls in _STANDS_FOR and issubclass(kind, _STANDS_FOR[cls])  # a builtin one
        )

    def __subclasscheck__(cls, subclass: type) -> bool:
        mro = _mro_of(subclass)
        return cls in mro or (cls in _STANDS_FOR and _STANDS_FOR[cls] in mro)


class _MethodOfClass:
    """What a class has under a method's name, such as ``set.union``; instances have their own.

    It belongs to the metaclass, and is a data descriptor: so it comes before the class's.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, cls: type, _: type) -> Any:
        for kind in _mro_of(cls):
            method = vars(kind).get(self._name)
            if method is not None:
                plain = method.__get__(None, cls)
                if cls in _STANDS_FOR:
                    return _for_builtin_sets_too(cls, self._name, plain)
                return plain
        raise AttributeError(f"type object {cls.__name__!r} has no attribute {self._name!r}")

    def __set__(self, cls: type, _: object) -> None:
        raise AttributeError(f"cannot set {self._name!r} of {cls.__name__!r}")


@cache
def _for_builtin_sets_too(cls: type, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a class of ordered sets that also works on the builtin sets it stands for.

    What it returns is ordered: from then on by insertion, though a builtin set came into it in an
    order of its own. What changes a set changes the builtin one.
    """
    builtin = _STANDS_FOR[cls]
    changes = hasattr(builtin, name) and not hasattr(frozenset, name)

    @wraps(method)
    def call(self: Any, /, *arguments: Any, **keywords: Any) -> Any:
        if not issubclass(type(self), builtin):
            return method(self, *arguments, **keywords)
        if changes:
            return getattr(builtin, name)(self, *arguments, **keywords)
        return method(cls(self), *arguments, **keywords)

    return call


def _is_set(value: object) -> bool:
    kind = type(value)
    return issubclass(kind, _AnyOrderedSet) or issubclass(kind, _BUILTIN_SETS)


class _AnyOrderedSet(metaclass=_SetType):
    """What both kinds have in common. Elements are the keys of a dict."""

    __slots__ = ("__weakref__", "_elements")

    _elements: dict[Any, None]

    __class_getitem__: Any = classmethod(GenericAlias)

    def __contains__(self, element: object) -> bool:
        return element in self._elements

    def __iter__(self) -> Iterator[Any]:
        return iter(self._elements)

    def __len__(self) -> int:
        return len(self._elements)

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}({list(self._elements)!r})" if self._elements else f"{name}()"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (list(self._elements),)

    def _made_of(self, elements: dict[Any, None]) -> Self:
        made = object.__new__(type(self))
        made._elements = elements
        return made

    # -- comparison -----------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not (_is_set(other) or isinstance(other, AbstractSet)):
            return NotImplemented
        return len(self._elements) == len(other) and self.issubset(other)  # type: ignore[arg-type]

    __hash__: Any = None  # frozen sets have one

    def __le__(self, other: Any) -> bool:
        return self.issubset(other) if isinstance(other, AbstractSet) else NotImplemented

    def __lt__(self, other: Any) -> bool:
        if not isinstance(other, AbstractSet):
            return NotImplemented
        return len(self._elements) < len(other) and self.issubset(other)

    def __ge__(self, other: Any) -> bool:
        return self.issuperset(other) if isinstance(other, AbstractSet) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        if not isinstance(other, AbstractSet):
            return NotImplemented
        return len(self._elements) > len(other) and self.issuperset(other)

    def isdisjoint(self, other: Iterable[Any]) -> bool:
        """As ``set.isdisjoint``."""
        elements = self._elements
        return not any(element in elements for element in other)

    def issubset(self, other: Iterable[Any]) -> bool:
        """As ``set.issubset``."""
        held = _lookup(other)
        return all(element in held for element in self._elements)

    def issuperset(self, other: Iterable[Any]) -> bool:
        """As ``set.issuperset``."""
        elements = self._elements
        return all(element in elements for element in other)

    # -- new sets -------------------------------------------------------------------------

    def copy(self) -> Self:
        """As ``set.copy``."""
        return self._made_of(self._elements.copy())

    def __copy__(self) -> Self:
        return self._made_of(self._elements.copy())

    def union(self, *others: Iterable[Any]) -> Self:
        """As ``set.union``: its own elements first."""
        elements = self._elements.copy()
        for other in others:
            elements.update(dict.fromkeys(other))
        return self._made_of(elements)

    def intersection(self, *others: Iterable[Any]) -> Self:
        """As ``set.intersection``, in its own order."""
        elements = self._elements.copy()
        for other in others:
            held = _lookup(other)
            elements = {element: None for element in elements if element in held}
        return self._made_of(elements)

    def difference(self, *others: Iterable[Any]) -> Self:
        """As ``set.difference``, in its own order."""
        elements = self._elements.copy()
        for other in others:
            for element in list(other):
                elements.pop(element, None)
        return self._made_of(elements)

    def symmetric_difference(self, other: Iterable[Any]) -> Self:
        """As ``set.symmetric_difference``: its own elements first."""
        theirs = dict.fromkeys(other)
        elements = {element: None for element in self._elements if element not in theirs}
        for element in theirs:
            if element not in self._elements:
                elements[element] = None
        return self._made_of(elements)

    def __or__(self, other: Any) -> Any:
        return self.union(other) if isinstance(other, AbstractSet) else NotImplemented

    def __and__(self, other: Any) -> Any:
        return self.intersection(other) if isinstance(other, AbstractSet) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return self.difference(other) if isinstance(other, AbstractSet) else NotImplemented

    def __xor__(self, other: Any) -> Any:
        return (
            self.symmetric_difference(other) if isinstance(other, AbstractSet) else NotImplemented
        )

    # The left operand is a builtin set or a view: its order is all there is.

    def __ror__(self, other: Any) -> Any:
        return self._of(other).union(self) if isinstance(other, AbstractSet) else NotImplemented

    def __rand__(self, other: Any) -> Any:
        return self.intersection(other) if isinstance(other, AbstractSet) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return (
            self._of(other).difference(self) if isinstance(other, AbstractSet) else NotImplemented
        )

    def __rxor__(self, other: Any) -> Any:
        return (
            self.symmetric_difference(other) if isinstance(other, AbstractSet) else NotImplemented
        )

    def _of(self, iterable: Iterable[Any]) -> Self:
        return self._made_of(dict.fromkeys(iterable))


def _lookup(iterable: Iterable[Any]) -> Any:
    return iterable if isinstance(iterable, AbstractSet | dict) else dict.fromkeys(iterable)


def _in_place(update: Callable[[Any, Any], None]) -> Any:
    """The operator of an update method, for sets only: ``|=`` of ``update``, for example."""

    def operator(self: Any, other: Any) -> Any:
        if not isinstance(other, AbstractSet):
            return NotImplemented
        update(self, other)
        return self

    return operator


class OrderedSet(_AnyOrderedSet):
    """A ``set`` that remembers the order in which its elements came."""

    __slots__ = ()

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Made before ``__init__``, which a subclass may not call."""
        made = object.__new__(cls)
        made._elements = {}
        return made

    def __init__(self, iterable: Iterable[Any] = (), /) -> None:
        self._elements = dict.fromkeys(iterable)

    def add(self, element: Any) -> None:
        """As ``set.add``."""
        self._elements[element] = None

    def discard(self, element: Any) -> None:
        """As ``set.discard``."""
        self._elements.pop(element, None)

    def remove(self, element: Any) -> None:
        """As ``set.remove``."""
        del self._elements[element]

    def pop(self) -> Any:
        """As ``set.pop``: the element that came first.

        Raises:
            KeyError: there is none.
        """
        for element in self._elements:
            del self._elements[element]
            return element
        raise KeyError("pop from an empty set")

    def clear(self) -> None:
        """As ``set.clear``."""
        self._elements.clear()

    def update(self, *others: Iterable[Any]) -> None:
        """As ``set.update``."""
        for other in others:
            self._elements.update(dict.fromkeys(other))

    def intersection_update(self, *others: Iterable[Any]) -> None:
        """As ``set.intersection_update``."""
        self._elements = self.intersection(*others)._elements  # noqa: SLF001 - a new one of us

    def difference_update(self, *others: Iterable[Any]) -> None:
        """As ``set.difference_update``."""
        for other in others:
            for element in list(other):
                self._elements.pop(element, None)

    def symmetric_difference_update(self, other: Iterable[Any]) -> None:
        """As ``set.symmetric_difference_update``."""
        self._elements = self.symmetric_difference(other)._elements  # noqa: SLF001 - as above

    __ior__ = _in_place(update)
    __iand__ = _in_place(intersection_update)
    __isub__ = _in_place(difference_update)
    __ixor__ = _in_place(symmetric_difference_update)

    # For shared code that asks ``isinstance(x, set)``; C code still sees that it is none, and
    # iterates.
    __class__ = property(lambda _: set)


class OrderedFrozenSet(_AnyOrderedSet):
    """A ``frozenset`` that remembers the order of its elements."""

    __slots__ = ()

    def __new__(cls, iterable: Iterable[Any] = (), /, *_: Any, **__: Any) -> Self:
        """Immutable, so made whole."""
        if type(iterable) is cls is OrderedFrozenSet:
            return iterable
        made = object.__new__(cls)
        made._elements = dict.fromkeys(iterable)
        return made

    def __hash__(self) -> int:
        """The hash of the builtin frozen set, which it equals."""
        return hash(frozenset(self._elements))

    __class__ = property(lambda _: frozenset)


_STANDS_FOR.update({OrderedSet: set, OrderedFrozenSet: frozenset})
for _name in dir(set):
    if not _name.startswith("_"):
        setattr(_SetType, _name, _MethodOfClass(_name))
MutableSet.register(OrderedSet)
AbstractSet.register(OrderedFrozenSet)
