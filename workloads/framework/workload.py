"""The base class of workloads: a subclass declares what its clients do, the rest is derived.

The operations' methods give the types of the values in histories, and how a client carries out a
call. The scripts give the load and the final phase; ``checks`` and ``needs`` give the verdict.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from rumpus.checker.history import Op
from rumpus.checker.holds import Words
from rumpus.checker.verdict import CheckResult, Verdict
from rumpus.harness.clients.client_body import ClientContext, Outcome
from rumpus.harness.generators.combinators import phases, stagger
from rumpus.harness.generators.generator import Generator
from rumpus.harness.generators.script import Client, ScriptFunction, Steps, each_client
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.catalogue_entry import CatalogueEntry
from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown
from rumpus.workloads.framework.checks import Check, Need
from rumpus.workloads.framework.judgement import Evidence, judge_exercised
from rumpus.workloads.framework.operation import Bound, Operation


class Workload(ABC):
    """The base of workloads. The first line of a subclass's docstring is its summary.

    Attributes:
        name: what it is called on the command line.
        catalogue: the family's recipes by name, sound ones first.
        model: the specification of its histories, by its name in the literature.
        main: the operation that gets what clients compete or wait for; measurements are of it.
        holding: the operations that begin and end a hold, where clients hold something. Faults
            are aimed at whoever holds.
        called: operation -> its name in histories, where a subclass renames an inherited one.
        rate: mean seconds from one operation of the load to the next, all clients together;
            None: as fast as the scripts allow.
        renewed: whether the load script starts anew when the client's process number is retired
            (after an ``info``, as in Jepsen); else it goes on.
        timed_actions: whether the time of holders' actions can be chosen
            (``WorkloadContext.action``).
        cleanup: operation of unknown outcome -> the operation that undoes it.
        requests: kinds of request that clients of every recipe are sure to send under load.
        plain: whether its sound recipes only pass requests to the servers, so that a broken promise
            is one of ZooKeeper itself.
        checks: the checks of its histories.
        needs: what must have happened for a verdict to mean anything.
        expired: what the number from ``expiries`` counts, in words for the report.
    """

    name: ClassVar[str]
    catalogue: ClassVar[Mapping[str, CatalogueEntry[Any]]]
    model: ClassVar[str]
    main: ClassVar[str] = ""
    holding: ClassVar[Words | None] = None
    called: ClassVar[Mapping[str, str]] = {}
    rate: ClassVar[float | None] = None
    renewed: ClassVar[bool] = True
    cleanup: ClassVar[Mapping[str, str]] = {}
    requests: ClassVar[Sequence[str]] = ("create", "delete", "read")
    plain: ClassVar[bool] = False
    timed_actions: ClassVar[bool] = False
    checks: ClassVar[Sequence[Check]] = ()
    needs: ClassVar[Sequence[Need]] = ()
    expired: ClassVar[str] = "expired sessions"

    def __init__(self, *, clients: int = 0, path: str = "") -> None:
        """Made by the command line, and again in each client's process.

        Args:
            clients: how many clients there are; 0 if that is not known yet.
            path: the znode below which everything happens.
        """
        self.clients = clients
        self.path = path or f"/rumpus/{self.name}"

    # What a subclass declares.

    @abstractmethod
    def open(self, recipe: Any, context: ClientContext) -> Any:
        """What one client's operations work on: recipe objects, and the client's own state."""

    def prepare(self, opened: Any) -> None:  # noqa: B027 - most have nothing to do
        """What a client does before its first operation. Operations fail until it succeeds."""

    @abstractmethod
    def load(self, client: Client) -> Steps:
        """What each client does while there are faults."""

    @abstractmethod
    def final(self) -> Sequence[ScriptFunction]:
        """What each client does once every fault is healed: scripts, one after the other.

        A script begins when all clients have finished the one before.
        """

    def shared(self) -> Any:
        """State that the scripts of all clients share: made anew for each phase, None if none."""
        return None

    def on_completion(self, shared: Any, came: Op) -> None:  # noqa: B027 - most have nothing to do
        """Note in ``shared`` how an operation of the load ended, as soon as it ends.

        The script itself learns of it later: when its client is asked for the next operation.
        """

    def believes(self, opened: Any) -> bool | float:  # noqa: ARG002 - nobody holds anything
        """Whether the client believes that it holds, or for how long (``WorkloadClient``)."""
        return False

    def results(self, evidence: Evidence) -> list[CheckResult]:
        """What the checks find."""
        return [found for check in self.checks if (found := check(evidence)) is not None]

    def expiries(
        self,
        evidence: Evidence,
        results: Sequence[CheckResult],  # noqa: ARG002 - for subclasses
    ) -> int | None:
        """How many sessions expired when it mattered; None if that cannot be known."""
        return evidence.expiries

    # What is derived from that.

    @property
    def summary(self) -> str:
        """In one line, what its clients do."""
        text = inspect.getdoc(type(self)) or ""
        line = text.partition("\n\n")[0].replace("\n", " ").rstrip(".")
        return line[:1].lower() + line[1:]

    @property
    def recipes(self) -> dict[str, type[Recipe]]:
        """The recipes' classes by name."""
        return {name: entry.recipe for name, entry in self.catalogue.items()}

    @property
    def operations(self) -> dict[str, Bound]:
        """The operations by name."""
        found = {}
        for owner in reversed(type(self).__mro__):
            for name, value in vars(owner).items():
                if isinstance(value, Operation):
                    bound: Bound = getattr(self, name)
                    found[bound.f] = bound
        return found

    @property
    def build(self) -> str:
        """``module:class``, by which a client's process finds the workload."""
        return f"{type(self).__module__}:{type(self).__qualname__}"

    @property
    def words(self) -> Words:
        """The operations that begin a hold, act during it and end it; empty where there is none."""
        return self.holding or Words(acquire=self.main, work="", release="")

    @property
    def shapes(self) -> dict[str, tuple[Any, Any]]:
        """Operation -> the types of its call's value and of its answer."""
        return {name: bound.shapes() for name, bound in self.operations.items()}

    @property
    def contended(self) -> bool:
        """Whether a grant lasts for a while, and keeps others waiting meanwhile."""
        return self.holding is not None

    def options(self, recipe: str, clients: int) -> dict[str, Any]:
        """The arguments of ``builder`` in a client's process."""
        return {"recipe": recipe, "clients": clients, "path": self.path}

    @classmethod
    def builder(
        cls, *, recipe: str, clients: int, path: str
    ) -> "Callable[[ClientContext], OpenClient]":
        """A function that makes the client's side, for use in the client's process."""
        workload = cls(clients=clients, path=path)
        kind = cls.catalogue[recipe].recipe
        return lambda context: OpenClient(workload, workload.open(kind, context))

    def load_of(self, context: WorkloadContext) -> Generator:
        """The load as a generator."""
        shared = self.shared()
        load = each_client(
            self.load,
            context,
            shared=shared,
            on_completion=partial(self.on_completion, shared),
            renew=self.renewed,
        )
        if self.rate is None:
            return load
        return stagger(self.rate, load, seed=context.seed.child("rate"), early=False)

    def final_of(self, context: WorkloadContext) -> Generator:
        """The final phase as a generator."""
        shared = self.shared()
        return phases(
            *(
                each_client(
                    script,
                    replace(context, until=0),
                    seed=context.seed.child(number),
                    shared=shared,
                    renew=False,
                )
                for number, script in enumerate(self.final())
            )
        )

    def judge(self, evidence: Evidence) -> Verdict:
        """The verdict on what a run left."""
        results = self.results(evidence)
        return judge_exercised(
            evidence,
            results,
            happened=[
                needed
                for need in self.needs
                if (needed := need(evidence.history, results)) is not None
            ],
            expiries=self.expiries(evidence, results),
            expired=self.expired,
        )


class OpenClient:
    """The client's side of a run. Implements ``harness.clients.client_body.WorkloadClient``."""

    def __init__(self, workload: Workload, opened: Any) -> None:
        self._workload = workload
        self._opened = opened
        self._operations = workload.operations
        self._prepared = False
        holding = workload.holding
        self.grants = holding.acquire if holding is not None else ""
        self.ends = holding.release if holding is not None else ""

    def believes(self) -> bool | float:
        """See ``Workload.believes``."""
        return self._workload.believes(self._opened)

    def invoke(self, f: str, value: Any) -> Outcome:
        """Run one operation."""
        operation = self._operations.get(f)
        if operation is None:
            raise ValueError(f"a client of {self._workload.name} knows no operation {f!r}")
        if not self._prepared:
            try:
                self._workload.prepare(self._opened)
            except (NotDone, OutcomeUnknown) as error:
                return Outcome("fail", error=f"not begun: {error}")
            self._prepared = True
        return operation.perform(self._opened, value)
