"""Service discovery: clients come and go, list who is there, and watch.

Operations: ``register`` {address, timeout} -> {address, session}: be listed; ``deregister``
{timeout}; ``discover`` {timeout, pause} -> {addresses, settled}: list, ``settled`` if the recipe
says that this is by all that was committed before; ``look`` {pause} -> {addresses}: what the
watched view shows; ``gather`` {patience} -> {discovered, seen}: list, once the view shows the
same or the patience is over.
"""

import time
from collections.abc import Callable
from typing import Any, Final

import msgspec
from kazoo.exceptions import KazooException

from rumpus.checker.families.convergence import count_expiries
from rumpus.checker.families.presence import check_discovery, check_lists, check_presence
from rumpus.checker.history import Op
from rumpus.checker.holds import Words
from rumpus.checker.verdict import Requirement, Verdict
from rumpus.harness.clients.client_body import ClientContext, Outcome
from rumpus.harness.generators.combinators import (
    each_process,
    each_thread,
    limit,
    on_threads,
    phases,
    repeat,
    sleep,
    until_ok,
)
from rumpus.harness.generators.generator import PENDING, Answer, Context, Generator, Invocation
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.registry.catalogue import REGISTRIES
from rumpus.recipes.registry.service_registry import RegistrationUnknown, ServiceRegistry
from rumpus.recipes.requests.session import Unanswered
from rumpus.workloads.framework.judgement import Evidence, judge_exercised
from rumpus.workloads.framework.workload import Workload

WORDS: Final = Words(acquire="register", work="discover", release="deregister", thing="entry")

PATIENCE_S: Final = 3.0

FINAL_BOUND_S: Final = 10.0
"""How long registering and leaving may take when every fault is healed."""

LEAST_CHANGES: Final = 6
"""How many entries must have come and gone for a run to mean anything."""


class ComeAndGo(msgspec.Struct, frozen=True):
    """One process's load: register, discover and look for a while, and leave; and again.

    Before it leaves it makes sure that it is still registered (``register`` once more).
    """

    seed: Seed
    until: int
    entry: int = 0
    stage: str = "register"

    def op(self, ctx: Context) -> Answer:
        """The next step, when the process is free."""
        process = ctx.next_free()
        if process is None:
            return PENDING, self
        if ctx.time >= self.until:
            return None
        share, seed = self.seed.uniform()
        f = self.stage
        if f in ("register", "confirm"):
            f = "register"
            patience = 0.01 + share / 5 if seed.below(6)[0] == 0 else PATIENCE_S
            value: dict[str, Any] = {
                "address": f"p{process}-{self.entry}",
                "timeout": round(patience, 3),
            }
        elif self.stage == "deregister":
            value = {"timeout": PATIENCE_S}
        else:
            value = {"pause": round(0.005 + 0.05 * share, 4)}
            if self.stage == "discover":
                value["timeout"] = PATIENCE_S
        return Invocation(f, value, process, ctx.time), self

    def update(self, ctx: Context, event: Op) -> Generator:  # noqa: ARG002 - the protocol's
        """What comes next is drawn; a registration of unknown outcome is the next process's."""
        if event.type == "invoke":
            return self
        dice, seed = self.seed.next()[1].below(80)
        if event.f == "deregister":
            return ComeAndGo(seed, self.until, self.entry + 1)
        if self.stage == "confirm" or (event.f == "register" and event.type == "fail"):
            return ComeAndGo(seed, self.until, self.entry, "deregister")
        stage = "confirm" if dice == 0 else "look" if dice < 30 else "discover"
        return ComeAndGo(seed, self.until, self.entry, stage)


class MakeSure(msgspec.Struct, frozen=True):
    """One client registers, or leaves, until that is acknowledged."""

    what: str
    left: int = 3

    def op(self, ctx: Context) -> Answer:
        """The next try."""
        process = ctx.next_free()
        if process is None:
            return PENDING, self
        if not self.left:
            return None
        value: dict[str, Any] = {"timeout": FINAL_BOUND_S}
        if self.what == "register":
            value["address"] = f"p{process}-last"
        return Invocation(self.what, value, process, ctx.time), self

    def update(self, ctx: Context, event: Op) -> Generator:  # noqa: ARG002 - the protocol's
        """Done, or once more."""
        if event.type == "invoke":
            return self
        return MakeSure(self.what, 0 if event.type == "ok" else self.left - 1)


def load(setting: WorkloadContext) -> Generator:
    """Everybody comes and goes until the time is up."""
    return each_process(lambda process: ComeAndGo(setting.seed.child(process), setting.until))


def final(setting: WorkloadContext) -> Generator:
    """All register; when sessions of the dead have had time to expire, all list.

    Who is registered already makes sure of it. Then half of them leave, and all list again.
    """
    patience = round(setting.session_timeout + 3.0, 3)
    gather = until_ok(limit(3, repeat(Invocation("gather", {"patience": patience}))))
    leaving = range(0, setting.clients, 2)
    return phases(
        each_thread(MakeSure("register")),
        sleep(setting.session_timeout + 2.0),
        each_thread(gather),
        on_threads(leaving, each_thread(MakeSure("deregister"))),
        each_thread(gather),
    )


class RegistryClient:
    """The client's side."""

    grants = WORDS.acquire
    ends = WORDS.release

    def __init__(self, context: ClientContext, registry: ServiceRegistry) -> None:
        self._context = context
        self._registry = registry

    def believes(self) -> bool:
        """Whether it has registered and not deregistered."""
        return self._registry.address is not None

    def invoke(self, f: str, value: Any) -> Outcome:
        """Run one operation; what escapes is an unknown outcome."""
        if "pause" in value:
            time.sleep(value["pause"])
        match f:
            case "register":
                return self._register(value)
            case "deregister":
                return self._deregister(value)
            case "discover":
                return self._discover(value)
            case "look":
                return self._look()
            case "gather":
                return self._gather(value["patience"])
        raise ValueError(f"a client of this workload knows no operation {f!r}")

    def _register(self, value: Any) -> Outcome:
        """Be listed; a registration whose outcome was unknown goes on under its own address."""
        address = self._registry.address or value["address"]
        try:
            self._registry.register(address, value["timeout"])
        except RegistrationUnknown as error:
            return Outcome("info", {"address": address}, str(error))
        self._registry.watch()
        return Outcome("ok", {"address": address, "session": self._context.session()})

    def _deregister(self, value: Any) -> Outcome:
        try:
            self._registry.deregister(value["timeout"])
        except RegistrationUnknown as error:
            return Outcome("info", error=str(error))
        return Outcome("ok")

    def _discover(self, value: Any) -> Outcome:
        try:
            addresses = self._registry.discover(value["timeout"])
        except (Unanswered, KazooException) as error:
            return Outcome("fail", error=f"{type(error).__name__}: {error}")
        return Outcome("ok", {"addresses": addresses, "settled": self._registry.settles})

    def _look(self) -> Outcome:
        try:
            return Outcome("ok", {"addresses": self._registry.watch().addresses})
        except KazooException as error:
            return Outcome("fail", error=f"{type(error).__name__}: {error}")

    def _gather(self, patience: float) -> Outcome:
        deadline = time.monotonic() + patience
        watching = self._registry.watch()
        try:
            while True:
                discovered = self._registry.discover(PATIENCE_S)
                seen = watching.addresses
                if seen == discovered or time.monotonic() > deadline:
                    return Outcome("ok", {"discovered": discovered, "seen": seen})
                time.sleep(0.1)
        except (Unanswered, KazooException) as error:
            return Outcome("fail", error=f"{type(error).__name__}: {error}")


def client(recipe: str, path: str) -> Callable[[ClientContext], RegistryClient]:
    """Makes the client's side for one recipe."""
    kind = REGISTRIES[recipe].recipe
    return lambda context: RegistryClient(context, kind(context.kazoo, path))


def judge_registry(evidence: Evidence) -> Verdict:
    """Is everybody listed who is there, and nobody else?"""
    history = evidence.history
    checks = [
        check_lists(history),
        check_discovery(history, evidence.truth, evidence.clock, evidence.path),
    ]
    checks.append(check_presence(history))
    came = sum(op.f == "register" and op.type == "ok" for op in history)
    return judge_exercised(
        evidence,
        checks,
        happened=[Requirement("registrations", LEAST_CHANGES, came)],
        expiries=count_expiries(history, evidence.truth),
        expired="sessions of clients that expired",
    )


REGISTRY = Workload(
    name="registry",
    summary="clients register, list and watch who is there, and leave",
    catalogue=REGISTRIES,
    path="/rumpus/registry",
    build="rumpus.workloads.service_discovery:client",
    model="group membership",
    words=WORDS,
    load=load,
    final=final,
    cleanup={WORDS.acquire: WORDS.release},
    judge=judge_registry,
    requests=("create", "delete", "get-children"),
)
