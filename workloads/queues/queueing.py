"""Clients that put elements into a queue and take them out: load, final phase, and their side.

Shared by queues and priority queues. Operations: ``enqueue`` {value, timeout[, priority]};
``dequeue`` {timeout} -> {value}, null if there was nothing at some moment of the call, and failed
if nothing was found and that says nothing. Where elements are claimed: ``work`` {seconds} on one,
then ``acknowledge`` or ``release`` {value}. ``leave``: the client ends its session, and comes back
in another one; that is an ``info`` like that of any client that has to be started anew. ``inspect``
looks what is left.
"""

import time
from typing import Any, Final

import msgspec
from kazoo.exceptions import KazooException, NoNodeError

from rumpus.checker.history import Op
from rumpus.checker.holds import Words
from rumpus.harness.clients.client_body import ClientContext, Leaves, Outcome
from rumpus.harness.generators.combinators import (
    each_thread,
    limit,
    on_threads,
    phases,
    repeat,
    stagger,
    until_ok,
)
from rumpus.harness.generators.generator import (
    PENDING,
    SECOND,
    Answer,
    Context,
    Generator,
    Invocation,
    Pending,
    Thread,
)
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.queue.interfaces import QueueUnknown
from rumpus.workloads.queues.handoffs import Handoffs, Schedule

WORDS: Final = Words(acquire="dequeue", work="work", release="acknowledge", thing="element")

PRIORITIES: Final = 12
"""How many priorities there are: enough for two digits."""

RATE_S: Final = 0.02
"""Mean seconds from one operation of the load to the next, all clients together."""

FLOOD_S: Final = 1.0
"""Length of a phase in which more elements are put than asked for, in seconds."""

EBB_S: Final = 2.5
"""Length of the phase after it, in which only the feeders put. Longer where elements are claimed,
and more are put: a consumer that claims one is busy with it for three operations."""

CLAIMED_FLOOD_S: Final = 3.0
CLAIMED_EBB_S: Final = 6.0
"""The same where elements are claimed."""

HANDOFFS_S: Final = 2.5
"""Length of the phase after that, of handoffs: see ``queues.handoffs``. There is none where
elements are claimed: nobody is promised to find what is there. A ``follower-lag`` of the default
plan is about as long as the three phases."""

LEAVERS: Final = 24
"""One in so many operations of a flood is a producer's that leaves: its elements are to stay."""

LONGEST_WAIT_S: Final = 30.0
"""How long a client waits for an element at most: later it would be taken for hung, and killed."""

VIGIL_S: Final = 20.0
VIGIL_SHARE: Final = 0.4
"""So long before the load's end, but in so much of it at most, all but the feeders only take, and
those put little. In runs of 60 s that is across two or three faults."""

FLOOD: Final = 3
"""How many of four operations of a flood are puts."""

FEEDERS: Final = 2
"""How many those are, so that a fault that strikes one does not silence the run."""

TRICKLE_S: Final = 0.25
"""Seconds between two elements of a feeder, then and in the ebb."""

LITTLE_S: Final = 0.3
"""How long the first feeder's puts may take, so that it does something in every fault."""

PATIENCE_S: Final = 1.5
"""How long most others' may. Such a put outlasts its connection when a leader is lost, is sent
again, waits for the next connection, and is given up before there is one: it happens later."""

FEEDING_S: Final = 3.0
"""So long after the load's end, with every fault healed, those who wait are fed."""

VIGIL_END_S: Final = 9.0
"""So long after the load's end those who still wait give up."""

MOST_TRIES: Final = 5
"""How often an acknowledgement of unknown outcome is tried: some remain unknown for good."""

FINAL_BOUND_S: Final = 15.0
"""How long a client may take to put and take an element when every fault is healed."""

REQUEST_PATIENCE_S: Final = 5.0


class Traffic(msgspec.Struct, frozen=True):
    """One client's load.

    It puts and takes until the vigil begins, for some seconds more of the one and then more of the
    other, so that the queue is long at times and empty at others. In the vigil everybody but the
    feeders waits for elements, across the faults that come last, until each has got one that was
    put after the faults were healed. Nobody's wait is cut short but by an element, so a waiter
    that has slept through a lost connection sleeps on to the end, and is found out.
    """

    seed: Seed
    claims: bool
    priorities: bool
    schedule: Schedule
    until: int
    hungry: int
    """How many a feeder has to feed in the end; 0 for everybody else."""
    put_patience: float
    """How long its puts may take, mostly, in seconds."""
    stage: str = "free"
    value: Any = None
    puts: int = 0
    fed: int = 0
    tries: int = 0
    rested: int = 0
    """When the feeder puts the next one."""

    def op(self, ctx: Context) -> Answer:
        """The next step, when the client is free."""
        process = ctx.next_free()
        if process is None:
            return PENDING, self
        if self.stage == "work":
            return Invocation("work", {"seconds": self._work()}, process, ctx.time), self
        if self.stage in ("acknowledge", "release"):
            return Invocation(self.stage, {"value": self.value}, process, ctx.time), self
        end = self.until + int(VIGIL_END_S * SECOND)
        if self.stage == "served" or ctx.time >= end:
            return None
        vigil = ctx.time >= self.schedule.since
        tide = self._tide(ctx.time)
        if self.hungry and (vigil or tide == 0):
            if ctx.time < self.rested:
                return Pending(self.rested), self
            puts, left = True, self.put_patience
        elif vigil:
            puts, left = False, (end - ctx.time) / SECOND
        else:
            if tide == FLOOD and self.seed.child("leave").below(LEAVERS)[0] == 0:
                return Invocation("leave", {}, process, ctx.time), self
            puts = self.seed.below(4)[0] < tide
            left = self._patience(ctx.time, end, puts=puts)
        if puts:
            value = {"value": f"{process}.{self.puts}", "timeout": round(left, 3)}
            return Invocation("enqueue", value | self._priority(), process, ctx.time), self
        return Invocation("dequeue", {"timeout": round(left, 3)}, process, ctx.time), self

    def update(self, ctx: Context, event: Op) -> Generator:  # noqa: ARG002 - the protocol's
        """What comes next depends on what came of this."""
        if event.type == "invoke":
            return self
        seed = self.seed.next()[1]
        stage, value, puts, fed = self.stage, self.value, self.puts, self.fed
        tries = self.tries + 1 if event.f in ("acknowledge", "release") else 0
        late = event.time >= self._feeding
        if event.f == "enqueue":
            puts += 1
            fed += late and event.type == "ok"
            stage = "served" if self.hungry and fed >= self.hungry else "free"
        elif event.f == "dequeue" and (came := _came_out(event)) is not None:
            stage = "work" if self.claims else "served" if late else "free"
            value = came
        elif event.f == "work":
            stage = "release" if not late and seed.below(8)[0] == 0 else "acknowledge"
        elif tries and (event.type != "info" or tries == MOST_TRIES):
            stage = "served" if late and not self.hungry else "free"
        return msgspec.structs.replace(
            self,
            seed=seed,
            stage=stage,
            value=value,
            puts=puts,
            fed=fed,
            tries=tries,
            rested=event.time + int(TRICKLE_S * SECOND),
        )

    @property
    def _feeding(self) -> int:
        return self.until + int(FEEDING_S * SECOND)

    def _tide(self, time: int) -> int:
        """How many of four operations are to be puts."""
        left = self.schedule.left(time) - self.schedule.seconds
        if self.claims:
            return 1 if left < CLAIMED_EBB_S else FLOOD
        return 0 if left < EBB_S else FLOOD

    def _patience(self, time: int, end: int, *, puts: bool) -> float:
        """One in three has little, so that waiters give up while elements come in.

        Where nothing is claimed other takers wait until they are fed. But the feeders always have
        little, so that something is done in every fault.
        """
        dice, seed = self.seed.child("patience").below(3)
        if dice == 0 or (self.hungry and not self.claims and not puts):
            return 0.02 + 0.3 * seed.uniform()[0]
        if puts or self.claims:
            return self.put_patience if puts else PATIENCE_S
        return min(LONGEST_WAIT_S, (end - time) / SECOND)

    def _work(self) -> float:
        """One in sixteen takes long, so that faults find somebody at work."""
        dice, seed = self.seed.child("work").below(16)
        return round(seed.uniform()[0] * (1.5 if dice == 0 else 0.03), 4)

    def _priority(self) -> dict[str, int]:
        """Any but the most urgent, which is the handoffs'."""
        if not self.priorities:
            return {}
        return {"priority": 1 + self.seed.child("priority").below(PRIORITIES - 1)[0]}


class Turn(msgspec.Struct, frozen=True):
    """One client's final phase: put an element, and get one; or only get what is left.

    Args:
        claims: whether what comes out has to be acknowledged.
        priorities: whether what is put has one.
        stage: what comes next: ``enqueue``, ``dequeue`` or ``acknowledge``.
        draining: go on until nothing comes, waiting so many seconds; 0 to get one only.
    """

    claims: bool
    priorities: bool
    stage: str
    draining: float = 0.0
    deadline: int | None = None
    value: Any = None
    puts: int = 0
    tries: int = 0

    def op(self, ctx: Context) -> Answer:
        """The next step; exhausted when it is done, or the time is up."""
        deadline = self.deadline
        if deadline is None:
            deadline = ctx.time + int(FINAL_BOUND_S * SECOND)
        here = msgspec.structs.replace(self, deadline=deadline)
        if self.stage == "done" or (ctx.time >= deadline and self.stage != "acknowledge"):
            return None
        process = ctx.next_free()
        if process is None:
            return PENDING, here
        value: dict[str, Any] = {"value": self.value}
        if self.stage == "enqueue":
            value = {"value": f"{process}.final{self.puts}", "timeout": REQUEST_PATIENCE_S}
            if self.priorities:
                value["priority"] = 0
        elif self.stage == "dequeue":
            value = {"timeout": self.draining or REQUEST_PATIENCE_S}
        return Invocation(self.stage, value, process, ctx.time), here

    def update(self, ctx: Context, event: Op) -> Generator:  # noqa: ARG002 - the protocol's
        """On to the next stage when this one is through."""
        if event.type == "invoke":
            return self
        stage, value = self.stage, self.value
        after = "dequeue" if self.draining else "done"
        tries = self.tries + 1 if event.f == "acknowledge" else 0
        if event.f == "enqueue" and event.type == "ok":
            stage = "dequeue"
        elif event.f == "dequeue":
            value = _came_out(event)
            if value is not None:
                stage = "acknowledge" if self.claims else after
            elif self.draining and event.type != "info":
                stage = "done"
        elif tries and (event.type != "info" or tries == MOST_TRIES):
            stage = after
        return msgspec.structs.replace(
            self, stage=stage, value=value, puts=self.puts + 1, tries=tries
        )


def _came_out(event: Op) -> Any:
    """What an acknowledged dequeue took, None if nothing."""
    return (event.value or {}).get("value") if event.type == "ok" else None


def claims(recipe: Any) -> bool:
    """Whether a recipe's elements are claimed first and acknowledged."""
    return bool(recipe.delivery == "at-least-once")


def _hungry(thread: Thread, clients: int) -> int:
    """How many a client has to feed: the first feeds all but the second, who lends it a hand."""
    feeders = min(FEEDERS, clients - 1)
    return 0 if thread not in range(feeders) else clients - feeders if thread == 0 else 1


def load(setting: WorkloadContext, *, priorities: bool) -> Generator:
    """Everybody puts and takes; then all but two wait, and these feed them."""
    claimed = claims(setting.recipe)
    phases = (CLAIMED_FLOOD_S, CLAIMED_EBB_S, 0.0) if claimed else (FLOOD_S, EBB_S, HANDOFFS_S)
    vigil = min(int(VIGIL_S * SECOND), int(VIGIL_SHARE * setting.until))
    schedule = Schedule(phases[-1], sum(phases), setting.until - vigil, setting.until)
    traffic: Generator = each_thread(
        lambda thread: Traffic(
            setting.seed.child(thread),
            claimed,
            priorities,
            schedule,
            setting.until,
            _hungry(thread, setting.clients),
            LITTLE_S if thread == 0 else PATIENCE_S,
        )
    )
    if not claimed:
        traffic = Handoffs(traffic, schedule, priorities, setting.seed.child("handoffs"))
    return stagger(RATE_S, traffic, seed=setting.seed.child("rate"))


def final(setting: WorkloadContext, *, priorities: bool) -> Generator:
    """Everybody puts and gets one more; somebody takes all the rest, and looks what is left."""
    patience = round(setting.session_timeout + 3.0, 3)
    inspect = Invocation("inspect", {"patience": patience})
    claimed = claims(setting.recipe)
    return phases(
        each_thread(Turn(claimed, priorities, "enqueue")),
        on_threads({0}, Turn(claimed, priorities, "dequeue", draining=patience)),
        on_threads({0}, until_ok(limit(5, repeat(inspect)))),
    )


class QueueClient:
    """The client's side: drives one recipe object.

    Args:
        context: the client's.
        kind: the recipe.
        path: where the queue is.
    """

    grants = ""
    ends = ""

    def __init__(self, context: ClientContext, kind: Any, path: str) -> None:
        self._kazoo = context.kazoo
        self._kind = kind
        self._path = path
        self._queue = kind(context.kazoo, path)
        self._claim: Any = None

    def believes(self) -> bool:
        """False: nobody holds a queue."""
        return False

    def invoke(self, f: str, value: Any) -> Outcome:
        """Run one operation; what escapes is an unknown outcome."""
        try:
            return self._run(f, value)
        except QueueUnknown as error:
            named = None if error.element is None else {"value": error.element.decode()}
            return Outcome("info", named, str(error))
        except NotDone as error:
            return Outcome("fail", error=str(error))

    def _run(self, f: str, value: Any) -> Outcome:
        if f == "enqueue":
            return self._put(value["value"], value["timeout"], value.get("priority"))
        if f == "dequeue":
            return self._take(value["timeout"])
        if f == "work":
            time.sleep(value["seconds"])
            return Outcome("ok")
        if f in ("acknowledge", "release"):
            return self._finish(f, value["value"])
        if f == "leave":
            raise Leaves
        if f == "inspect":
            return self._inspect(value["patience"])
        raise ValueError(f"a client of this workload knows no operation {f!r}")

    def _put(self, value: str, timeout: float, priority: int | None) -> Outcome:
        more = {} if priority is None else {"priority": priority}
        self._queue.put(value.encode(), timeout, **more)
        return Outcome("ok")

    def _take(self, timeout: float) -> Outcome:
        if claims(self._kind):
            self._claim = self._queue.claim(timeout)
            element = None if self._claim is None else self._claim.element
        else:
            element = self._queue.take(timeout)
        if element is not None:
            return Outcome("ok", {"value": element.decode()})
        if self._kind.sees_empty and not claims(self._kind):
            return Outcome("ok", {"value": None})
        return Outcome("fail", error="found nothing")

    def _finish(self, way: str, value: str) -> Outcome:
        claim = self._claim
        if claim is None or claim.element.decode() != value:
            return Outcome("fail", error="not claimed in this life of the client")
        getattr(claim, way)(REQUEST_PATIENCE_S)
        self._claim = None
        return Outcome("ok")

    def _inspect(self, patience: float) -> Outcome:
        """Look what is left, giving sessions of the dead time to expire."""
        deadline = time.monotonic() + patience
        while True:
            try:
                left = {"elements": self._elements(), "nodes": self._claims()}
            except (KazooException, self._kazoo.handler.timeout_exception) as error:
                return Outcome("fail", error=f"{type(error).__name__}: {error}")
            if not any(left.values()) or time.monotonic() > deadline:
                return Outcome("ok", left)
            time.sleep(0.2)

    def _children(self, folder: str) -> list[str]:
        self._kazoo.sync_async(folder).get(timeout=REQUEST_PATIENCE_S)
        try:
            names = self._kazoo.get_children_async(folder).get(timeout=REQUEST_PATIENCE_S)
        except NoNodeError:
            return []
        return [f"{folder}/{name}" for name in sorted(names)]

    def _elements(self) -> list[str]:
        values = []
        for path in self._children(self._kind.elements(self._path)):
            data, _ = self._kazoo.get_async(path).get(timeout=REQUEST_PATIENCE_S)
            values.append(data.decode())
        return values

    def _claims(self) -> list[dict[str, Any]]:
        folder = self._kind.claims(self._path)
        nodes = []
        for path in self._children(folder) if folder is not None else []:
            stat = self._kazoo.exists_async(path).get(timeout=REQUEST_PATIENCE_S)
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
