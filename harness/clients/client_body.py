"""What runs inside a client's process: a kazoo client, the workload's client, and their records.

It is given its channel and its clock, so that the same body runs in a real process and in a
simulated one.
"""

import inspect
import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any, Literal, Protocol

import msgspec
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.protocol.states import KazooState, KeeperState
from kazoo.retry import KazooRetry
from kazoo.version import __version__ as kazoo_version

from rumpus.checker.history import session_hex
from rumpus.harness.clients.home import Home, MemoryHome
from rumpus.harness.clients.messages import (
    Act,
    Acted,
    Command,
    Open,
    Perform,
    Ready,
    Record,
    Refuse,
    Refused,
    Report,
)
from rumpus.harness.clients.standing import standing
from rumpus.harness.links.links import Refusal
from rumpus.recipes.servers import Servers

log = logging.getLogger(__name__)

MOST_FAILURES = 5
"""How many operations may end with an error in a row before a client's restarts take longer."""

RESTART_PAUSE_S = 0.5

JITTER = (
    {}  # kazoo 2.6 chooses it by itself, and warns of the argument
    if inspect.signature(KazooRetry).parameters["max_jitter"].default is None
    else {"max_jitter": 0.1}
)

CONNECT_PATIENCE_S = 10.0
"""How long a new client waits for its first session before it begins without one."""

BELIEF_PERIOD_S = 0.02
"""How often the belief (``WorkloadClient.believes``) is polled while the connection is in doubt, or
while the belief expires by itself."""

LEAST_EXTENSION_NS = 1_000_000
"""By how much the end of a belief must move to be recorded again. It is computed from two readings
of the clock, and so moves a little from look to look."""


class Outcome(msgspec.Struct, frozen=True):
    """How an operation ended: ``ok``, ``fail`` (it did not happen) or ``info`` (unknown)."""

    type: Literal["ok", "fail", "info"]
    value: Any = None
    error: str | None = None


class Leaves(Exception):  # noqa: N818 - what is asked for, not a fault
    """Raised by an operation to have the client closed, and opened again with a new session."""


class WorkloadClient(Protocol):
    """What a workload does with a client. Built afresh when the client is opened."""

    grants: str
    """The operation whose ok begins the client's belief that it holds."""
    ends: str
    """The operation whose call ends that belief."""

    def invoke(self, f: str, value: Any) -> Outcome:
        """Run one operation.

        An exception that escapes means that nobody knows what happened, and that the client
        cannot be relied on: it is closed, and opened anew with another session.
        """

    def believes(self) -> bool | float:
        """Whether the client believes at this moment that it holds. Must not block.

        A number means yes, for at most so many seconds from now unless it is renewed: a process
        that is frozen then goes on believing until that time only.
        """

    def close(self) -> None:
        """End what goes on in the background, as the client is given up. Must not block."""


class ClientContext(msgspec.Struct, frozen=True):
    """What a workload's client is given.

    ``act`` performs one action on the protected resource under a token; the witness's answer
    says whether it was accepted. ``session`` gives the latest session as a hex string, None
    before the first. ``home`` has the files that outlive the client's process; at ``host`` it can
    listen (port 0: any free one), and be reached by every other client. ``refuse`` asks the
    service to refuse a session, heartbeats too, and returns once it does. ``kazoo`` is a
    ``KazooClient``; where the servers are not ZooKeeper's it is None, and ``servers`` has their
    addresses; ``session_timeout`` is in seconds. ``final`` says whether the operation belongs to
    the final phase. A client that begins or ceases to hold while it
    runs no operation must call ``look_at_belief``, to have that recorded; but not while it has a
    lock that its ``believes`` needs.
    """

    client: int
    process: int
    kazoo: Any
    act: Callable[[int | None], Acted]
    session: Callable[[], str | None]
    home: Home = msgspec.field(default_factory=MemoryHome)
    host: str = "127.0.0.1"
    look_at_belief: Callable[[], None] = lambda: None
    called: str = ""
    refuse: Callable[[int, Refusal], None] = lambda _session, _how: None
    servers: Servers | None = None
    session_timeout: float = 10.0
    final: Callable[[], bool] = lambda: False

    @property
    def reached(self) -> Any:
        """By what a recipe reaches its servers: a ``KazooClient``, or their addresses."""
        return self.kazoo if self.servers is None else self.servers

    @property
    def name(self) -> str:
        """What the client is called: ``c2``, or what the run's usage says (``called``)."""
        return self.called or f"c{self.client}"


class ClientBody:
    """One client: obeys commands until its channel ends.

    Args:
        client: its number.
        hosts: connection string (its links); empty for a client that needs no servers.
        servers: where it finds servers that are not ZooKeeper's; then ``hosts`` is of no use.
        session_timeout: seconds.
        build: makes the workload's client from a context.
        send: carries a report to the control process; called from several threads.
        receive: waits for the next command; None when the channel has ended.
        clock: monotonic nanoseconds.
        home: the client's files.
        host: where it can listen.
        make_handler: makes the handler of a ``KazooClient``; None: kazoo's own choice.
        stack: the innermost frame of the thread that runs this body.
    """

    def __init__(
        self,
        *,
        client: int,
        hosts: str,
        session_timeout: float,
        build: Callable[[ClientContext], WorkloadClient],
        send: Callable[[Report], None],
        receive: Callable[[], Command | None],
        clock: Callable[[], int],
        home: Home,
        host: str,
        stack: Callable[[], FrameType | None],
        make_handler: Callable[[], Any] = lambda: None,
        servers: Servers | None = None,
    ) -> None:
        self._client = client
        self._servers = servers
        self._hosts = hosts
        self._session_timeout = session_timeout
        self._build = build
        self._send = send
        self._receive = receive
        self._clock = clock
        self._home = home
        self._host = host
        self._make_handler = make_handler
        self._stack = stack
        self._process = client
        self._kazoo: KazooClient | None = None
        self._workload: WorkloadClient | None = None
        self._latest_session: str | None = None
        self._broken = False
        self._final = False
        self._dead = self._closing = False
        self._failures = 0
        self._belief = False
        self._belief_end: int | None = None
        self._polled = False
        self._believed_at = 0
        self._belief_lock = threading.Lock()
        self._suspended = False
        self._to_be_watched = threading.Event()

    def run(self) -> None:
        """Obey commands until the channel ends."""
        usual = threading.excepthook
        threading.excepthook = partial(self._thread_ended, usual)
        try:
            self._obey()
        finally:
            threading.excepthook = usual

    def _obey(self) -> None:
        threading.Thread(target=self._watch_belief, name="belief", daemon=True).start()
        while (command := self._receive()) is not None:
            if isinstance(command, Perform):
                self._perform(command)
            elif isinstance(command, Open):
                self._open(command.process)

    def _open(self, process: int) -> None:
        if self._workload is not None and not self._broken:
            # Only an outcome is unknown: the client keeps its session, as an application would.
            self._process = process
            self._send(Ready(process, connected=True, library=kazoo_version))
            return
        self._close()
        if self._failures > MOST_FAILURES:
            # As whatever restarts services does: a client that can do nothing is not restarted
            # a thousand times a second.
            time.sleep(RESTART_PAUSE_S)
        self._broken = self._dead = False
        self._process = process
        self._latest_session = None
        if self._servers is None:
            self._kazoo = self._new_kazoo()
        context = ClientContext(
            self._client,
            process,
            self._kazoo,
            self._act,
            self._session,
            self._home,
            self._host,
            self._look_at_belief,
            refuse=self._refuse,
            servers=self._servers,
            session_timeout=self._session_timeout,
            final=lambda: self._final,
        )
        connected = True
        if self._kazoo is not None:
            self._kazoo.add_listener(self._session_changed)
        self._workload = self._build(context)
        if self._kazoo is not None:
            connected = bool(self._hosts) and self._kazoo.start_async().wait(CONNECT_PATIENCE_S)
        self._send(Ready(process, connected=connected, library=kazoo_version))

    def _new_kazoo(self) -> KazooClient:
        """A client that has not been started."""
        handler = self._make_handler()
        own_sleep = {} if handler is None else {"sleep_func": handler.sleep_func}
        patience = KazooRetry(
            max_tries=-1, delay=0.02, backoff=2, max_delay=0.25, **JITTER, **own_sleep
        )
        return KazooClient(
            hosts=self._hosts or "127.0.0.1",
            timeout=self._session_timeout,
            handler=handler,
            connection_retry=patience,
        )

    def _close(self) -> None:
        if self._workload is None:
            return
        kazoo = self._kazoo
        with self._belief_lock:
            workload, self._workload = self._workload, None
            if self._belief:
                self._belief = False
                self._session_record("doubts")
        workload.close()
        if kazoo is None:
            return
        self._closing = True
        if self._hosts:
            kazoo.stop()
            kazoo.close()
        kazoo.remove_listener(self._session_changed)
        self._kazoo, self._closing = None, False
        self._session_record("closed")

    def _perform(self, command: Perform) -> None:
        workload = self._workload
        assert workload is not None, "the control process opens a client before it uses it"
        self._final = command.final
        with self._belief_lock:
            if command.f == workload.ends:
                self._belief = self._polled = False
            called = self._clock()
        self._send(Record(called, command.process, "invoke", command.f, command.value))
        try:
            outcome = workload.invoke(command.f, command.value)
        except Exception as error:  # whatever a recipe raises, nobody knows what it did
            outcome = Outcome("info", command.value, f"{type(error).__name__}: {error}")
            if not isinstance(error, KazooException):
                log.exception("%s failed", command.f)
            self._broken = True
        if self._dead and outcome.type != "ok":
            self._broken = True  # it would never be connected again
        self._failures = self._failures + 1 if self._broken else 0
        granted = command.f == workload.grants and outcome.type == "ok"
        value = outcome.value
        with self._belief_lock:
            returned = self._clock()
            if granted:
                self._belief = True
                self._believed_at = returned
                looked = None if self._servers is None else returned
                self._belief_end = self._end_of(workload.believes(), looked)
                # Without a kazoo client nobody says that the connection is in doubt.
                self._polled = self._belief_end is not None or self._servers is not None
                if self._belief_end is not None:
                    value = {**value, "until": self._belief_end}
        self._send(Record(returned, command.process, outcome.type, command.f, value, outcome.error))
        if granted or self._belief:
            self._look_at_belief()

    def _act(self, token: int | None) -> Acted:
        self._send(Act(self._process, token))
        answer = self._receive()
        if not isinstance(answer, Acted):
            raise ConnectionError(f"the witness's answer is missing, got {answer!r}")
        return answer

    def _refuse(self, session: int, how: Refusal) -> None:
        self._send(Refuse(session, how))
        answer = self._receive()
        if not isinstance(answer, Refused):
            raise ConnectionError(f"the service's answer is missing, got {answer!r}")

    def _session(self) -> str | None:
        """The present session, or the latest one: kazoo gives none while it is disconnected."""
        identity = self._kazoo.client_id if self._kazoo is not None else None
        if identity and identity[0]:
            self._latest_session = session_hex(identity[0])
        return self._latest_session

    def _session_record(self, f: str, **more: Any) -> None:
        value = {"client": self._client, "process": self._process, "session": self._session()}
        if (place := standing(self._stack())) is not None:
            value["at"] = place.line
            if place.code:
                value["code"] = place.code
        self._send(Record(self._clock(), "session", "info", f, {**value, **more}))

    def _thread_ended(
        self,
        usual: Callable[[threading.ExceptHookArgs], object],
        told: threading.ExceptHookArgs,
    ) -> None:
        """Record that an exception in a recipe's code, which nobody caught, has ended a thread."""
        place = told.exc_traceback
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = None if place is None else standing(place.tb_frame)
        if where is not None and not self._closing and self._workload is not None:
            name = "" if told.thread is None else told.thread.name
            error = f"{told.exc_type.__name__}: {told.exc_value}"
            self._session_record("thread-ended", thread=name, error=error, of=where.line)
        usual(told)

    def _session_changed(self, state: str) -> None:
        """Runs on kazoo's connection thread: must not block, must not raise."""
        words = {
            KazooState.CONNECTED: "connected",
            KazooState.SUSPENDED: "suspended",
            KazooState.LOST: "lost",
        }
        if self._closing and state != KazooState.CONNECTED:
            return  # we end it ourselves; but it may get one more session before
        more: dict[str, Any] = {}
        if state == KazooState.LOST and self._closed_itself():
            self._dead, more = True, {"dead": True}
        self._session_record(words[state], **more)
        self._suspended = state != KazooState.CONNECTED
        self._look_at_belief()

    def _closed_itself(self) -> bool:
        """Whether kazoo's connection ended for good with its thread, and nobody called ``stop``."""
        kazoo = self._kazoo
        if kazoo is None or kazoo.client_state != KeeperState.CLOSED:
            return False
        return not kazoo._stopped.is_set()  # noqa: SLF001 - set by stop, and nowhere said

    def _look_at_belief(self) -> None:
        """Record the belief if it has changed since the last look."""
        with self._belief_lock:
            workload = self._workload
            if workload is not None:
                looked = None if self._servers is None else self._clock()
                belief = workload.believes()
                believes = belief is not False
                end = self._end_of(belief, looked)
                if believes != self._belief or (believes and self._renewed(end)):
                    self._belief, self._belief_end = believes, end
                    if believes:
                        self._session_record("believes", **({} if end is None else {"until": end}))
                    else:
                        self._session_record("doubts", **self._last_yes())
                if believes and looked is not None:
                    self._believed_at = looked
            self._watch_or_rest()

    def _last_yes(self) -> dict[str, int]:
        """When the client last said that it holds, if nobody tells it when that ends."""
        return {} if self._servers is None else {"since": self._believed_at}

    def _end_of(self, belief: bool | float, looked: int | None) -> int | None:
        """When a belief ends by itself, on the run's clock; None: it does not.

        Args:
            belief: the answer.
            looked: when it was asked for, as the process may have been frozen since; None: now.
        """
        if isinstance(belief, bool):
            return None
        return (self._clock() if looked is None else looked) + round(belief * 1e9)

    def _renewed(self, end: int | None) -> bool:
        known = self._belief_end
        if end is None or known is None:
            return end != known
        return end > known + LEAST_EXTENSION_NS

    def _watch_belief(self) -> None:
        """Poll the belief: a recipe may notice a lost session a little after kazoo does.

        A belief that expires by itself is polled until the operation ``WorkloadClient.ends`` is
        called, even when it has expired: it may be renewed. So is every belief of a client that has
        no kazoo client.
        """
        period = threading.Event()
        while True:
            self._to_be_watched.wait()
            if self._belief or self._polled:
                self._look_at_belief()
            elif not self._suspended:
                with self._belief_lock:
                    self._watch_or_rest()
            period.wait(BELIEF_PERIOD_S)

    def _watch_or_rest(self) -> None:
        if self._suspended or self._polled:
            self._to_be_watched.set()
        else:
            self._to_be_watched.clear()
