"""Service discovery: who is there, by ephemeral nodes that hold addresses.

The recipe is ZooKeeper's group membership: a server makes an ephemeral sequential child that holds
its address; clients list the children with a watch. What makes it hold under faults:

- **Registering is a wish, not a request.** A thread keeps it: after a lost session it registers
  anew, after a lost reply it looks for its node before it makes another one (``FairContest``'s
  mark and its write of no effect), and it watches its own node, should a hand remove it.
- **A lost session may live on.** A leader that was deposed can tell a client that its session has
  expired when for the others it has not: the old entry then stays until they let it expire. So the
  new session removes the entry of the one before, by its unique mark, and lists name an address
  once.
- **Discovering reads what was committed.** A write of no effect goes first, so that the server
  asked has seen everything that was committed before the call (why ``sync`` would not do:
  ``Session.catch_up``). One list is one moment.
- **Watching looks again** after every news, see ``recipes.requests.follower``.
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
"""The listed are those who are there, and everybody can come and go."""

_ATTEMPT: Final = 3.0
"""Seconds after which a try to register is begun anew."""


class Registration(FairContest):
    """One address that is to be listed until it is withdrawn, through any number of sessions.

    Args:
        client: a started client with kazoo's threading handler.
        path: the folder of the service.
        address: what is to be listed.
    """

    _reregisters: ClassVar[bool] = True

    def __init__(self, client: KazooClient, path: str, address: str) -> None:
        super().__init__(client, path, address, grace=2.0)
        self.address = address
        self._wanted = True
        self._entry = Entry(client)
        self._lost: list[str] = []
        """Marks of entries whose sessions were lost, and which may still be there."""
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
        """Ask the servers whether it is listed, by all that was committed before.

        Raises what ``Session.ask`` does: the session may have ended unnoticed.
        """
        entry = self._entry
        self._settle_earlier(entry, deadline)
        node = entry.node
        return node is not None and bool(
            entry.session.ask(deadline, self._client.exists_async, node)
        )

    def withdraw(self) -> None:
        """Have the address removed, as soon as the servers can be asked. Does not wait."""
        self._wanted = False
        self._entry.session.wake.set()

    def wait_over(self, timeout: float | None) -> bool:
        """Wait until nothing of it is left on the servers."""
        with self._state:
            return self._state.wait_for(lambda: self._over, timeout)

    @property
    def node(self) -> str | None:
        """Full path of the node, None while it is not known."""
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
                time.sleep(PAUSE)  # the folder was removed between two requests
        self._remove(entry)
        self._note(confirmed=False, over=True)

    def _remove(self, entry: Entry) -> None:
        """Take out what is left of this session and of those before it, however long it takes."""
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
        """Whether the client was stopped for good; its session takes the node along."""
        return isinstance(error, ConnectionClosedError) and not started_again(self._client)

    def _take_out(self, entry: Entry, deadline: Deadline) -> bool:
        if self._lost:
            self._clear_lost(entry, deadline)
        return super()._take_out(entry, deadline)

    def _present(self, entry: Entry, deadline: Deadline) -> bool:
        """Find or make the node, and watch it; False if it was removed by a hand meanwhile."""
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
        """Remove what earlier sessions have left; see the module."""
        self._settle_earlier(entry, deadline)
        with suppress(NoNodeError):
            for name in entry.session.ask(deadline, self._client.get_children_async, self._path):
                if name.startswith(tuple(self._lost)):
                    self._delete(entry, f"{self._path}/{name}", deadline)
        self._lost.clear()


class ServiceView(ChildrenView):
    """The addresses in a folder, kept up to date: a view of its children and what they hold."""

    def __init__(self, client: KazooClient, path: str) -> None:
        super().__init__(client, path)
        self._addresses: dict[str, str] = {}

    @property
    def addresses(self) -> list[str]:
        """Those who are there, sorted, as far as told."""
        addresses = self._addresses  # replaced, never changed
        return sorted(set(addresses.values()))

    def _found(self, session: Session, deadline: Deadline, children: Children) -> None:
        known = self._addresses
        addresses = {name: known[name] for name in children.names & known.keys()}
        for name in sorted(children.names - known.keys()):
            with suppress(NoNodeError):  # gone meanwhile: its event is on its way
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
        """Those who are there, sorted, as far as told."""


class ServiceRegistry(Recipe):
    """Register one address, discover everybody's, watch them.

    Args:
        client: a started client with kazoo's threading handler.
        path: the folder of the service; it belongs to this recipe alone.
    """

    promises: ClassVar[Promises] = Promises(
        prevents=PRESENCE,
        notes=(
            "Who died is listed until its session has expired. A watched view lags; what "
            "``discover`` lists was true at one moment of the call, and need not be after it."
        ),
    )
    settles: ClassVar[bool] = True
    """Whether ``discover`` lists by everything that was committed before its call."""
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
        """Have an address listed from now on, until it is withdrawn.

        It was listed at one moment of the call when this returns. Again with the same address:
        make sure of it again.

        Raises:
            RegistrationUnknown: it could not be confirmed in time. It will be listed as soon as
                the servers can be asked.
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
        """Have the address removed, and wait until nothing of ours is left.

        Raises:
            RegistrationUnknown: no answer in time. It will be removed once it can be; call
                again to wait for that.
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
                with suppress(NoNodeError):  # gone since: listed or not, both were true
                    addresses.add(_read(self._client, session, deadline, f"{self._path}/{name}"))
            return sorted(addresses)
        finally:
            session.close()

    def _catch_up(self, session: Session, deadline: Deadline) -> None:
        """See to it that the next read shows all that was committed before this call."""
        session.catch_up(deadline, f"{self._path}/{uuid.uuid4().hex}")

    def watch(self) -> Watching:
        """The addresses, kept up to date from the first call on until ``close``."""
        if self._watching is None:
            self._watching = self.view(self._client, self._path)
            self._watching.open()
        return self._watching

    def close(self) -> None:
        """Stop watching. The address stays."""
        if self._watching is not None:
            self._watching.close()
            self._watching = None


class RegistrationUnknown(OutcomeUnknown):
    """Nobody can say yet whether an address is listed. What was asked for goes on by itself."""


def _read(client: KazooClient, session: Session, deadline: Deadline, node: str) -> str:
    """The address that a node holds; raises what ``Session.ask`` does."""
    data, _ = session.ask(deadline, client.get_async, node)
    return str(data.decode())
