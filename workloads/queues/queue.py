"""Queues: clients put elements and take them, first in, first out.

``dequeue`` -> {value}, null if the queue was empty at some moment of the call; it fails if nothing
was found but the queue need not have been empty. With at-least-once delivery an element is claimed
first: then follow ``work``, and ``acknowledge`` or ``release`` {value}. ``leave`` ends the client's
session; the client comes back in another one. Where the recipe can: ``enqueue-all`` {values} puts
several, all or none; ``size`` -> how many there are.
"""

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, ClassVar, NotRequired, TypedDict

from kazoo.client import KazooClient

from rumpus.checker.check import Check
from rumpus.checker.every_run.timeouts import check_timeouts
from rumpus.checker.families.censuses import check_censuses
from rumpus.checker.families.queue_accounting import count_awaited
from rumpus.checker.history import Op
from rumpus.checker.timeline.holds import Words
from rumpus.harness.clients.client_body import ClientContext, Leaves
from rumpus.harness.clients.leftovers import Node, children_of, nodes_at, until_nothing_is_left
from rumpus.harness.generators.generator import SECOND, Invocation
from rumpus.harness.generators.script import Client, ScriptFunction, Step, Steps, only, until_ok
from rumpus.recipes.curator.catalogue import CURATOR_QUEUES
from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.queue.catalogue import QUEUES
from rumpus.recipes.queue.interfaces import Claim, QueueUnknown
from rumpus.workloads.framework.checks import at_least
from rumpus.workloads.framework.operation import Unknown, operation
from rumpus.workloads.framework.workload import FINAL_BOUND_S, Workload
from rumpus.workloads.own.own_queue import OwnQueue
from rumpus.workloads.queues.handoffs import PATIENCE_S, Handoffs, element_of

TAKEN_S = (1.0, 2.5, 2.5)
CLAIMED_S = (3.0, 6.0, 0.0)
"""Seconds of the phases of a period, where elements are taken at once and where they are claimed: a
*flood*, in which more elements are put than taken; an *ebb*, in which only the feeders put; and
handoffs (``queues.handoffs``). A ``follower-lag`` of the default plan is about as long. Where
elements are claimed the ebb is longer, and others put in it, too, for each element that is claimed
takes its consumer three operations. There are no handoffs then: those recipes do not promise that a
consumer finds the elements there are."""

LEAVERS = 24
"""One in this many operations of a flood is a ``leave``: a client's elements must outlive its
session."""

MOST_AT_ONCE = 4
"""How many elements a batch has at most; it may have none."""

LONGEST_WAIT_S = 30.0
"""How long a client waits for an element at most: after more it would seem hung, and be killed."""

VIGIL_S = 20.0
VIGIL_SHARE = 0.4
"""The vigil: the last seconds of the load, and the greatest share of the load that they may be. In
it all clients but the feeders only take, and the feeders put few elements. In runs of 60 s it
covers two or three faults."""

SHORT_VIGIL_S, SHORT_VIGIL_SHARE = 2.4, 0.8
"""In a run of few seconds whose clients rest: enough for a waiter to be held back until an element
is put."""

FEEDERS = 2
"""How many clients are feeders: one goes on putting when a fault strikes the other. Where elements
are claimed, half of the clients at most: each element is three operations to its consumer, and a
single one, which faults strike in the vigil, may never find the queue empty and wait."""

TRICKLE_S = 0.25
"""Seconds between two elements of a feeder, in the vigil and in the ebb."""

LITTLE_S = 0.3
"""How long the first feeder's puts may take: short, so that some end in every fault. Takes of all
feeders are short, too, and so is one operation in three of all clients, so that some time out."""

FEEDING_S = 3.0
VIGIL_END_S = 9.0
"""Seconds after the load's end, with every fault healed. From the first on, a client is done once
it has got an element (a feeder: has put enough); at the second, clients that still wait give up."""

MOST_TRIES = 5
"""How often an acknowledgement (or release) is tried while its outcome is unknown."""

REQUEST_S = 5.0

REST_S = 0.1
"""How long a client rests after an unknown outcome in the final phase."""

Value = str | int


class _Taken(TypedDict):
    value: NotRequired[Value | None]


class _Left(TypedDict):
    elements: list[Any]
    nodes: list[Node]


@dataclass
class Consumer:
    """One client; ``claim`` is the claimed element that it works on."""

    kazoo: KazooClient
    queue: Any
    claim: Claim | None = None


def _vigil(load_s: float, *, thinks: bool) -> float:
    """How many seconds the vigil of a load lasts."""
    short = min(SHORT_VIGIL_S, SHORT_VIGIL_SHARE * load_s) if thinks else 0.0
    return min(VIGIL_S, max(VIGIL_SHARE * load_s, short))


def claims(recipe: Any) -> bool:
    """Whether a recipe's elements are claimed first and acknowledged."""
    return bool(recipe.delivery == "at-least-once")


class QueueWorkload(Workload):
    """Clients put elements into a queue and take them out, some by claim."""

    name = "queue"
    catalogue = QUEUES
    elsewhere = CURATOR_QUEUES
    adapter = OwnQueue
    of_kazoo = ("kazoo.recipe.queue:Queue", "kazoo.recipe.queue:LockingQueue")
    model = "fifo-queue"
    main = "dequeue"
    holding = Words(acquire="dequeue", release="acknowledge", thing="element")
    requests = ("write", "create", "get-children")
    rate = 0.02
    renewed = False  # after an unknown outcome a client still has its claim
    urgency: ClassVar[bool] = False  # whether some elements come out before others

    def open(self, recipe: Any, context: ClientContext) -> Consumer:
        """The queue."""
        return Consumer(context.kazoo, recipe(context.kazoo, self.path))

    @operation()
    def enqueue(self, consumer: Consumer, value: Value, timeout: float) -> None:
        """Put an element."""
        consumer.queue.put(str(value).encode(), timeout)

    @operation(name="enqueue-all")
    def enqueue_all(self, consumer: Consumer, values: list[Value], timeout: float) -> None:
        """Put several elements, all or none."""
        consumer.queue.put_all([str(value).encode() for value in values], timeout)

    @operation(changes=False)
    def size(self, consumer: Consumer) -> int:
        """Ask how many elements there are."""
        return int(consumer.queue.size())

    @operation()
    def dequeue(self, consumer: Consumer, timeout: float) -> _Taken | None:
        """Wait for an element, and take or claim it."""
        queue, element = consumer.queue, None
        try:
            if not claims(queue):
                element = queue.take(timeout)
            elif (claim := queue.claim(timeout)) is not None:
                consumer.claim, element = claim, claim.element
        except QueueUnknown as unknown:
            named = None if unknown.element is None else _Taken(value=unknown.element.decode())
            raise Unknown(str(unknown), named) from unknown
        if element is None and (claims(queue) or not queue.sees_empty):
            raise NotDone("found nothing")
        return _Taken(value=None if element is None else element.decode())

    @operation()
    def work(self, _: Consumer, seconds: float) -> None:
        """Work on what was claimed."""
        time.sleep(seconds)

    @operation()
    def acknowledge(self, consumer: Consumer, value: Value) -> None:
        """Remove a claimed element for good."""
        self._end(consumer, value, "acknowledge")

    @operation()
    def release(self, consumer: Consumer, value: Value) -> None:
        """Give a claimed element back."""
        self._end(consumer, value, "release")

    def _end(self, consumer: Consumer, value: Value, way: str) -> None:
        claim = consumer.claim
        if claim is None or claim.element.decode() != value:
            raise NotDone("not claimed in this life of the client")
        getattr(claim, way)(REQUEST_S)
        consumer.claim = None

    @operation()
    def leave(self, _: Consumer) -> None:
        """End the session; the client comes back in another one."""
        raise Leaves

    @operation(changes=False)
    def inspect(self, consumer: Consumer, patience: float) -> _Left:
        """Look what is left in the queue, once dead clients' sessions had time to expire."""

        def look() -> _Left | None:
            paths, nodes = self._standing(consumer)
            answers = [consumer.kazoo.get_async(path) for path in paths]
            elements = [answer.get(timeout=REQUEST_S)[0].decode() for answer in answers]
            return _Left(elements=elements, nodes=nodes) if elements or nodes else None

        return until_nothing_is_left(look, patience) or _Left(elements=[], nodes=[])

    def _standing(self, consumer: Consumer) -> tuple[list[str], list[Node]]:
        """The paths of the elements that are there, and the nodes of claims."""
        kazoo, queue = consumer.kazoo, consumer.queue
        if isinstance(queue, OwnQueue):
            return queue.left()
        folder = queue.claims(self.path)
        nodes = nodes_at(kazoo, children_of(kazoo, folder)) if folder is not None else []
        return children_of(kazoo, queue.elements(self.path)), nodes

    def put(self, _: Client, value: str, timeout: float, *, urgent: bool) -> Invocation:  # noqa: ARG002
        """The call that puts an element."""
        return self.enqueue(value=value, timeout=round(timeout, 3))

    def put_some(self, client: Client, names: Iterator[str], timeout: float) -> Invocation:
        """The call that puts the next element; at times several (usage ``batches``)."""
        batches = client.context.usage.batches
        if not (batches and getattr(client.context.recipe, "puts_all", False)):
            return self.put(client, next(names), timeout, urgent=False)
        if client.draws.uniform() >= batches:
            return self.put(client, next(names), timeout, urgent=False)
        values = [next(names) for _ in range(client.draws.below(MOST_AT_ONCE + 1))]
        return self.put_all(client, values, timeout)

    def put_all(self, _: Client, values: list[str], timeout: float) -> Invocation:
        """The call that puts several elements."""
        return self.enqueue_all(values=values, timeout=round(timeout, 3))

    def question(self, recipe: Any) -> Invocation | None:
        """How many elements there are."""
        return self.size() if getattr(recipe, "has_size", False) else None

    def consume(self, client: Client, timeout: float) -> Generator[Step, Op, Op]:
        """Take an element, and work on it where it is claimed."""
        came, draws = (yield self.dequeue(timeout=round(timeout, 3))), client.draws
        value = element_of(came)
        if value is not None and claims(client.context.recipe):
            ends = self.acknowledge
            if not client.is_over:
                longest = 1.5 if draws.one_in(16) else 0.03  # so that faults strike some at work
                yield self.work(seconds=round(draws.uniform(0.0, longest), 4))
                ends = self.release if draws.one_in(8) else ends
            for _ in range(MOST_TRIES):
                if (yield ends(value=value)).type != "info":
                    break
        return came

    def parents(self, recipe: Any) -> Sequence[str]:
        """The folders of elements and of claims."""
        if hasattr(recipe, "folders"):
            return list(recipe.folders(self.path))
        folders = (recipe.elements(self.path), recipe.claims(self.path))
        return [folder for folder in folders if folder is not None]

    def shared(self) -> Handoffs:
        """Whose turn it is in the handoffs."""
        return Handoffs(self.urgency)

    def load(self, client: Client) -> Steps:
        """Put and take until the vigil begins; then the feeders put and all others take.

        The queue is long at times and empty at others. In the vigil every client but the feeders
        waits for elements, across the last faults, until it has got one after every fault was
        healed. Only an element ends a wait. So a waiter that missed its wake-up with a lost
        connection waits to the end, and is found.
        """
        handoffs: Handoffs = client.shared
        return handoffs.noting(client, self._traffic(client))

    def _traffic(self, client: Client) -> Steps:
        until, draws, claimed = client.context.until, client.draws, claims(client.context.recipe)
        flood, ebb, handoffs = CLAIMED_S if claimed else TAKEN_S
        thinks = client.context.usage.think > 0
        vigil = until - round(_vigil(until / SECOND, thinks=thinks) * SECOND)
        feeding, end = until + int(FEEDING_S * SECOND), until + int(VIGIL_END_S * SECOND)
        names = (f"{client.number}.{number}" for number in count())
        feeders = min(FEEDERS, client.clients // 2 if claimed else client.clients - 1)
        hungry = [client.clients - feeders, 1][client.number] if client.number < feeders else 0
        patience = LITTLE_S if client.number == 0 else PATIENCE_S
        while client.time < end:
            period, passed = divmod((client.time - vigil) / SECOND, flood + ebb + handoffs)
            waits, floods = client.time >= vigil, passed < flood
            brief, little = draws.uniform(0.02, 0.32), draws.one_in(3)
            if passed >= flood + ebb and client.time < until:
                yield from client.shared.turn(client, self, period)
            elif hungry and (waits or not (floods or claimed)):
                came = yield self.put(client, next(names), patience, urgent=False)
                hungry -= came.type == "ok" and came.time >= feeding
                if not hungry:
                    return
                yield client.rest(TRICKLE_S + client.context.usage.think)
            elif floods and not waits and draws.one_in(LEAVERS):
                yield self.leave()
            elif not waits and draws.below(4) < (3 if floods else int(claimed)):
                yield self.put_some(client, names, brief if little else patience)
            else:
                wait = client.seconds_to(end)
                if (little and not waits) or (hungry and not claimed):
                    wait = brief
                elif not waits:
                    wait = PATIENCE_S if claimed else min(LONGEST_WAIT_S, wait)
                elif little and client.time < until:  # of the vigil
                    wait = min(wait, self._patience(client) or wait)
                came = yield from self.consume(client, wait)
                if element_of(came) is not None and client.time >= feeding:
                    return

    @staticmethod
    def _patience(client: Client) -> float:
        """How long some clients wait in the vigil by the usage ``patience``; 0 without it."""
        longest = client.context.usage.patience
        return client.draws.uniform(0.0, longest) if longest else 0.0

    def final(self) -> list[ScriptFunction]:
        """Each client puts and takes one more; one takes the rest, and looks what is left."""
        return [self._one_more, only({0}, self._rest)]

    def _one_more(self, client: Client) -> Steps:
        end, number, came = client.after(FINAL_BOUND_S), count(), None
        while client.time < end and (came is None or came.type != "ok"):
            name = f"{client.number}.final{next(number)}"
            came = yield self.put(client, name, REQUEST_S, urgent=True)
            yield from self._rest_if_unknown(client, came)
        while client.time < end and (came is None or element_of(came) is None):
            came = yield from self.consume(client, REQUEST_S)
            yield from self._rest_if_unknown(client, came)

    def _rest(self, client: Client) -> Steps:
        end, patience = client.after(FINAL_BOUND_S), client.expiry_s
        while client.time < end:
            came = yield from self.consume(client, patience)
            if element_of(came) is None and came.type != "info":
                break
            yield from self._rest_if_unknown(client, came)
        yield from until_ok(self.inspect(patience=patience), 5)(client)

    @staticmethod
    def _rest_if_unknown(client: Client, came: Op) -> Steps:
        """Let time pass after an error: a recipe may raise one at once, each time it is called."""
        if came.type == "info":
            yield client.rest(REST_S)

    needs = (at_least(5, count_awaited, "elements that somebody waited for"),)
    expired = "sessions that expired"

    def judged_by(self) -> Sequence[Check]:
        """What became of each element, in what order elements came out, and who waited in vain."""
        from rumpus.checker.families import queue_judgement as queues  # noqa: PLC0415 - heavy

        return [
            queues.check_elements,
            check_timeouts,
            partial(queues.check_order_of_elements, model=self.model),
            queues.check_waiting,
            queues.check_left_behind,
            check_censuses,
        ]


QUEUE = QueueWorkload()
