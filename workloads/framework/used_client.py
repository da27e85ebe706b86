"""A client that uses a recipe as ``harness.generators.usage.Usage`` says, where that is not usual.

Only between two uses, when it holds nothing, does it take another object of the recipe or delete
the parents of the recipe's nodes. All of that is part of the operation that comes next. What other
threads of the program do to the client (``other_threads``) falls at any moment of a use; where
clients do not contend, at any moment of the load.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.interfaces import IAsyncResult

from rumpus.harness.clients.client_body import ClientContext, Outcome
from rumpus.harness.generators.generator import Invocation
from rumpus.harness.generators.script import Client, Draws, Rest, ScriptFunction, Steps
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.usage import Usage
from rumpus.workloads.framework.open_client import OpenClient
from rumpus.workloads.framework.other_threads import Chatter, Meanwhile

CONNECT_S: Final = 5.0
"""Seconds that a client waits for its new session when it has been started again."""

REQUEST_S: Final = 1.0
"""Seconds that it waits for the answer when it deletes a parent of the recipe's nodes."""


MOMENTS_S: Final = (0.005, 0.05, 0.5, 3.0)
"""How late in a use other threads do something, at the latest, in seconds: while single requests
are under way, while the attempt waits, or while it holds."""


class UsedClient(OpenClient):
    """See the module.

    Args:
        workload: what its operations are.
        recipe: the recipe's class.
        context: what the client is given.
        usage: how it uses the recipe.
        rest: as for ``OpenClient``.
    """

    def __init__(
        self, workload: Any, recipe: Any, context: ClientContext, usage: Usage, rest: float = 0.0
    ) -> None:
        self._context = context
        self._recipe = recipe
        self._usage = usage
        count = usage.objects if workload.exchangeable else 1
        self._objects = [workload.open(recipe, context) for _ in range(count)]
        self._parents = workload.parents(recipe) if usage.vanishing else ()
        self._turn = 0
        self._depth = 0
        self._chatter: Chatter | None = None
        self._meanwhile: Meanwhile | None = None
        self._acting = threading.Lock()
        self._stopping = False
        self._next_meanwhile = 0.0
        self._draws = Draws(Seed(context.client).child(context.process))
        super().__init__(workload, self._objects[0], rest)

    def believes(self) -> bool | float:
        """Whether the client believes that it holds by any of its objects."""
        if self._stopping:  # who ends the session of a hold gives the hold up
            return False
        beliefs = [self._workload.believes(each) for each in self._objects]
        return max((belief for belief in beliefs if belief is not False), default=False)

    def close(self) -> None:
        """Close every object."""
        self._fall_silent()
        for each in self._objects:
            self._workload.close(each)

    def invoke(self, f: str, value: Any) -> Outcome:
        """Run one operation."""
        words = self._workload.words
        if self._workload.exchangeable:
            if self._depth:
                self._send_more()
            elif f == words.acquire:
                value = _with_less_time(value, self._begin_anew())
                self._meanwhile = self._drawn_meanwhile()
        else:
            if self._usage.interrupts or self._usage.auths:
                self._begin_a_period()
            if f == words.acquire and self._parents and self._often(self._usage.vanishing):
                value = _with_less_time(value, _took(self._delete_parents))
        if self._workload.holding is None or f in (words.acquire, words.release):
            outcome = super().invoke(f, value)
        else:
            if not self._acting.acquire(blocking=False):
                value = _with_less_time(value, _took(self._acting.acquire))
            try:
                outcome = super().invoke(f, value)
            finally:
                self._acting.release()
        if f == words.acquire and outcome.type != "fail":
            self._depth = self._depth + 1 if words.counted else 1
        elif f == words.release:
            self._depth = self._depth - 1 if words.counted and outcome.type == "ok" else 0
        if not self._workload.exchangeable:
            return outcome
        if not self._depth:
            self._fall_silent()
        elif self._usage.chatter and self._chatter is None:
            pause = self._context.session_timeout / 3 / self._usage.chatter
            self._chatter = Chatter(self._context, self._busy, pause)
        return outcome

    def _fall_silent(self) -> None:
        if self._chatter is not None:
            self._chatter.end()
        self._chatter = None
        if self._meanwhile is not None:
            self._meanwhile.end()
        self._meanwhile = None

    def _begin_a_period(self) -> None:
        """What another thread does in the next seconds, if it has not enough to do yet."""
        now = time.monotonic()
        if self._context.final():
            self._fall_silent()
        elif now >= self._next_meanwhile:
            self._fall_silent()
            self._meanwhile = self._drawn_meanwhile()
            self._next_meanwhile = now + MOMENTS_S[-1]

    def _drawn_meanwhile(self) -> "Meanwhile | None":
        """What another thread does in the use that begins now, if anything."""
        interrupts, auths = self._often(self._usage.interrupts), self._often(self._usage.auths)
        if not interrupts and not auths:
            return None
        longest = MOMENTS_S[int(self._draws.uniform() * len(MOMENTS_S))]
        deed = self._interrupt if interrupts else self._authenticate
        return Meanwhile(deed, self._draws.uniform() * longest)

    def _interrupt(self) -> None:
        """Stop and start the client, as a program does it that holds: between its actions.

        It gives up what it holds with that. What a pending attempt or the recipe says of a hold
        afterwards is the recipe's own word.
        """
        with self._acting:
            self._stopping = True
            self._context.look_at_belief()
            self._restart(stopped=self._stopped)

    def _stopped(self) -> None:
        self._stopping = False
        self._context.look_at_belief()

    def _restart(self, stopped: Callable[[], None] = lambda: None) -> None:
        try:
            self._context.kazoo.stop()
        finally:
            stopped()
        self._context.kazoo.start_async().wait(CONNECT_S)

    def _authenticate(self) -> None:
        self._context.kazoo.add_auth_async("digest", f"{self._context.name}:{self._workload.name}")

    @property
    def _busy(self) -> str:
        """The znode that further requests are about."""
        return f"{self._workload.path}-busy"

    def _often(self, share: float) -> bool:
        return share > 0 and self._draws.uniform() < share

    def _begin_anew(self) -> float:
        """What happens before a use: another session, a vanished parent, another object.

        Returns:
            How many seconds that took.
        """
        usage, took = self._usage, 0.0
        for share, deed in (
            (usage.restarts, self._restart),
            (usage.vanishing, self._delete_parents),
        ):
            if self._often(share):
                took += _took(deed)
        if usage.fresh:
            self._objects[self._turn] = self._workload.open(self._recipe, self._context)
            self.take(self._objects[self._turn])
        if len(self._objects) > 1:
            self._turn = (self._turn + 1) % len(self._objects)
            self.take(self._objects[self._turn])
        return took

    def _delete_parents(self) -> None:
        """Delete the parents of the recipe's nodes, as is done to clean up."""
        for path in self._parents:
            with suppress(KazooException, KazooTimeoutError):  # it has children, or is gone already
                self._context.kazoo.delete_async(path).get(timeout=REQUEST_S)

    def _send_more(self) -> None:
        """Requests of the holder's own, which it does not wait for."""
        kazoo, path = self._context.kazoo, self._busy

        def created(result: IAsyncResult) -> None:
            if result.successful():
                kazoo.delete_async(result.get_nowait())

        for number in range(self._usage.traffic):
            if number % 2 == 0:
                kazoo.exists_async(path)
            else:
                kazoo.create_async(path, ephemeral=True, sequence=True).rawlink(created)


def _took(deed: Callable[[], object]) -> float:
    """Do something; how many seconds that took."""
    began = time.monotonic()
    deed()
    return time.monotonic() - began


def _with_less_time(value: Any, seconds: float) -> Any:
    """The value of a call of whose timeout the program has used up some already.

    The call is recorded from before that on: without this it would seem to overrun its timeout.
    """
    timeout = value.get("timeout") if isinstance(value, dict) else None
    if not seconds or timeout is None:
        return value
    return {**value, "timeout": max(0.0, timeout - seconds)}


def asking(script: ScriptFunction, question: Invocation | None, usage: Usage) -> ScriptFunction:
    """A script after some of whose operations the client asks the recipe about itself.

    Args:
        script: the script.
        question: the call that asks; None if the recipe cannot be asked.
        usage: how often it asks (``asks``).
    """
    if question is None or not usage.asks:
        return script

    def steps(client: Client) -> Steps:
        going = script(client)
        step = next(going, None)
        while step is not None:
            came = yield step
            asks = isinstance(step, Invocation) and not client.is_over
            if asks and client.draws.uniform() < usage.asks:
                yield question
            try:
                step = going.send(came)
            except StopIteration:
                return

    return steps


def paced(script: ScriptFunction, usage: Usage) -> ScriptFunction:
    """A script with the rests of a usage: random ones, after bursts of operations if it has them.

    While nothing new may begin any more, clients do not rest.
    """
    if not usage.think:
        return script

    def steps(client: Client) -> Steps:
        left = usage.burst
        going = script(client)
        step = next(going, None)
        while step is not None:
            if isinstance(step, Invocation):
                if left > 0 or client.is_over:
                    left -= 1
                else:
                    left = usage.burst
                    yield client.rest(0.0, usage.think, end=client.context.until)
            came = yield step
            try:
                step = going.send(came)
            except StopIteration:
                return

    return steps


STORM: Final = 30
"""So many calls in a row that fail at once are a storm."""

AT_ONCE_NS: Final = 2_000_000
STORM_REST_S: Final = 0.05


def without_storms(script: ScriptFunction) -> ScriptFunction:
    """A script that rests between calls as long as all of them fail at once.

    A recipe that refuses every call for some time is asked for that no less often than a program
    would, but not a hundred thousand times, which would only make the run long.
    """

    def steps(client: Client) -> Steps:
        failed = 0
        going = script(client)
        step = next(going, None)
        while step is not None:
            if failed >= STORM and isinstance(step, Invocation):
                yield Rest(STORM_REST_S)
            called = client.time
            came = yield step
            if isinstance(step, Invocation):
                at_once = client.time - called < AT_ONCE_NS
                failed = failed + 1 if came.type == "fail" and at_once else 0
            try:
                step = going.send(came)
            except StopIteration:
                return

    return steps
