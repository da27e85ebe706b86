"""Lets a mutant tell when it makes its mistake, to whoever wants to know.

A failure can only be explained to a user if it is known which client's act caused it, and when.
Mutants know: each calls ``made`` where it acts otherwise than the sound recipe would. Nobody
listens in an ordinary run, and ``made`` does nothing then.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple, TypeVar

Kind = TypeVar("Kind")


class Mistake(NamedTuple):
    """A mistake, as it is told.

    Attributes:
        about: what it is about: znodes' paths, elements, transactions.
        lasting: whether it is told again for as long as it lasts, as a wrong belief is. Then a
            client's mistakes about the same are one, made at the first time.
        own: whether it can only harm the client that makes it, as a stale read does.
    """

    about: tuple[object, ...]
    lasting: bool
    own: bool


Unless = Callable[[], bool]
"""Whether the sound recipe would act the same. It may read clocks, and changes nothing."""

Listener = Callable[[Mistake, Unless | None], object]
"""Called in the process and the thread that make the mistake; it is none if ``Unless`` is true."""

_listeners: Final[list[Listener]] = []


def made(
    *about: object, lasting: bool = False, own: bool = False, unless: Unless | None = None
) -> None:
    """Tell the listener, if there is one, that the mistake is made now.

    Call it where the sound recipe would do something else: before a wrong request is sent, when a
    wrong answer or belief is given, or where a step is left out.

    Args:
        *about: what it is about; see ``Mistake``.
        lasting: see there.
        own: see there.
        unless: called only if somebody listens, because to read a clock takes time in a simulated
            run; None: it is certain that the sound recipe would act otherwise.
    """
    for listener in _listeners:
        listener(Mistake(about, lasting, own), unless)


def given(answer: Kind, sound: object, *about: object) -> Kind:
    """The answer of a faulty recipe; a mistake if the sound recipe would give another.

    ``sound`` must cost nothing: no request, and no reading of a clock (see ``made``, ``unless``).
    If it says what it is about, the mistake lasts as long as the same wrong answer is given.
    """
    if answer != sound:
        made(*about, lasting=bool(about))
    return answer


@contextmanager
def heard(listener: Listener) -> Iterator[None]:
    """Let a listener hear of every mistake that is made in this real process during the block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
