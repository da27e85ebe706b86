"""Breaking a lock: holders hang or die, and others take their locks away.

While there are faults, the last clients do not contend. With a ``ListedLock`` one client is an
operator, who blacklists sessions of hung holders. With an ``IdentityLock`` two are supervisors, who
free the locks of dead processes and may get in each other's way.
"""

import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Final, NotRequired, TypedDict

from rumpus.checker.check import Check
from rumpus.checker.exclusion.blacklisting import blacklistings, check_blacklisting, listed_sessions
from rumpus.checker.exclusion.broken_locks import check_broken_locks
from rumpus.checker.exclusion.removals import check_told_removals
from rumpus.checker.history import Op, session_hex
from rumpus.checker.timeline.timeline import Timeline
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.clients.workers import CLIENT_KILLED
from rumpus.harness.generators.script import Answered, Client, ScriptFunction, Steps, until_ok
from rumpus.recipes.breaking.breakable_lock import (
    BLACKLIST,
    IdentityLock,
    ListedLock,
    ServiceBlacklistLock,
)
from rumpus.recipes.breaking.catalogue import BREAKABLE_LOCKS
from rumpus.recipes.contests.interfaces import LockUnknown
from rumpus.recipes.contests.line_view import Stand
from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.promises import Line
from rumpus.workloads.contests.contender import Contender, Work
from rumpus.workloads.contests.contention import CUT_OFF_NS, ContentionWorkload
from rumpus.workloads.framework.operation import operation
from rumpus.workloads.own.own_interfaces import OwnBreakableLock

PATIENCE_S: Final = 3.0
"""How long an operator's request may take."""

QUICK: Final = "locks that passed on without waiting"
LEAST_QUICK: Final = 2
"""How many locks must have passed on before a hung holder woke, or a dead one's session expired."""

HANG_S: Final = (3.0, 3.0, 8.0)
"""How long a hung holder hangs, drawn at random. Its client keeps the session alive meanwhile.

Most hangs are short, so that many locks pass on. Some exceed ``BreakingWorkload.tolerance``."""

SERVICE_HANG_S: Final = (5.0, 5.0, 8.0)
"""The same where the service refuses sessions: longer than a session takes to expire."""

HANGS_IN: Final = 8
DIES_IN: Final = 30
"""One hold in so many hangs, or ends with the holder's death."""

LOOK_PAUSE_S: Final = 0.1
"""An operator's pause between two tries: these fail at once while no server answers."""

LOOKS: Final = 12
"""How often a supervisor looks for a dead process's lock before giving up: it may hold none."""


class Broken(TypedDict):
    """Whose session was put on the blacklist."""

    session: str
    node: str
    token: int


class Death(TypedDict):
    """The identity of a process that is dead, and what it held."""

    identity: str
    node: str | None
    token: int | None


class Freed(TypedDict):
    """Whose node was removed, if it was."""

    freed: NotRequired[str | None]
    node: NotRequired[str | None]
    removed: bool


class Mortal(Contender):
    """A client whose lock may be broken, and who breaks those of others.

    Args:
        make: makes a lock object: a new incarnation of this client.
    """

    def __init__(self, context: ClientContext, make: Callable[[], Any], line: Line) -> None:
        super().__init__(context, make(), line)
        self.make = make
        self.remains: list[Stand] = []

    def work_or_hang(self, acts: int, pause: float, hang: float) -> Work:
        """Work; or act once, hang, and only then look again whether the lock is still held."""
        if hang:
            self.work(1, pause)
            time.sleep(hang)
        return self.work(acts, pause)

    def told(self) -> Work:
        """The holder's identity, by which others break its lock, if the lock has identities."""
        identified = isinstance(self.recipe, IdentityLock) or (
            isinstance(self.recipe, OwnBreakableLock) and not self.recipe.by_blacklist
        )
        return {"identity": self.recipe.identity} if identified else {}

    def holder(self) -> Stand:
        """Who holds the lock."""
        try:
            stand: Stand | None = self.recipe.holder(PATIENCE_S)
        except LockUnknown:  # a read that failed changed nothing
            stand = None
        if stand is None:
            raise NotDone("nobody holds it, or nobody can tell who")
        return stand


class Deaths:
    """Which processes are known for certain to be dead.

    A client has declared its own death, or its process was killed. Processes are named by the
    identity that the client told when it worked.
    """

    def __init__(self) -> None:
        self.living: dict[int, str] = {}
        self.dead: list[str] = []

    def note(self, client: int, came: Op | None) -> None:
        """Take note of what a client's completed operation tells of it."""
        value = came.value if came is not None and isinstance(came.value, dict) else {}
        if "identity" in value:
            self.living[client] = value["identity"]
        if came is not None and ((came.error or "").startswith(CLIENT_KILLED) or came.f == "die"):
            identity = self.living.pop(client, None)
            if identity is not None:
                self.dead.append(identity)


class BreakingWorkload(ContentionWorkload):
    """Holders hang or die, and their locks are taken from them without waiting."""

    name = "breaking"
    exchangeable = False  # others break a hold by naming its holder
    catalogue = BREAKABLE_LOCKS
    adapter = OwnBreakableLock
    model = "mutex"
    timed_actions = False
    tolerance = CUT_OFF_NS
    """Hung holds last seconds, and a fault may cut off a holder's follower meanwhile. A holder that
    is never told of the end of its session is late nevertheless: the operator blacklists it within
    a second, and the longest hangs (``HANG_S``) go on for more than this tolerance after that."""

    def open(self, recipe: Any, context: ClientContext) -> Mortal:
        """A client that makes a new lock object for each of its incarnations."""
        more: dict[str, Any] = {}
        if _is_refused(recipe):
            more["refuse"] = lambda session: context.refuse(session, recipe.service)
        elif _broken_by_blacklist(recipe):
            more["condemned"] = context.look_at_belief

        def make() -> Any:
            return recipe(context.kazoo, self.path, name=f"c{context.client}", **more)

        return Mortal(context, make, recipe.line(self.path))

    @operation()
    def work(
        self, mortal: Mortal, acts: int = 3, pause: float = 0.0, hang: float = 0.0
    ) -> Work | None:
        """Act on the protected resource; or hang for so many seconds with the session alive."""
        return mortal.work_or_hang(acts, pause, hang)

    @operation(name="break")
    def break_(self, mortal: Mortal, patience: float) -> Broken:
        """As operator: blacklist whoever stays first in line for ``patience`` seconds."""
        before = mortal.holder()
        time.sleep(patience)
        try:
            now: Stand | None = mortal.holder()
        except NotDone:
            now = None
        if now is None or now.czxid != before.czxid:
            raise NotDone("the lock has passed on")
        mortal.recipe.blacklist(now, PATIENCE_S)
        return {"session": session_hex(now.session), "node": now.node, "token": now.czxid}

    @operation()
    def die(self, mortal: Mortal) -> Death:
        """Declare that the client's process is dead.

        The dead incarnation does nothing more; its node stays, because its session is not closed.
        The client goes on as its next incarnation, which knows nothing of the node.
        """
        dead, mortal.recipe = mortal.recipe, mortal.make()
        if dead.node is not None and dead.session is not None and dead.token is not None:
            remains = Stand(dead.node, dead.session, dead.identity.encode(), 0, dead.token)
            mortal.remains.append(remains)
        return {"identity": dead.identity, "node": dead.node, "token": dead.token}

    @operation()
    def free(self, mortal: Mortal, dead: list[str], confirm: float) -> Freed:
        """As supervisor: if the holder is among ``dead``, free its lock ``confirm`` s later."""
        stand = mortal.holder()
        identity = mortal.recipe.identity_of(stand)
        if identity not in dead:
            return {"freed": None, "removed": False}
        time.sleep(confirm)
        removed = mortal.recipe.free(stand, PATIENCE_S)
        return {"freed": identity, "node": stand.node, "removed": removed}

    @operation()
    def bury(self, mortal: Mortal) -> None:
        """In the final phase each client removes what its own dead incarnations have left."""
        while mortal.remains:
            mortal.recipe.free(mortal.remains[-1], PATIENCE_S)
            mortal.remains.pop()

    def least_clients(self, recipe: Any) -> int:  # noqa: ARG002 - the same for all
        """Two that contend, and two supervisors; or one that hangs, and an operator."""
        return 4

    def shared(self) -> Deaths:
        """Who is dead, as all clients know it."""
        return Deaths()

    def load(self, client: Client) -> Steps:
        """Operate, supervise or contend. Holders of a ``ListedLock`` hang, the others die."""
        client.shared.note(client.number, client.before)
        if _uses_blacklist(client) and client.number >= max(0, client.clients - 1):
            yield from self._operate(client)
        elif not _uses_blacklist(client) and client.number >= max(1, client.clients - 2):
            yield from self._supervise(client)
        else:
            yield from super().load(client)

    def hold(self, client: Client, granted: Op) -> Answered:  # noqa: ARG002 - see the base
        """Work, and perhaps hang."""
        pause = round(client.draws.uniform(0.001, 0.01), 4)
        hangs = _uses_blacklist(client) and client.draws.one_in(HANGS_IN)
        lengths = SERVICE_HANG_S if _is_refused(client.context.recipe) else HANG_S
        hang = {"hang": client.draws.choose(lengths)} if hangs else {}
        worked = yield self.work(acts=3, pause=pause, **hang)
        client.shared.note(client.number, worked)
        return worked

    def let_go(self, client: Client, depth: int) -> Steps:
        """Release, or die."""
        if _uses_blacklist(client) or not client.draws.one_in(DIES_IN):
            yield from super().let_go(client, depth)
        else:
            died = yield self.die()
            client.shared.note(client.number, died)

    def _operate(self, client: Client) -> Steps:
        """Break the lock of whoever has held it too long."""
        while not client.is_over:
            yield self.break_(patience=round(client.draws.uniform(0.2, 0.6), 3))
            yield client.rest(LOOK_PAUSE_S)

    def _supervise(self, client: Client) -> Steps:
        """Look for the dead, and free what they hold."""
        seen = 0
        looks: dict[str, int] = {}
        while not client.is_over:
            looks |= dict.fromkeys(client.shared.dead[seen:], LOOKS)
            seen = len(client.shared.dead)
            if not looks:
                yield client.rest(0.02)
                continue
            confirm = round(client.draws.uniform(0.0, 0.4), 3)
            came = yield self.free(dead=sorted(looks), confirm=confirm)
            looks.pop((came.value or {}).get("freed") or "", None)
            looks = {identity: left - 1 for identity, left in looks.items() if left > 1}
            yield client.rest(0.05, 0.85)

    def final(self) -> list[ScriptFunction]:
        """Remove the nodes of the dead; then as for every lock."""
        return [until_ok(self.bury(), 8), *super().final()]

    def dismissed(self, timeline: Timeline) -> Collection[str]:
        """The blacklisted sessions; by the servers' logs, if at hand, unacknowledged ones too."""
        if timeline.truth is None or timeline.line is None:
            return {entry.session for entry in blacklistings(timeline.history, "break")}
        return listed_sessions(timeline.truth, f"{timeline.line.path}/{BLACKLIST}")

    def judged_by(self) -> Sequence[Check]:
        """As for every lock; besides, who took locks away, and whether that was quick."""
        return [
            *super().judged_by(),
            check_broken_locks,
            partial(check_told_removals, free="free"),
            check_blacklisting,
        ]


def _uses_blacklist(client: Client) -> bool:
    return _broken_by_blacklist(client.context.recipe)


def _broken_by_blacklist(recipe: Any) -> bool:
    own = issubclass(recipe, OwnBreakableLock) and recipe.by_blacklist
    return own or issubclass(recipe, ListedLock)


def _is_refused(recipe: Any) -> bool:
    return issubclass(recipe, ServiceBlacklistLock)


BREAKING = BreakingWorkload()
