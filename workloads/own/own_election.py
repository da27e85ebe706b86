"""Any object that campaigns, or that runs a function while it leads, as an election.

Either ``campaign(timeout)`` and ``resign()`` (or ``acquire`` and ``release``), and, if it has that,
``leading``; they are read as those of a lock (``own_lock``). Or ``run(function)``, which calls the
function once it leads and leads until the function returns, as kazoo's election does: it runs on a
thread of its own; a candidacy whose time is over is ended by ``cancel()``, if there is that.

Leaders are observed only if the object has both ``acknowledge()`` and ``leader(timeout)``, as the
elections here have them (docs/recipes/election.md).
"""

import threading
from collections.abc import Callable
from typing import Any, Final

from rumpus.harness.clients.patient_call import PatientCall, StillRunning
from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.promises import ACKNOWLEDGEMENT, EXCLUSION, LEADERSHIP, Promises
from rumpus.recipes.requests.session import Session
from rumpus.workloads.own.cancelled_attempt import CancelledWay
from rumpus.workloads.own.own_lock import OwnLock
from rumpus.workloads.own.own_recipe import has, method
from rumpus.workloads.own.own_sessions import NoSession

END_S: Final = 5.0
"""How many seconds ``run`` may take to return once its function has, or it was cancelled."""


class Term:
    """One call of ``run``: candidacy, lead, end."""

    def __init__(self, own: Any, answered: Callable[[], Session | NoSession]) -> None:
        self._own = own
        self._answered = answered
        self.answer: Session | NoSession | None = None
        """The session in which the function was called; None while it has not been."""
        self._decided = threading.Event()
        self._over = threading.Event()
        self._call = PatientCall(self._run)

    def _run(self) -> None:
        try:
            self._own.run(self._lead)
        finally:
            self._decided.set()

    def _lead(self, *_: Any, **__: Any) -> None:
        self.answer = self._answered()
        self._decided.set()
        self._over.wait()

    @property
    def leads(self) -> bool:
        """Whether the function runs."""
        return self.answer is not None and self._call.running and not self._over.is_set()

    def elected_within(self, timeout: float) -> bool:
        """Whether it leads, after up to so many seconds of candidacy."""
        self._decided.wait(timeout)
        return self.leads

    def end(self, patience: float) -> None:
        """Resign, or end the candidacy.

        Raises:
            StillRunning: ``run`` has not returned within ``patience`` seconds.
            Exception: what ``run`` has raised.
        """
        self._over.set()
        if self._call.running and self.answer is None and hasattr(self._own, "cancel"):
            self._own.cancel()
        self._call.result(patience)


class OwnElection(OwnLock):
    """See the module."""

    ways = (
        (
            method("campaign(timeout) -> bool", "acquire"),
            method("resign()", "release"),
        ),
        (method("run(function)"),),
    )
    enter_names = ("campaign", "acquire")
    leave_names = ("resign", "release")
    belief_names = ("leading", "is_leader", "held")

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._term: Term | None = None

    @classmethod
    def usual_of(cls, factory: Any) -> Promises:
        """Exclusion and liveness; what observers see only if there is something to see."""
        seen = ACKNOWLEDGEMENT if _observable(factory) else frozenset()
        return Promises(prevents=EXCLUSION | LEADERSHIP | seen)

    @classmethod
    def derived(cls, factory: Any, promises: Promises) -> list[str]:
        """As for locks; and whether leaders are observed."""
        return [*super().derived(factory, promises), *_unobserved(factory)]

    @classmethod
    def unseen_on_services(cls, factory: Any) -> frozenset[str]:
        """As of locks; and what of observers takes ZooKeeper's logs."""
        return super().unseen_on_services(factory) | {"false-observation", "lost-acknowledgement"}

    @classmethod
    def derived_on_services(cls, factory: Any, promises: Promises) -> list[str]:
        """The same."""
        return [*super().derived_on_services(factory, promises), *_unobserved(factory)]

    @classmethod
    def attributes_of(cls, factory: Any) -> dict[str, Any]:
        """``leader``, where leaders are observed: the workload looks whether the class has it."""
        seen = {"leader": _leader} if _observable(factory) else {}
        return {**super().attributes_of(factory), **seen, "cancellable": has(factory, "cancel")}

    @classmethod
    def implied(cls, factory: Any) -> list[str]:
        """As of locks; and that a ``run`` that is not cancelled waits for its turn."""
        early = has(factory, "cancel") and not has(factory, *cls.enter_names)
        return [*super().implied(factory), *["early-timeout"] * early]

    def acquire_until_cancelled(self, timeout: float, way: CancelledWay) -> bool:
        """As of locks; a candidacy by ``run`` is always ended so."""
        if any(hasattr(self.own, name) for name in self.enter_names):
            return super().acquire_until_cancelled(timeout, way)
        return self.acquire(timeout)

    def campaign(self, timeout: float) -> bool:
        """Whether it leads; errors as of locks."""
        return self.acquire(timeout)

    def resign(self) -> None:
        """Give up the lead, or the candidacy; errors as of locks."""
        self.release()

    @property
    def leading(self) -> bool:
        """Whether it believes that it leads."""
        return self.held and (self._term is None or self._term.leads)

    def acknowledge(self) -> None:
        """Have the object acknowledge that it leads.

        Raises:
            NotHeld: it has no such method.
        """
        if not hasattr(self.own, "acknowledge"):
            raise NotHeld(f"{self.path}: it cannot acknowledge")
        self.translated(self.own.acknowledge)()

    def enter_own(self, timeout: float) -> bool:
        """Have the object campaign, or run."""
        if any(hasattr(self.own, name) for name in self.enter_names):
            return super().enter_own(timeout)
        self._end_term(timeout)
        term = self._term = Term(self.own, super().answered)
        if term.elected_within(timeout):
            return True
        self._end_term(END_S)
        return False

    def answered(self) -> Session | NoSession:
        """As of locks; if it runs a function, the session in which that was called."""
        term = self._term
        return super().answered() if term is None or term.answer is None else term.answer

    def leave_own(self) -> None:
        """Have the object resign, or its run end."""
        if any(hasattr(self.own, name) for name in self.leave_names):
            super().leave_own()
        elif self._term is None:
            raise NotHeld(f"{self.path}: there is no candidacy")
        else:
            self._end_term(END_S)

    def _end_term(self, patience: float) -> None:
        if self._term is None:
            return
        try:
            self._term.end(patience)
        except StillRunning:
            raise LockUnknown(f"{self.path}: its run has not returned yet") from None
        except Exception:
            self._term = None
            raise
        self._term = None


def _unobserved(factory: Any) -> list[str]:
    if _observable(factory):
        return []
    return ["It has not both `acknowledge` and `leader`: nobody observes who leads."]


def _observable(factory: Any) -> bool:
    return has(factory, "leader") and has(factory, "acknowledge")


def _leader(self: OwnElection, timeout: float) -> Any:
    return self.translated(self.own.leader)(timeout)
