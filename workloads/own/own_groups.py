"""Any object that registers members, as a registry; any that shares parts out, as a partitioner."""

import time
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Final

from rumpus.recipes.contests.interfaces import NotHeld
from rumpus.recipes.promises import Line, Promises
from rumpus.recipes.requests.session import Session
from rumpus.workloads.own.own_lock import OwnLock
from rumpus.workloads.own.own_recipe import Method, OwnRecipe, has, method
from rumpus.workloads.own.tolerant_calls import attribute, call, first, takes

TIME_BOUNDARY_S: Final = 0.3
"""What a partitioner that takes a ``time_boundary`` is given: for how many seconds its members must
not have changed. kazoo's default of 30 is longer than members stay here."""

STEP_S: Final = 1.0
"""The longest wait for the next state of a partitioner."""


class OwnRegistry(OwnRecipe):
    """A registry, or a party that is joined and left, as kazoo's.

    Either ``register(address)``, ``deregister()`` and ``discover()``; or ``join()``, ``leave()``
    and iteration: then there is an object for each address, which its function takes as ``name`` or
    ``identifier``. A member's entry is a znode below the path whose data is the address.
    ``watch()``, if there is one, returns an object whose ``addresses`` are the members now.
    """

    ways = (
        (
            method("register(address)"),
            method("deregister()", "unregister"),
            method("discover() -> list of addresses", "members"),
        ),
        (method("join()"), method("leave()"), Method(("__iter__",), "__iter__()")),
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.address: str | None = None
        self._session: Session | None = None
        self._joined: Any = None

    @classmethod
    def attributes_of(cls, factory: Any) -> dict[str, Any]:
        """Whether its lists include all that was committed before the call."""
        return {"settles": bool(getattr(factory, "settles", False))}

    @classmethod
    def derived(cls, factory: Any, promises: Promises) -> list[str]:  # noqa: ARG003 - the base's
        """What is not judged, or not seen."""
        notes = []
        if not getattr(factory, "settles", False):
            notes.append("Lists are judged only at the end: a server may lag (no `settles`).")
        if not has(factory, "watch"):
            notes.append("It has no `watch`: members are listed instead.")
        return notes

    def register(self, address: str, timeout: float) -> None:
        """Register, unless it has in this session; raises OutcomeUnknown if kazoo raised an error.

        The address counts as registered from the call on, and until it is deregistered.
        """
        if self._session is not None and not self._session.lost:
            return
        self._forget()
        session = Session(self.client)
        self.begin_asking()
        self.address = address
        try:
            if hasattr(self.own, "register"):
                register = self.own.register
                self.translated(lambda: call(register, address, timeout=timeout))()
            else:
                self._joined = self._joined or self.new_own(name=address, identifier=address)
                self.translated(self._joined.join)()
        except BaseException:
            session.close()
            raise
        if (client := self.answering()) is not self.client:
            session.close()
            session = Session(client)
        self._session = session

    def deregister(self, timeout: float) -> None:
        """Remove the registration; raises OutcomeUnknown if kazoo raised an error."""
        if hasattr(self.own, "register"):
            leave = first(self.own, ("deregister", "unregister"))
            self.translated(lambda: call(leave, timeout=timeout))()
        elif self._joined is not None:
            self.translated(self._joined.leave)()
        self._joined = self.address = None
        self._forget()

    def discover(self, timeout: float) -> list[str]:
        """The members' addresses, in order; raises OutcomeUnknown if kazoo raised an error."""
        if hasattr(self.own, "register"):
            members = first(self.own, ("discover", "members"))
            return sorted(self.translated(lambda: call(members, timeout=timeout))())
        return sorted(self.translated(lambda: list(self.own))())

    def watch(self) -> Any:
        """An object whose ``addresses`` are the members."""
        if not hasattr(self.own, "watch"):
            return SimpleNamespace(addresses=self.discover(timeout=3.0))
        watched = self.translated(self.own.watch)()
        return SimpleNamespace(addresses=sorted(attribute(watched, ("addresses",)) or ()))

    def _forget(self) -> None:
        if self._session is not None:
            self._session.close()
        self._session = None


class OwnPartitioner(OwnLock):
    """A partitioner: ``acquire`` takes a share, ``release`` gives it up, ``leave`` leaves.

    ``parts``, an attribute or method: the parts that it owns; names, or a mapping from names to
    objects with ``node``, ``token`` and ``session``. ``changed``, if it has that: whether members
    have come or gone since, so that the share must be released. The rest as for locks.

    Or one that is driven by its state, as kazoo's ``SetPartitioner`` is: if it has ``failed``, a
    new one is made; on ``release``, ``release_set()`` is called; else ``wait_for_acquire(timeout)``
    until it is ``acquired``. Then iteration gives its parts. ``finish()`` leaves.
    """

    usual = None
    lives_on_services = False
    ways = (
        (
            method("acquire(timeout) -> bool"),
            method("release()"),
            method("leave()"),
            Method(("parts",), "parts"),
        ),
        (
            method("wait_for_acquire(timeout)"),
            method("release_set()"),
            method("finish()"),
            Method(("__iter__",), "__iter__()"),
            *(Method((state,), state) for state in ("acquired", "release", "failed")),
        ),
    )
    further = (("parts", "set", "items", "partitions"),)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{"time_boundary": TIME_BOUNDARY_S, **options})

    @classmethod
    def unseen(cls, factory: Any, promises: Promises) -> frozenset[str]:
        """As for locks; and incomplete shares, where nobody says which znodes own."""
        unseen = super().unseen(factory, promises)
        return unseen if has(factory, "line") else unseen | {"partial-share"}

    @classmethod
    def derived(cls, factory: Any, promises: Promises) -> list[str]:
        """As for locks; and whether members notice that others come and go."""
        notes = super().derived(factory, promises)
        if takes(factory, "time_boundary"):
            notes.append(f"It is given a `time_boundary` of {TIME_BOUNDARY_S} s.")
            if not promises.time_boundary:
                notes.append(
                    "Whether shares wait for that is not judged, as it promises no "
                    "`time_boundary` (no hasty-share)."
                )
            elif not has(factory, "line"):
                notes.append(
                    "Whether shares wait for that is not judged: nobody says which znodes are "
                    "members and which are locks (no `line`)."
                )
        if not has(factory, "line"):
            notes.append("Nor is it judged whether shares are complete (no partial-share).")
        if not has(factory, "changed", "wait_for_acquire"):
            notes.append("It has no `changed`: members keep their shares for a while each.")
        return notes

    @classmethod
    def assumed_line_of(cls, promises: Promises, path: str) -> Line:  # noqa: ARG003 - the base's
        """Nobody knows where the parts' locks are."""
        return Line(kind="unknown", path=path)

    @property
    def by_state(self) -> bool:
        """Whether the object is driven by its state; see the class."""
        return not hasattr(self.own, "acquire")

    def enter_own(self, timeout: float) -> bool:
        """Have the object acquire, or step from state to state until it has."""
        if not self.by_state:
            return super().enter_own(timeout)
        until = time.monotonic() + timeout
        while (left := until - time.monotonic()) > 0:
            if self.own.failed:
                self._made = None  # it cannot be used again: ``own`` makes another
            elif self.own.release:
                self.own.release_set()
            elif self.own.acquired:
                return True
            else:
                self.own.wait_for_acquire(min(left, STEP_S))
        return False

    def leave_own(self) -> None:
        """Have the object release; raises what it raises, and NotHeld if it has failed."""
        if not self.by_state:
            super().leave_own()
        elif self.own.failed:
            raise NotHeld(f"{self.path}: the partitioner has failed")
        else:
            self.own.release_set()

    @property
    def held(self) -> bool:
        """Whether it believes that it owns its share."""
        if not super().held:
            return False
        return not self.by_state or bool(self.own.acquired or self.own.release)

    @property
    def parts(self) -> dict[str, Any]:
        """The parts that it owns, with what is known of the node, token and session of each."""
        told = list(self.own) if self.by_state else attribute(self.own, ("parts",)) or ()
        if isinstance(told, Mapping) and all(hasattr(each, "node") for each in told.values()):
            return dict(told)
        return {name: SimpleNamespace(node=None, token=None, session=self.session) for name in told}

    @property
    def changed(self) -> bool:
        """Whether the members have changed."""
        return not self.own.acquired if self.by_state else bool(attribute(self.own, ("changed",)))

    def leave(self, timeout: float = 0.0) -> None:
        """Give up the membership; raises OutcomeUnknown if kazoo raised an error."""
        if not self.by_state:
            leave = self.own.leave
            self.translated(lambda: call(leave, timeout=timeout))()
            return
        finished, self._made = self.own, None  # it cannot be used again
        self.translated(finished.finish)()
