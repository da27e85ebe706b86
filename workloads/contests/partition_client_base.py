"""Clients that contend for one thing: the load, the final phase, and the client's side of both.

Shared by locks and elections, which differ in their words only.
"""

import time
from collections.abc import Callable
from typing import Any

from kazoo.exceptions import KazooException, NoNodeError

from rumpus.checker.every_run.timeouts import TIMED_OUT
from rumpus.checker.exclusion.grants import sequence_number
from rumpus.checker.holds import Words
from rumpus.harness.clients.client_body import ClientContext, Outcome
from rumpus.harness.clients.messages import Acted
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.recipes.promises import Line

LONG_PATIENCE_S = 5.0
"""How long most attempts wait."""

REENTRY_PATIENCE_S = 1.0
"""How long a holder waits that enters again: it needs nobody else."""

SHORT_PATIENCE_S = 0.2
"""How long attempts wait in the end, while others hold it."""

HELD_S = 4.0
"""For how long these hold it: longer than an attempt may last with its grace."""

HELD_PAUSE_S = 0.1

FINAL_BOUND_S = 15.0
"""How long a client may take to be granted once more when every fault is healed."""

REQUEST_PATIENCE_S = 5.0

LINGER_S = 10.0
"""How long a client with broken links goes on acting: past its session's expiry, and past the
time by which it should have known, where ``CUT_OFF_NS`` is allowed for that."""

LINGER_PAUSE_S = 0.05

PART_S = 0.2
"""What a long hold is made of: operations of so many seconds, so that each fault sees some."""

CUT_OFF_NS = 5_000_000_000
"""How long a holder may go on believing where holds last for seconds.

A follower that is cut off from its leader answers heartbeats by itself, until it gives up after
its ``syncLimit``; meanwhile the leader ends the sessions it does not hear of. So the clock of a
client that counts from its last answered heartbeat tells it nothing before that.
"""


class ContentionClient:
    """The client's side: drives one recipe object.

    Args:
        context: the client's.
        words: names of the operations.
        acquire: waits for the grant, for so many seconds; see ``recipes.contests.interfaces``.
        release: lets go.
        held: whether the client believes that it holds; for how many seconds yet, if it knows.
        grant: the recipe object, for ``token``, ``node`` and ``session`` of the grant.
        line: where contenders stand.
    """

    def __init__(
        self,
        context: ClientContext,
        words: Words,
        *,
        acquire: Callable[[float], bool],
        release: Callable[[], None],
        held: Callable[[], bool | float],
        grant: Any,
        line: Line,
    ) -> None:
        self.grants = words.acquire
        self.ends = words.release
        self._context = context
        self._words = words
        self._acquire = acquire
        self._release = release
        self._held = held
        self._grant = grant
        self._line = line

    def believes(self) -> bool | float:
        """What the recipe says of whether we hold."""
        return self._held()

    def invoke(self, f: str, value: Any) -> Outcome:
        """Run one operation; what escapes is an unknown outcome."""
        if f == self._words.acquire:
            return self._do_acquire(value["timeout"])
        if f == self._words.work:
            return self._do_work(value)
        if f == self._words.release:
            return self._do_release()
        if f == "inspect":
            return self._do_inspect(value["patience"])
        raise ValueError(f"a client of this workload knows no operation {f!r}")

    def _do_acquire(self, timeout: float) -> Outcome:
        try:
            granted = self._acquire(timeout)
        except OutcomeUnknown as error:
            return Outcome("info", error=str(error))
        except NotDone as error:
            return Outcome("fail", error=str(error))
        if not granted:
            return Outcome("fail", error=TIMED_OUT)
        session = self._grant.session
        return Outcome(
            "ok",
            {
                "session": f"0x{session & 0xFFFFFFFFFFFFFFFF:x}" if session is not None else None,
                "token": self._grant.token,
                "node": self._grant.node,
            },
        )

    def _do_work(self, value: dict[str, Any]) -> Outcome:
        """Act as holders do: look whether we still hold, do some work, then touch the resource.

        The first action comes at once. Between the look and the action lies the gap that no
        look can close. A client whose links are broken goes on for as long as it believes, up
        to ``LINGER_S``: a sound one will not for long.
        """
        acts, pause = value["acts"], value["pause"]
        seconds, guard = value.get("seconds", 0.0), value.get("guard", 0.0)
        token = self._grant.token
        done = 0
        linger_until: float | None = None
        while done < acts or (linger_until is not None and time.monotonic() < linger_until):
            held = self._held()
            if not held:
                if not done:  # whoever is never let work would do nothing but acquire and release
                    time.sleep(acts * pause)
                return Outcome("fail", {"acts": done}, "no longer held")
            if guard and held <= guard:
                return Outcome("fail", {"acts": done}, "too little of the window is left")
            if seconds:
                time.sleep(seconds)
            if done:
                time.sleep(pause if linger_until is None else LINGER_PAUSE_S)
            answer = self._act(token)
            if not answer.accepted:
                return Outcome("fail", {"acts": done}, "refused by the fence")
            done += 1
            if answer.linger and linger_until is None:
                linger_until = time.monotonic() + LINGER_S
        return Outcome("ok", {"acts": done})

    def _act(self, token: int | None) -> Acted:
        """One action on the protected resource."""
        return self._context.act(token)

    def _do_release(self) -> Outcome:
        try:
            self._release()
        except NotDone as error:
            return Outcome("fail", error=str(error))
        except OutcomeUnknown as error:
            return Outcome("info", error=str(error))
        return Outcome("ok")

    def _do_inspect(self, patience: float) -> Outcome:
        """Look what is left in the line, giving sessions of the dead time to expire."""
        deadline = time.monotonic() + patience
        while True:
            try:
                nodes = self._contenders()
            except (KazooException, self._context.kazoo.handler.timeout_exception) as error:
                return Outcome("fail", error=f"{type(error).__name__}: {error}")
            if not nodes or time.monotonic() > deadline:
                return Outcome("ok", {"nodes": nodes})
            time.sleep(0.2)

    def _contenders(self) -> list[dict[str, Any]]:
        kazoo = self._context.kazoo
        line = self._line
        kazoo.sync_async(line.path).get(timeout=REQUEST_PATIENCE_S)
        if line.kind == "single":
            paths = [line.path]
        else:
            try:
                names = kazoo.get_children_async(line.path).get(timeout=REQUEST_PATIENCE_S)
            except NoNodeError:
                names = []
            paths = [
                f"{line.path}/{name}"
                for name in sorted(names)
                if line.kind == "pool" or (line.mark in name and sequence_number(name) >= 0)
            ]
        nodes = []
        for path in paths:
            stat = kazoo.exists_async(path).get(timeout=REQUEST_PATIENCE_S)
            if stat is not None:
                owner = stat.ephemeralOwner
                nodes.append(
                    {
                        "path": path,
                        "owner": f"0x{owner & 0xFFFFFFFFFFFFFFFF:x}" if owner else None,
                        "czxid": stat.czxid,
                    }
                )
        return nodes


def accepted_actions(history: Any) -> Any:
    """See ``framework.checks``."""
    from rumpus.workloads.framework.checks import accepted_actions as need  # noqa: PLC0415

    return need(history, ())
