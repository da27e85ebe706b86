"""Any object with ``acquire`` and ``release``, driven as a lock, or as a semaphore.

What is read of the object, and what is done where it lacks it:

- ``acquire``: called with ``timeout`` if it takes that, else with no argument. A false value is a
  refusal; but None is a grant, unless the method's annotation says that it returns something.
  An exception for timeouts (``TimeoutError``, kazoo's) is a refusal, too; any other error of kazoo
  leaves the outcome unknown.
- ``release``: called after a grant, and after an unknown outcome.
- ``held``: an attribute or a method, whether it believes that it holds. Without it the client
  believes so from the moment at which ``acquire`` says yes, in whatever session that answer came.
  It ceases to when it calls ``release``, or when kazoo reports LOST after that moment. SUSPENDED
  says nothing of the grant, so a recipe that wants it heeded has ``held``. An error of kazoo is a
  no. It is asked at any moment, on kazoo's connection thread, too, so it must send no requests.
- ``token``: a number that grows from grant to grant. Without it there are no tokens.
- ``node``: the path of its own znode, or its last part. Without it the order of grants is judged
  by the ephemeral child of the lock's path that belongs to the client's session.
- ``remaining``: a method, for how many more seconds the client may believe that it holds (0 or
  less: it does not), unless that is renewed; in place of ``held``.

- ``contenders()``: the names of all contenders in their order, or ``lease_holders()``: those of the
  holders. Before it is asked, a write without effect is sent, so that no server that lags answers.
- ``cancel()``: ends a call of ``acquire`` that waits, which raises kazoo's ``CancelledError`` then.

Of an object that lives on services (``--service``), ``held`` is asked every 20 ms while the client
believes; without it the belief lasts from the grant to the release. A grant has no session.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from kazoo.exceptions import KazooException

from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.promises import EXCLUSION, LIVENESS, Line, Promises
from rumpus.recipes.requests.session import Session
from rumpus.workloads.own.cancelled_attempt import CancelledWay, cancelled_attempt
from rumpus.workloads.own.own_recipe import Method, OwnRecipe, catch_up, has, method
from rumpus.workloads.own.own_sessions import NoSession
from rumpus.workloads.own.tolerant_calls import (
    TIMEOUTS,
    attribute,
    call,
    first,
    place_of,
    succeeded,
)

REQUEST_PATIENCE_S = 2.0

CONTENDERS = ("contenders",)
HOLDERS = ("lease_holders", "holders")


class OwnLock(OwnRecipe):
    """See the module."""

    lives_on_services = True
    usual: ClassVar[Promises | None] = Promises(prevents=EXCLUSION | LIVENESS)
    ways: ClassVar[Sequence[Sequence[Method]]] = (
        (method("acquire(timeout) -> bool"), method("release()")),
    )
    enter_names: ClassVar[tuple[str, ...]] = ("acquire",)
    leave_names: ClassVar[tuple[str, ...]] = ("release",)
    belief_names: ClassVar[tuple[str, ...]] = ("held",)
    tells: ClassVar[bool] = False
    """Whether it can be asked who contends, or who holds."""
    cancellable: ClassVar[bool] = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._answer: Session | NoSession | None = None
        self.node: str | None = None
        self._in_context = False  # whether it was granted by `with`

    @classmethod
    def attributes_of(cls, factory: Any) -> dict[str, Any]:
        """Which further methods it has."""
        acquires = has(factory, *cls.enter_names)
        return {
            "tells": has(factory, *CONTENDERS, *HOLDERS),
            "cancellable": acquires and has(factory, "cancel"),
        }

    @classmethod
    def implied(cls, factory: Any) -> list[str]:
        """That it tells the truth of its contenders, and that ``cancel`` ends a wait."""
        how = cls.attributes_of(factory)
        return ["false-census"] * how["tells"] + ["overdue-call"] * how["cancellable"]

    @classmethod
    def derived(cls, factory: Any, promises: Promises) -> list[str]:
        """How the belief is told, and what of the promised order and tokens cannot be judged."""
        notes = []
        if not has(factory, *cls.belief_names):
            notes.append(
                f"It has no `{cls.belief_names[0]}`: its client is taken to believe that it holds "
                "from the grant to the release, or until kazoo reports LOST."
            )
        if not has(factory, "line") and cls.assumed_line_of(promises, "").kind == "unknown":
            notes.append(
                "It has no `line`: who owned it (double-grant) is read from the servers' logs by "
                "the znodes that its grants make."
            )
        if promises.tokens and not has(factory, "token"):
            notes.append("It has no `token`, so no tokens are judged.")
        return notes

    @classmethod
    def derived_on_services(cls, factory: Any, promises: Promises) -> list[str]:
        """How the belief is told, besides."""
        notes = super().derived_on_services(factory, promises)
        if not has(factory, *cls.belief_names, "remaining"):
            notes.append(
                f"It has neither `{cls.belief_names[0]}` nor `remaining`: its client is taken to "
                "believe that it holds from the grant to the release."
            )
        if promises.tokens and not has(factory, "token"):
            notes.append("It has no `token`, so no tokens are judged.")
        return notes

    @classmethod
    def assumed_line(cls, path: str) -> Line:
        """Children with sequence numbers where an order is promised; else nobody knows."""
        return cls.assumed_line_of(cls.promises, path)

    @classmethod
    def assumed_line_of(cls, promises: Promises, path: str) -> Line:
        """The line of a recipe with these promises that does not say where its contenders are."""
        ordered = promises.prevents & {"unfair-grant", "herd"}
        return Line(kind="sequential" if ordered else "unknown", path=path)

    @property
    def subject(self) -> Any:
        """The object that is acquired, released and asked."""
        return self.own

    def enter_own(self, timeout: float) -> bool:
        """Have the object acquire; raises what it raises."""
        enter = first(self.subject, self.enter_names)
        return succeeded(enter, call(enter, timeout=timeout))

    def leave_own(self) -> None:
        """Have the object release; raises what it raises."""
        if self._in_context:
            self.subject.__exit__(None, None, None)
        else:
            call(first(self.subject, self.leave_names), timeout=None)

    def acquire(self, timeout: float) -> bool:
        """Whether the object granted it.

        Raises:
            LockUnknown: kazoo raised an error, which does not say whether a node is left.
        """
        self._in_context = False
        return self._acquire(lambda: self.enter_own(timeout))

    def acquire_until_cancelled(self, timeout: float, way: CancelledWay) -> bool:
        """Whether the object granted it before another thread cancelled; errors as ``acquire``."""
        self._in_context = way == "with" and hasattr(self.subject, "__enter__")

        def enter() -> bool:
            if self._in_context:
                self.subject.__enter__()
                return True
            acquire = first(self.subject, self.enter_names)
            return succeeded(acquire, acquire())

        return self._acquire(lambda: cancelled_attempt(enter, self.subject.cancel, timeout))

    def cancel(self) -> None:
        """Have the object cancel, although no call waits."""
        self.translated(self.subject.cancel)()

    def census(self) -> dict[str, Any]:
        """Who contends, in their order, or who holds (``what``, ``names``).

        Raises:
            KazooException: what the object raised, or the write before it.
        """
        catch_up(self.client, self.path, REQUEST_PATIENCE_S)
        ordered = any(hasattr(self.subject, name) for name in CONTENDERS)
        names = first(self.subject, CONTENDERS if ordered else HOLDERS)()
        return {"what": "contenders" if ordered else "holders", "names": [*map(str, names)]}

    def _acquire(self, enter: Callable[[], bool]) -> bool:
        self.begin_asking()
        try:
            if not enter():
                return False
        except TIMEOUTS:
            return False
        except self.unknowns as error:
            raise LockUnknown(f"{type(error).__name__}: {error}") from error
        former, self._answer = self._answer, self.answered()
        if former is not None and former is not self._answer:
            former.close()
        self.node = self._own_node()
        return True

    def _forget(self) -> Session | NoSession | None:
        """Listen no longer to the session of the latest grant, and return it."""
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.close()
        return answer

    def release(self) -> None:
        """Have the object release.

        Raises:
            NotHeld: the session of the grant had ended; or there was no grant, and it raised.
            LockUnknown: kazoo raised an error.
        """
        answer = self._forget()
        lost = answer is not None and answer.lost
        try:
            self.leave_own()
        except (*self.unknowns, *TIMEOUTS) as error:
            raise LockUnknown(f"{type(error).__name__}: {error}") from error
        except LockUnknown:
            raise
        except Exception as error:
            if answer is not None and not lost:
                raise
            raise NotHeld(f"{self.path}: {type(error).__name__} {error}") from error
        if lost:
            raise NotHeld(f"{self.path}: the session that held it has ended")

    def close(self) -> None:
        """End what an object that lives on services has going on, if it has a ``close``."""
        if self._made is not None and callable(end := getattr(self._made, "close", None)):
            end()

    def left(self) -> list[str]:
        """What is left of contenders on services: what the object's ``left()`` says, if any."""
        told = getattr(self.own, "left", None)
        return [str(each) for each in told()] if callable(told) else []

    @property
    def session(self) -> int | None:
        """The session (signed 64 bits) in which the latest grant was answered; None if in none."""
        return None if self._answer is None else self._answer.begun_in

    @property
    def held(self) -> bool:
        """Whether the client believes that it holds; see the module."""
        if self._made is None:
            return False
        try:
            told = attribute(self.subject, self.belief_names)
        except (Exception, *TIMEOUTS):
            return False
        if told is not None:
            return bool(told)
        return self._answer is not None and not self._answer.lost

    @property
    def token(self) -> int | None:
        """The object's token; None if it has none."""
        if not self.promises.tokens:
            return None
        told = attribute(self.subject, ("token",))
        return told if isinstance(told, int) else None

    def _own_node(self) -> str | None:
        """The znode with which it was granted, where it is needed; None if it cannot be told."""
        if self.services is not None:
            return None
        told = getattr(self.subject, "node", None)
        if isinstance(told, str) and told:
            return told if told.startswith("/") else f"{self.path}/{told}"
        line = self.line(self.path)
        if self.session is None or line is None or line.kind != "sequential":
            return None
        try:
            client = self.answering()
            names = client.get_children_async(line.path).get(timeout=REQUEST_PATIENCE_S)
            for name in sorted(names, key=lambda name: name[-10:]):
                node = f"{line.path}/{name}"
                stat = client.exists_async(node).get(timeout=REQUEST_PATIENCE_S)
                if stat is not None and stat.ephemeralOwner == self.session:
                    return node
        except (KazooException, *TIMEOUTS):
            return None
        return None


class OwnSemaphore(OwnLock):
    """An object that is acquired and released as a lock is, of which some may hold at once."""

    further = (("permits", "max_leases", "limit", "leases", "permit_count", "size"),)

    @classmethod
    def derived(cls, factory: Any, promises: Promises) -> list[str]:
        """As for locks; and whether it is told how many permits there are."""
        return [*super().derived(factory, promises), *cls._untold(factory)]

    @classmethod
    def derived_on_services(cls, factory: Any, promises: Promises) -> list[str]:
        """The same."""
        return [*super().derived_on_services(factory, promises), *cls._untold(factory)]

    @classmethod
    def _untold(cls, factory: Any) -> list[str]:
        if place_of(factory, cls.further[0], 2) is not None:
            return []
        return ["It takes no number of permits: it is taken to give 2."]
