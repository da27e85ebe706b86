"""One client of a contest: it waits for its turn, acts while it holds, and lets go."""

import threading
import time
from contextlib import suppress
from typing import Any, Final, Literal, NotRequired, TypedDict

from rumpus.checker.every_run.timeouts import TIMED_OUT
from rumpus.checker.history import session_hex
from rumpus.checker.timeline.ownership import sequence_number
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.clients.leftovers import (
    REQUEST_PATIENCE_S,
    Node,
    children_of,
    ephemerals_below,
    nodes_at,
)
from rumpus.harness.clients.messages import Acted
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.promises import Line
from rumpus.workloads.framework.operation import Failed
from rumpus.workloads.own.cancelled_attempt import CancelledWay

TRESPASS_PATIENCE_S: Final = 5.0
"""How much longer than its timeout the other thread's try is waited for."""


class Grant(TypedDict):
    """What was granted: in which session, with which fencing token, by which znode.

    ``until``: when the client stops believing that it holds, if that is known. ``sequencer``: a
    string that proves the hold to others (as in Chubby), where the recipe gives one.
    """

    session: NotRequired[str | None]
    token: NotRequired[int | None]
    node: NotRequired[str | None]
    until: NotRequired[int | None]
    sequencer: NotRequired[str | None]


class Census(TypedDict):
    """Who contends, in their order, or who holds, in any, as the recipe told."""

    what: Literal["contenders", "holders"]
    names: list[str]


class Trespass(TypedDict):
    """Whether another thread was granted what a thread of the same client held."""

    granted: bool


class Work(TypedDict):
    """What a holder did.

    ``acts``: how many actions. ``acknowledged``: the epoch that a leader acknowledged. ``asked``:
    whether the holder was asked to release. ``writes``: token and version of each write through the
    fence. ``refused``: the token, if the fence refused it. ``identity``: the holder's, in locks
    that others break by naming it.
    """

    acts: NotRequired[int | None]
    acknowledged: NotRequired[int | None]
    asked: NotRequired[bool | None]
    writes: NotRequired[list[tuple[int, int]] | None]
    refused: NotRequired[int | None]
    identity: NotRequired[str | None]


class Contender:
    """The client's side of a contest.

    Args:
        context: the client's context.
        recipe: a lock, a semaphore or the like (``recipes.contests``).
        line: which znodes the contenders have; None where the servers are not ZooKeeper's.
    """

    def __init__(self, context: ClientContext, recipe: Any, line: Line | None) -> None:
        self.context = context
        self.recipe = recipe
        self.line = line if context.servers is None else None

    # Calls of the recipe; subclasses replace them where the recipe names them otherwise.

    def enter(self, timeout: float) -> bool:
        """Wait for the grant for at most ``timeout`` seconds; whether it was granted."""
        return bool(self.recipe.acquire(timeout))

    def enter_until_cancelled(self, timeout: float, way: CancelledWay) -> bool:
        """Wait for the grant, until another thread cancels that; whether it was granted."""
        return bool(self.recipe.acquire_until_cancelled(timeout, way))

    def leave(self) -> None:
        """Release."""
        self.recipe.release()

    def held(self) -> bool | float:
        """Whether the client believes that it holds.

        For a recipe with ``remaining()``: for how many more seconds.
        """
        remaining = getattr(self.recipe, "remaining", None)
        return self.says() if remaining is None else remaining() or False

    def says(self) -> bool:
        """Whether the recipe says that the client holds."""
        return bool(self.recipe.held)

    def told(self) -> Work:
        """What else the value of a ``work`` says, whether it succeeds or fails."""
        return {}

    # Called by the workload.

    def acquire(self, timeout: float, cancelled: CancelledWay | None = None) -> Grant:
        """Wait for the grant, and return its session, token and node."""
        granted = (
            self.enter(timeout)
            if cancelled is None
            else self.enter_until_cancelled(timeout, cancelled)
        )
        if not granted:
            raise NotDone(TIMED_OUT)
        session = self.recipe.session
        return {
            "session": None if session is None else session_hex(session),
            "token": self.recipe.token,
            "node": self.recipe.node,
        }

    def trespass(self, timeout: float) -> Trespass:
        """Whether another thread of the program is granted it, too; that one releases it again."""
        granted = []

        def enter() -> None:
            with suppress(NotDone, OutcomeUnknown):
                if self.enter(timeout):
                    granted.append(True)
                    self.leave()

        thread = threading.Thread(target=enter, daemon=True)
        thread.start()
        thread.join(timeout + TRESPASS_PATIENCE_S)
        return {"granted": bool(granted)}

    def work(self, acts: int, pause: float, seconds: float = 0.0, guard: float = 0.0) -> Work:
        """Act as holders do: look whether we still hold, do some work, then touch the resource.

        The first action has no pause before it. The hold can end between the look and the action,
        and no look prevents that.
        """
        token = self.recipe.token
        done = 0

        def failed(why: str) -> Failed:
            return Failed(why, {"acts": done, **self.told()})

        while done < acts:
            held = self.held()
            if not held:
                if not done:  # else such a client would only acquire and release, without a pause
                    time.sleep(acts * pause)
                raise failed("no longer held")
            if guard and held <= guard:
                raise failed("too little of the window is left")
            if seconds:
                time.sleep(seconds)
            if done:
                time.sleep(pause)
            if not self.act(token).accepted:
                raise failed("refused by the fence")
            done += 1
        return {"acts": done, **self.told()}

    def act(self, token: int | None) -> Acted:
        """One action on the protected resource."""
        return self.context.act(token)

    def close(self) -> None:
        """End what a recipe for other servers has going on in the background."""
        if self.context.servers is not None:
            self.recipe.close()

    def left(self) -> list[Node]:
        """The contenders' nodes that are there."""
        if self.line is None:
            return [Node(path=place, owner=None, czxid=0) for place in self.recipe.left()]
        return contenders_of(self.context.kazoo, self.line)


def contenders_of(kazoo: Any, line: Line) -> list[Node]:
    """The contenders' nodes that are there; raises what kazoo raises."""
    if line.kind == "single":
        kazoo.sync_async(line.path).get(timeout=REQUEST_PATIENCE_S)
        return nodes_at(kazoo, [line.path])
    if line.kind == "unknown":
        return ephemerals_below(kazoo, line.path)
    paths = children_of(kazoo, line.path)
    if line.kind == "sequential":
        paths = [
            path
            for path in paths
            if line.mark in path.rpartition("/")[2] and sequence_number(path) >= 0
        ]
    return nodes_at(kazoo, paths)
