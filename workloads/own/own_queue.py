"""Any object with ``put``, and ``take`` or ``get``, as a queue.

Elements are bytes. ``take(timeout)`` (or ``get``) removes one, and returns it, or None. One that
takes no ``timeout`` and returns None at once is called again until the time is over. Elements are
claimed first if there is ``claim(timeout)``, which returns an object with ``acknowledge()``,
``release()`` and ``element``; or if there are ``consume()`` (or ``acknowledge()``) and
``release()`` for what the last ``get`` returned, as in kazoo's ``LockingQueue``.

Calls that do not return are given up and go on; the next operation waits for them first. An element
that such a call returns has been taken, but by no operation that could say so: the next operation
reports it as of unknown outcome, and a claim is given back.

Several elements are put at once, all or none, if there is ``put_all(elements)``. How many there are
is asked if there is ``len()``; before, a write without effect is sent, so that no server that lags
answers.

Attributes of the class: ``delivery`` (``at-most-once``, ``at-least-once``), ``sees_empty`` (None
means that the queue was empty at some moment of the call; else it says nothing), ``elements`` and
``claims`` (static methods, path -> the znode whose children they are).
"""

import time
from collections.abc import Callable
from typing import Any, Final, Literal

from kazoo.exceptions import KazooException

from rumpus.harness.clients.leftovers import Node, children_of, ephemerals_below, nodes_at
from rumpus.harness.clients.patient_call import PatientCall, StillRunning
from rumpus.recipes.outcomes import ClaimLost, NotDone
from rumpus.recipes.promises import Promises
from rumpus.recipes.queue.interfaces import Delivery, QueueUnknown
from rumpus.workloads.own.own_recipe import (
    Method,
    OwnRecipe,
    catch_up,
    has,
    is_of_kazoo,
    method,
)
from rumpus.workloads.own.tolerant_calls import TIMEOUTS, call, first, succeeded, takes

OVERDUE_S: Final = 3.0
"""By how many seconds a call may run over its timeout before it is given up."""

BETWEEN_S: Final = 0.02
"""Seconds from one call to the next of a ``take`` that does not wait."""

REQUEST_S: Final = 5.0

PUT = method("put(element)", "enqueue")
TAKE = method("take(timeout) -> bytes | None", "get", "dequeue")
CLAIM = method("claim(timeout) -> claim | None")
PUT_ALL = method("put_all(elements)")
FINISH = ("acknowledge", "consume", "ack", "complete")
GIVE_BACK = ("release", "give_back")


class OwnClaim:
    """What was claimed. ``subject`` has the methods that end the claim."""

    node = None

    def __init__(self, queue: "OwnQueue", element: bytes, subject: Any) -> None:
        self._queue = queue
        self.element = element
        self._subject = subject

    def acknowledge(self, timeout: float) -> None:
        """Remove the element for good.

        Raises:
            ClaimLost: the object says no.
            QueueUnknown: kazoo raised an error, or the call does not return.
        """
        self._queue.end(self._subject, FINISH, timeout)

    def release(self, timeout: float) -> None:
        """Give the element back; errors are those of ``acknowledge``."""
        self._queue.end(self._subject, GIVE_BACK, timeout)


class OwnQueue(OwnRecipe):
    """See the module."""

    ways = ((PUT, TAKE), (PUT, CLAIM))
    delivery: Delivery = "at-most-once"
    sees_empty = False
    puts_all = False
    has_size = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._running: PatientCall[Any] | None = None
        self._takes = False

    @classmethod
    def missing(cls, kind: Any) -> str:
        """As in every family; and a way to give a claim back, if there is one to end it."""
        if has(kind, *FINISH) and not has(kind, "claim", *GIVE_BACK):
            return f"`{GIVE_BACK[0]}()`, by which a claim is given back"
        return super().missing(kind)

    @classmethod
    def attributes_of(cls, factory: Any) -> dict[str, Any]:
        """How elements are delivered, and whether None means that the queue was empty."""
        claims = has(factory, "claim", *FINISH)
        usual: Literal["at-least-once", "at-most-once"] = (
            "at-least-once" if claims else "at-most-once"
        )
        return {
            "delivery": getattr(factory, "delivery", usual),
            "sees_empty": bool(getattr(factory, "sees_empty", False)),
            "puts_all": has(factory, *PUT_ALL.names),
            "has_size": has(factory, "__len__"),
        }

    @classmethod
    def derived(cls, factory: Any, promises: Promises) -> list[str]:  # noqa: ARG003 - the base's
        """How elements are taken to be delivered."""
        how = cls.attributes_of(factory)
        notes = [] if has(factory, "delivery") else [f"Elements are delivered {how['delivery']}."]
        if not how["sees_empty"]:
            notes.append("That it found nothing is not judged: a server may lag.")
        return notes

    @classmethod
    def implied(cls, factory: Any) -> list[str]:
        """That it tells its true length, if it has one."""
        return ["false-census"] if has(factory, "__len__") else []

    def put(self, element: bytes, timeout: float, *, priority: int | None = None) -> None:
        """Put an element.

        Raises:
            QueueUnknown: kazoo raised an error, or the call does not return.
            NotDone: an earlier call has not returned yet.
        """
        self._put(PUT, element, timeout, priority)

    def put_all(
        self, elements: list[bytes], timeout: float, *, priority: int | None = None
    ) -> None:
        """Put several elements, all or none; errors are those of ``put``."""
        self._put(PUT_ALL, elements, timeout, priority)

    def _put(self, way: Method, what: Any, timeout: float, priority: int | None) -> None:
        put = first(self.own, way.names)
        options = {} if priority is None else {"priority": priority}
        self._patiently(lambda: call(put, what, timeout=timeout, **options), timeout)

    def size(self) -> int:
        """How many elements there are, claimed ones too.

        Raises:
            KazooException: what the object raised, or the write before it.
        """
        catch_up(self.client, self.path, REQUEST_S)
        return len(self.own)

    def take(self, timeout: float) -> bytes | None:
        """Take an element; None if none was found. Errors are those of ``put``."""
        return self._element(self._patiently(lambda: self._take(timeout), timeout, takes=True))

    def claim(self, timeout: float) -> OwnClaim | None:
        """Claim an element; None if none was found. Errors are those of ``put``."""
        return self._claimed(self._patiently(lambda: self._take(timeout), timeout, takes=True))

    def end(self, subject: Any, names: tuple[str, ...], timeout: float) -> None:
        """End a claim; see ``OwnClaim.acknowledge``."""
        finish = first(subject, names)
        told = self._patiently(lambda: call(finish, timeout=timeout), timeout)
        if not succeeded(finish, told):
            raise ClaimLost(f"{self.path}: it says that the claim is lost")

    @classmethod
    def folders(cls, path: str) -> list[str]:
        """The znodes whose children are elements or claims; none where nobody says which."""
        own = cls.factory
        if is_of_kazoo(own):  # a LockingQueue names its folders below the path
            return list(
                dict.fromkeys(path + getattr(own, each, "") for each in ("entries", "lock"))
            )
        said = [getattr(own, name)(path) for name in ("elements", "claims") if has(own, name)]
        return [folder for folder in said if folder is not None]

    def left(self) -> tuple[list[str], list[Node]]:
        """The paths of the elements' nodes that are there, and the nodes of claims.

        Where the class does not say where elements are, they are the persistent nodes with data
        below the path, and claims the ephemeral ones. Raises what kazoo raises.
        """
        factory = type(self).factory
        elements, claims = getattr(factory, "elements", None), getattr(factory, "claims", None)
        folder = claims(self.path) if claims is not None else None
        if elements is not None:
            nodes = nodes_at(self.client, children_of(self.client, folder)) if folder else []
            return children_of(self.client, elements(self.path)), nodes
        nodes = ephemerals_below(self.client, self.path)
        return _filled(self.client, self.path, {node["path"] for node in nodes}), nodes

    def _take(self, timeout: float) -> Any:
        """What the object gives; asked again and again if it does not wait."""
        names = (*CLAIM.names, *TAKE.names) if self.delivery == "at-least-once" else TAKE.names
        take = first(self.own, names)
        deadline = time.monotonic() + timeout
        while True:
            try:
                found = call(take, timeout=timeout)
            except TIMEOUTS:
                return None
            if found is not None or takes(take, "timeout") or time.monotonic() >= deadline:
                return found
            time.sleep(BETWEEN_S)

    def _patiently(
        self, function: Callable[[], Any], timeout: float, *, takes: bool = False
    ) -> Any:
        """A call's answer; it is given up when it takes ``OVERDUE_S`` too long."""
        self._end_earlier(timeout)
        self._running, self._takes = PatientCall(function), takes
        try:
            answer = self._running.result(timeout + OVERDUE_S)
        except StillRunning:
            raise QueueUnknown(f"{self.path}: it has not returned yet") from None
        except (KazooException, *TIMEOUTS) as error:
            self._running = None
            raise QueueUnknown(f"{type(error).__name__}: {error}") from error
        except Exception:
            self._running = None
            raise
        self._running = None
        return answer

    def _end_earlier(self, timeout: float) -> None:
        """Wait for a call that was given up, and give account of the element that it got."""
        if self._running is None:
            return
        try:
            late = self._running.result(timeout)
        except StillRunning:
            raise NotDone("an earlier call has not returned yet") from None
        except (KazooException, *TIMEOUTS):
            late = None  # the operation that made the call has reported an unknown outcome
        self._running = None
        if late is None or not self._takes:
            return
        if self.delivery == "at-least-once":
            claim = self._claimed(late)
            assert claim is not None, "it returned something"
            claim.release(REQUEST_S)
            raise QueueUnknown("a call that was given up claimed it, and gave it back")
        raise QueueUnknown("a call that was given up took it", self._element(late))

    def _claimed(self, found: Any) -> OwnClaim | None:
        if found is None:
            return None
        subject = found if any(hasattr(found, name) for name in FINISH) else self.own
        element = self._element(getattr(found, "element", found))
        assert element is not None, "something was found"
        return OwnClaim(self, element, subject)

    @staticmethod
    def _element(found: Any) -> bytes | None:
        return found.encode() if isinstance(found, str) else found


def _filled(kazoo: Any, top: str, without: set[str]) -> list[str]:
    """The nodes with data below a path."""
    found, folders = [], [top]
    while folders:
        paths = children_of(kazoo, folders.pop())
        folders += paths
        for path in paths:
            stat = kazoo.exists_async(path).get(timeout=REQUEST_S)
            if stat is not None and stat.dataLength and path not in without:
                found.append(path)
    return found
