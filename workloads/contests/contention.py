"""Clients that contend for one thing: the load, the final phase, and the client's side of both.

Shared by locks and elections, which differ in their words only.
"""

import time
from collections.abc import Callable
from typing import Any

import msgspec
from kazoo.exceptions import KazooException, NoNodeError

from rumpus.checker.every_run.timeouts import TIMED_OUT
from rumpus.checker.exclusion.grants import sequence_number
from rumpus.checker.history import Op, Process
from rumpus.checker.holds import Words
from rumpus.harness.clients.client_body import ClientContext, Outcome
from rumpus.harness.clients.messages import Acted
from rumpus.harness.generators.combinators import (
    any_of,
    each_process,
    each_thread,
    limit,
    on_threads,
    phases,
    repeat,
    sequence,
    until_ok,
)
from rumpus.harness.generators.generator import PENDING, Answer, Context, Generator, Invocation
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import Action, WorkloadContext
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


class HoldCycle(msgspec.Struct, frozen=True):
    """One process's load: acquire; if granted work and release; and again until the time is up.

    What is held then is still let go of, so that nobody is left in the way of the final phase.
    One attempt in six has little patience, so that waiters leave the line from its middle; a
    re-entrant recipe is entered twice by one hold in eight. Where there are ``modes`` to hold
    it in, each attempt draws one. Where ``longest`` is not 0, one hold in ``one_in`` lasts
    up to so many seconds, in several ``work``, so that faults strike while something is believed.
    """

    words: Words
    seed: Seed
    reentrant: bool
    until: int
    stage: str = "acquire"
    depth: int = 0
    modes: tuple[str, ...] = ()
    longest: float = 0.0
    one_in: int = 4
    parts: int = 0
    action: Action = Action()

    def op(self, ctx: Context) -> Answer:
        """The next step, when the process is free."""
        process = ctx.next_free()
        if process is None:
            return PENDING, self
        if self.stage == "acquire" and not self.depth and ctx.time >= self.until:
            return None
        if self.stage == "acquire":
            patience = min(self._patience(), REENTRY_PATIENCE_S if self.depth else LONG_PATIENCE_S)
            f, value = self.words.acquire, {"timeout": patience, **self._mode()}
        elif self.stage == "work":
            f, value = self.words.work, self._work()
        else:
            f, value = self.words.release, None
        return Invocation(f, value, process, ctx.time), self

    def update(self, ctx: Context, event: Op) -> Generator:  # noqa: ARG002 - the protocol's
        """What comes next depends on what came of this."""
        if event.type == "invoke":
            return self
        _, seed = self.seed.next()
        stage, depth, parts = "acquire", self.depth, 0
        if event.f == self.words.acquire and event.type == "ok":
            enter_again = self.reentrant and not depth and seed.below(8)[0] == 0
            depth = depth + 1 if self.words.counted else 1
            stage = "acquire" if enter_again else "work"
            parts = self._parts(seed)
        elif event.f == self.words.work and event.type == "ok" and self.parts:
            stage, parts = "work", self.parts - 1
        elif event.f == self.words.work or (event.f == self.words.acquire and depth):
            stage = "release"
        elif event.f == self.words.release and depth > 1 and event.type == "ok":
            depth -= 1
            stage = "release"
        elif event.f == self.words.release:
            depth = 0
        return msgspec.structs.replace(self, seed=seed, stage=stage, depth=depth, parts=parts)

    def _parts(self, seed: Seed) -> int:
        """How many parts of a long hold there are to be, none of a short one."""
        dice, seed = seed.child("long").below(self.one_in)
        return int(self.longest * seed.uniform()[0] / PART_S) if dice == 0 else 0

    def _mode(self) -> dict[str, str]:
        if not self.modes:
            return {}
        return {"mode": self.seed.child("mode").choose(self.modes)[0]}

    def _patience(self) -> float:
        dice, seed = self.seed.below(6)
        return round(0.02 + 0.3 * seed.uniform()[0], 3) if dice == 0 else LONG_PATIENCE_S

    def _work(self) -> dict[str, Any]:
        if self.parts:
            return {"acts": 1 + int(PART_S / LINGER_PAUSE_S), "pause": LINGER_PAUSE_S}
        if self.action.seconds:
            slow = self.seed.child("slow").below(2)[0] == 0
            length = self.action.seconds if slow else 0.0
            return {"acts": 1, "pause": 0.0, "seconds": length, "guard": self.action.guard}
        return {"acts": 3, "pause": round(0.001 + 0.009 * self.seed.uniform()[0], 4)}


class Impatient(msgspec.Struct, frozen=True):
    """One attempt with little patience while others hold; what is granted is let go of."""

    words: Words
    value: dict[str, Any]
    stage: str = "acquire"

    def op(self, ctx: Context) -> Answer:
        """The next step; exhausted after the attempt, or the release."""
        if self.stage == "done":
            return None
        process = ctx.next_free()
        if process is None:
            return PENDING, self
        if self.stage == "acquire":
            return Invocation(self.words.acquire, self.value, process, ctx.time), self
        return Invocation(self.words.release, None, process, ctx.time), self

    def update(self, ctx: Context, event: Op) -> Generator:  # noqa: ARG002 - the protocol's
        """Granted: let go. Refused: done."""
        if event.type == "invoke":
            return self
        granted = event.f == self.words.acquire and event.type == "ok"
        return msgspec.structs.replace(self, stage="release" if granted else "done")


class GrantedOnce(msgspec.Struct, frozen=True):
    """One client's final phase: try until granted or the bound is spent, then let go."""

    words: Words
    deadline: int | None = None
    stage: str = "acquire"
    mode: str | None = None

    def op(self, ctx: Context) -> Answer:
        """The next step; exhausted after the release, or when the time is up."""
        deadline = self.deadline
        if deadline is None:
            deadline = ctx.time + int(FINAL_BOUND_S * 1e9)
        here = msgspec.structs.replace(self, deadline=deadline)
        if self.stage == "done":
            return None
        process = ctx.next_free()
        if process is None:
            return PENDING, here
        if self.stage == "acquire" and ctx.time >= deadline:
            return None
        if self.stage == "acquire":
            left = max(0.1, min(LONG_PATIENCE_S, (deadline - ctx.time) / 1e9))
            value: dict[str, Any] = {"timeout": round(left, 3)}
            if self.mode is not None:
                value["mode"] = self.mode
            return Invocation(self.words.acquire, value, process, ctx.time), here
        return Invocation(self.words.release, None, process, ctx.time), here

    def update(self, ctx: Context, event: Op) -> Generator:  # noqa: ARG002 - the protocol's
        """Granted: let go. Let go: done."""
        if event.type == "invoke":
            return self
        stage = self.stage
        if event.f == self.words.acquire and event.type == "ok":
            stage = "release"
        elif event.f == self.words.release:
            stage = "done"
        return msgspec.structs.replace(self, stage=stage)


def load(
    words: Words,
    setting: WorkloadContext,
    modes: tuple[str, ...] = (),
    longest: float = 0.0,
    one_in: int = 4,
) -> Generator:
    """All clients contend until the time is up; see ``HoldCycle``."""
    reentrant = setting.recipe.promises.reentrant
    return each_process(
        lambda process: HoldCycle(
            words,
            setting.seed.child(process),
            reentrant,
            setting.until,
            modes=modes,
            longest=longest,
            one_in=one_in,
            action=setting.action,
        )
    )


def final(
    words: Words, setting: WorkloadContext, modes: tuple[str, ...] = (), permits: int = 1
) -> Generator:
    """Everybody is granted once more; then some hold it for long, and all others lose patience.

    In the end somebody looks what is left in the line.
    """
    inspect = Invocation("inspect", {"patience": round(setting.session_timeout + 3.0, 3)})
    return phases(
        each_thread(
            lambda thread: GrantedOnce(
                words,
                mode=modes[thread % len(modes)] if modes and isinstance(thread, int) else None,
            )
        ),
        *_impatience(words, {"mode": "write"} if modes else {}, permits),
        on_threads(lambda thread: thread == 0, until_ok(limit(5, repeat(inspect)))),
    )


def _impatience(words: Words, mode: dict[str, str], permits: int) -> tuple[Generator, ...]:
    """As many hold as may, for longer than any attempt of the others may last."""

    def holds(thread: Process) -> bool:
        return isinstance(thread, int) and thread < permits

    acquire = Invocation(words.acquire, {"timeout": LONG_PATIENCE_S, **mode})
    acts = round(HELD_S / HELD_PAUSE_S)
    work = Invocation(words.work, {"acts": acts, "pause": HELD_PAUSE_S})
    impatient = Impatient(words, {"timeout": SHORT_PATIENCE_S, **mode})
    return (
        on_threads(holds, each_thread(acquire)),
        any_of(
            on_threads(holds, each_thread(sequence(work, Invocation(words.release)))),
            on_threads(lambda thread: not holds(thread), each_thread(impatient)),
        ),
    )


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
