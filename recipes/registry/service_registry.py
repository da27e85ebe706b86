"""Service discovery by ephemeral nodes that hold addresses.

The recipe is ZooKeeper's group membership: a server creates an ephemeral sequential child that
holds its address; clients list the children with a watch. What makes it safe under faults:

- **A registration is kept up.** A thread registers the address again after a lost session, looks
  for its node after a lost reply before it creates another one (as every fair contest does), and
  watches its node in case somebody removes it.
- **Sessions that were lost.** A leader that was deposed can tell a client that its session has
  expired, although the ensemble has not decided so: the old entry then stays until the next leader
  expires the session, too. So the new session removes the entry of the old one, by its unique mark,
  and lists contain an address once.
- **Discovery is fresh.** A write without effect comes first, so that the server has applied
  everything committed before the call (``Session.catch_up`` says why ``sync`` would not do). A list
  shows one moment.
- **Watching** reads again after every event; see ``recipes.requests.follower``.
"""

import threading
import time
import uuid
from contextlib import suppress
from typing import ClassVar, Final, Protocol

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionClosedError, NoNodeError, SessionExpiredError

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.outcomes import OutcomeUnknown
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import PAUSE, started_again
from rumpus.recipes.requests.session import Session, Unanswered
from rumpus.recipes.view.follower_view import Children, ChildrenView

PRESENCE: Final = frozenset({"ghost-entry", "missing-entry", "stale-view", "stuck-waiter"})
"""The list shows those that are registered, and everybody can register and deregister."""

_ATTEMPT: Final = 3.0
"""Seconds after which an attempt to register is begun again."""


class Registration(FairContest):
    """An address that is kept listed until it is withdrawn, over any number of sessions.

    Args:
        client: a started client with kazoo's threading handler.
        path: the parent of the service's entries.
        address: the address to list.
    """

    _reregisters: ClassVar[bool] = True

    def __init__(self, client: KazooClient, path: str, address: str) -> None:
        super().__init__(client, path, address, grace=2.0)
        self.address = address
        self._wanted = True
        self._entry = Entry(client)
        self._lost: list[str] = []
        """Marks of entries of lost sessions, which may still exist."""
        self._state = threading.Condition()
        self._confirmed = False
        self._over = False

    def start(self) -> None:
        """Begin to keep the address listed."""
        self._client.handler.spawn(self._keep)

    def wait_confirmed(self, timeout: float | None) -> bool:
        """Wait until it is known to be listed, in a session that is not known to have ended."""
        with self._state:
            return self._state.wait_for(
                lambda: self._confirmed and not self._entry.session.lost, timeout
            )

    def verify(self, deadline: Deadline) -> bool:
        """Ask the servers whether it is listed, no older than this call.

        Raises what ``Session.ask`` does: the session may have ended unnoticed.
        """
        entry = self._entry
        self._settle_earlier(entry, deadline)
        node = entry.node
        return node is not None and bool(
            entry.session.ask(deadline, self._client.exists_async, node)
        )

    def withdraw(self) -> None:
        """Begin to remove the address. Does not wait."""
        self._wanted = False
        self._entry.session.wake.set()

    def wait_over(self, timeout: float | None) -> bool:
        """Wait until no entry of it is left on the servers."""
        with self._state:
            return self._state.wait_for(lambda: self._over, timeout)

    @property
    def node(self) -> str | None:
        """Full path of the entry's node, None while it is not known."""
        return self._entry.node

    def _note(self, *, confirmed: bool, over: bool = False) -> None:
        with self._state:
            self._confirmed, self._over = confirmed, over
            self._state.notify_all()

    def _keep(self) -> None:
        entry = self._entry
        while self._wanted:
            entry.session.wake.clear()
            try:
                if self._present(entry, Deadline(_ATTEMPT)):
                    self._note(confirmed=True)
                    if self._wanted:
                        entry.session.wake.wait()
            except SessionExpiredError as error:
                self._note(confirmed=False)
                self._strike(entry)
                if self._stopped(error):
                    self._note(confirmed=False, over=True)
                    return
                if not self._reregisters:
                    break
                self._lost.append(entry.mark)
                time.sleep(PAUSE)
                entry = self._entry = Entry(self._client)
            except Unanswered:
                entry.unsure = True
                time.sleep(PAUSE)
            except NoNodeError:
                time.sleep(PAUSE)  # the parent was removed between two requests
        self._remove(entry)
        self._note(confirmed=False, over=True)

    def _remove(self, entry: Entry) -> None:
        """Remove the entries of this session and of earlier ones, however long that takes."""
        while True:
            try:
                self._keep_taking_out(entry, Deadline(None))
            except SessionExpiredError as error:
                if self._stopped(error):
                    return
                self._lost.append(entry.mark)
                entry = self._entry = Entry(self._client)
            else:
                return
            time.sleep(PAUSE)

    def _stopped(self, error: SessionExpiredError) -> bool:
        """Whether the client was stopped for good; its node ends with its session."""
        return isinstance(error, ConnectionClosedError) and not started_again(self._client)

    def _take_out(self, entry: Entry, deadline: Deadline) -> bool:
        if self._lost:
            self._clear_lost(entry, deadline)
        return super()._take_out(entry, deadline)

    def _present(self, entry: Entry, deadline: Deadline) -> bool:
        """Find or create the node, and watch it; False if somebody has removed it meanwhile."""
        if self._lost:
            self._clear_lost(entry, deadline)
        self._enter(entry, deadline)
        session = entry.session
        try:
            session.ask(deadline, self._client.get_async, entry.node, session.watcher())
        except NoNodeError:
            entry.node = entry.token = None
            return False
        return True

    def _clear_lost(self, entry: Entry, deadline: Deadline) -> None:
        """Remove the entries of lost sessions; see the module."""
        self._settle_earlier(entry, deadline)
        with suppress(NoNodeError):
            for name in entry.session.ask(deadline, self._client.get_children_async, self._path):
                if name.startswith(tuple(self._lost)):
                    self._delete(entry, f"{self._path}/{name}", deadline)
        self._lost.clear()


class ServiceView(ChildrenView):
    """The addresses of a service, kept up to date: a view of the entries and their data."""

    def __init__(self, client: KazooClient, path: str) -> None:
        super().__init__(client, path)
        self._addresses: dict[str, str] = {}

    @property
    def addresses(self) -> list[str]:
        """The addresses as last read, sorted."""
        addresses = self._addresses  # replaced, never changed
        return sorted(set(addresses.values()))

    def _found(self, session: Session, deadline: Deadline, children: Children) -> None:
        known = self._addresses
        addresses = {name: known[name] for name in children.names & known.keys()}
        for name in sorted(children.names - known.keys()):
            with suppress(NoNodeError):  # removed meanwhile: an event will come
                addresses[name] = _read(self._client, session, deadline, f"{self._path}/{name}")
        self._addresses = addresses
        self._show(children)

    def _show(self, value: Children | None) -> None:
        if value is None:
            self._addresses = {}
        super()._show(value)


class Watching(Protocol):
    """A watched list of addresses."""

    def __init__(self, client: KazooClient, path: str) -> None: ...

    def open(self) -> None:
        """Begin to follow."""

    def close(self) -> None:
        """End."""

    @property
    def addresses(self) -> list[str]:
        """The addresses as last read, sorted."""


class ServiceRegistry(Recipe):
    """One client's side: it may register one address, list all addresses, and watch them.

    Args:
        client: a started client with kazoo's threading handler.
        path: the parent of the service's entries, used by nothing else.
    """

    promises: ClassVar[Promises] = Promises(
        prevents=PRESENCE | {"overdue-call"},
        notes=(
            "A server that has died is listed until its session expires. A watched view lags. What "
            "``discover`` lists was true at one moment of the call, and may be outdated after it."
        ),
    )
    settles: ClassVar[bool] = True
    """Whether ``discover`` shows everything that was committed before the call."""
    _registration_class: ClassVar[type[Registration]] = Registration
    view: ClassVar[type[Watching]] = ServiceView

    def __init__(self, client: KazooClient, path: str) -> None:
        self._client = client
        self._path = path
        self._registration: Registration | None = None
        self._withdrawn: list[Registration] = []
        self._watching: Watching | None = None

    @property
    def address(self) -> str | None:
        """What is registered, or being registered; None if nothing is."""
        return self._registration.address if self._registration else None

    def register(self, address: str, timeout: float | None = None) -> None:
        """Keep an address listed from now on, until ``deregister``.

        When this returns, the address was listed at one moment of the call. It may be called again
        with the same address, to confirm that it is listed.

        Raises:
            RegistrationUnknown: not confirmed in time. It will be listed once the servers answer.
            ValueError: another address is registered.
        """
        deadline = Deadline(timeout)
        if self._registration is None:
            self._finish_withdrawals(deadline)
            self._registration = self._registration_class(self._client, self._path, address)
            self._registration.start()
        if self._registration.address != address:
            raise ValueError(f"{self._registration.address} is registered: withdraw it first")
        while self._registration.wait_confirmed(deadline.left()):
            with suppress(Unanswered, SessionExpiredError):
                if self._registration.verify(deadline):
                    return
            if deadline.passed:
                break
            time.sleep(PAUSE)
        raise RegistrationUnknown(f"{self._path}: cannot tell yet whether we are listed")

    def deregister(self, timeout: float | None = None) -> None:
        """Remove the address, and wait until no entry of it is left.

        Raises:
            RegistrationUnknown: no answer in time. It will be removed once the servers answer;
                call again to wait for that.
        """
        if self._registration is not None:
            self._registration.withdraw()
            self._withdrawn.append(self._registration)
            self._registration = None
        self._finish_withdrawals(Deadline(timeout))

    def _finish_withdrawals(self, deadline: Deadline) -> None:
        while self._withdrawn:
            if not self._withdrawn[0].wait_over(deadline.left()):
                raise RegistrationUnknown(f"{self._path}: cannot tell yet whether we are gone")
            del self._withdrawn[0]

    def discover(self, timeout: float | None = None) -> list[str]:
        """The addresses listed at one moment of the call, sorted.

        Raises:
            Unanswered, SessionExpiredError: the servers could not be asked in time.
        """
        deadline = Deadline(timeout)
        session = Session(self._client)
        try:
            self._catch_up(session, deadline)
            try:
                names = session.ask(deadline, self._client.get_children_async, self._path)
            except NoNodeError:
                return []
            addresses = set()
            for name in names:
                with suppress(NoNodeError):  # removed during the call: it need not be listed
                    addresses.add(_read(self._client, session, deadline, f"{self._path}/{name}"))
            return sorted(addresses)
        finally:
            session.close()

    def _catch_up(self, session: Session, deadline: Deadline) -> None:
        """Make sure that the next read shows everything committed before this call."""
        session.catch_up(deadline, f"{self._path}/{uuid.uuid4().hex}")

    def watch(self) -> Watching:
        """The addresses, kept up to date from the first call until ``close``."""
        if self._watching is None:
            self._watching = self.view(self._client, self._path)
            self._watching.open()
        return self._watching

    def close(self) -> None:
        """Stop watching. The registered address stays."""
        if self._watching is not None:
            self._watching.close()
            self._watching = None


class RegistrationUnknown(OutcomeUnknown):
    """It is not known whether the address is listed. The request is retried in the background."""


def _read(client: KazooClient, session: Session, deadline: Deadline, node: str) -> str:
    """The address in a node's data; raises what ``Session.ask`` does."""
    data, _ = session.ask(deadline, client.get_async, node)
    return str(data.decode())
