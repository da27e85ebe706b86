"""A workload of another repository, with a model and a fault of its own."""

from collections.abc import Hashable
from typing import ClassVar

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from rumpus import (
    ILLEGAL,
    UNKNOWN,
    Client,
    ClientContext,
    Draft,
    FaultOptions,
    Finding,
    Model,
    Promises,
    ScriptFunction,
    ServerFault,
    Steps,
    Targets,
    Turn,
    Workload,
    at_least,
    check_final_answers,
    follows,
    of_history,
    operation,
    until_ok,
)


class LastWritten(Model):
    """Keeps the value that was written last."""

    functions = frozenset({"read", "write"})
    observers = frozenset({"read"})
    initial = 0

    def step(self, state: Hashable, f: str, argument: Hashable, result: Hashable) -> Hashable:
        if f == "write":
            return argument
        return state if result in (state, UNKNOWN) else ILLEGAL


class Shelf:
    """A number on a znode."""

    promises = Promises(prevents=frozenset({"lost-number"}))

    def __init__(self, client: KazooClient, path: str) -> None:
        self.client, self.path = client, path

    def write(self, value: int, timeout: float) -> None:
        """Write it."""
        self.client.ensure_path(self.path)
        self.client.set_async(self.path, str(value).encode()).get(timeout=timeout)

    def read(self, timeout: float) -> int:
        """Read it; 0 if there is none yet."""
        try:
            self.client.sync(self.path)
            return int(self.client.get_async(self.path).get(timeout=timeout)[0] or b"0")
        except NoNodeError:
            return 0


class ForgetfulShelf(Shelf):
    """A shelf that keeps small numbers only."""

    def write(self, value: int, timeout: float) -> None:
        """Write it, or lose it."""
        super().write(value % 10, timeout)


class Shop(Workload):
    """Clients write and read one number."""

    name = "shop"
    catalogue: ClassVar = {"shelf": Shelf, "forgetful": ForgetfulShelf}
    model = "last-written"
    main = "read"
    requests = ("create", "read")

    def open(self, recipe: type[Shelf], context: ClientContext) -> Shelf:
        """One shelf for all."""
        return recipe(context.kazoo, f"{self.path}/shelf")

    @operation(timeout=1.5, overdue=3.0)
    def write(self, shelf: Shelf, value: int, timeout: float) -> None:
        """Write a number."""
        shelf.write(value, timeout)

    @operation(timeout=1.5, overdue=3.0, changes=False)
    def read(self, shelf: Shelf, timeout: float) -> int:
        """Read the number."""
        return shelf.read(timeout)

    def load(self, client: Client) -> Steps:
        """Write now and then, else read."""
        while not client.is_over:
            if client.draws.one_in(3):
                yield self.write(value=client.draws.below(1000))
            else:
                yield self.read()
            yield client.rest(0.0, 0.3)

    def final(self) -> list[ScriptFunction]:
        """Everybody reads."""
        return [until_ok(self.read(), 5)]

    checks = (of_history(check_final_answers, 5), follows(LastWritten, "lost-number"))
    needs = (at_least(20, "read", "reads"),)


class Outage(FaultOptions, frozen=True):
    """``pause``: whether servers are frozen, not killed."""

    pause: bool = False


class Flap(ServerFault):
    """Stops servers, by either way."""

    kind = "flap"
    summary = "servers are killed or frozen"
    works_on = "server processes"
    needs = "kill"
    causes = "leader change"
    takes = Outage

    @classmethod
    def draw(cls, turn: Turn) -> Draft:
        """The leader is killed first; later others are frozen, too."""
        draft = super().draw(turn)
        if turn.first:
            return Draft(Targets(role="leader"))
        return draft._replace(options={"pause": turn.rng.random() < 0.5})

    def inject(self) -> None:
        """Stop the chosen servers."""
        for node in self.chosen:
            if self.options.pause:
                self.context.ensemble.pause(node)
            else:
                self.context.ensemble.kill(node)

    def in_force(self) -> Finding:
        """Wait until none serves."""
        return self.wait_until_all(self.context.ensemble.serves, wanted=False, detail="down")

    def heal(self) -> None:
        """Let them run again."""
        for node in self.chosen:
            if self.context.ensemble.state(node) == "paused":
                self.context.ensemble.resume(node)
            elif self.context.ensemble.state(node) == "dead":
                self.context.ensemble.restart(node)


class Idle(Flap):
    """A fault that does nothing, and so is never in force."""

    kind = "idle"

    def inject(self) -> None:
        """Do nothing."""
