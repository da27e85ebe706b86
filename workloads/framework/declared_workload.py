"""A workload that says what its clients do; everything else follows from that.

From the operations' methods follow what histories may carry and how a client carries a call out;
from the scripts the load and the final phase; from ``checks`` and ``needs`` the verdict.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from rumpus.checker.holds import Words
from rumpus.checker.verdict import CheckResult, Verdict
from rumpus.harness.clients.client_body import ClientContext, Outcome
from rumpus.harness.generators.combinators import phases, stagger
from rumpus.harness.generators.generator import Generator
from rumpus.harness.generators.script import Client, ScriptFunction, Steps, each_client
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.catalogue_entry import CatalogueEntry
from rumpus.recipes.contests.interfaces import Recipe
from rumpus.workloads.framework.checks import Check, Need
from rumpus.workloads.framework.judgement import Evidence, judge_exercised
from rumpus.workloads.framework.operation import Bound, Operation


class DeclaredWorkload(ABC):
    """The base of workloads. The first line of a subclass's docstring is its summary.

    Attributes:
        name: what it is called on the command line.
        catalogue: the family's recipes by name, sound ones first.
        model: what its histories are held against, by the literature's name.
        main: the operation that gets what the workload is about, for measures.
        holding: the operations that begin and end a hold, where clients hold something. Faults
            are aimed at whoever holds.
        called: operation -> what histories call it, where that is a subclass's own word for it.
        rate: mean seconds from one operation of the load to the next, all clients together;
            None: they go as fast as their scripts do.
        timed_actions: whether the time of holders' actions can be chosen
            (``WorkloadContext.action``).
        cleanup: operation of unknown outcome -> the operation that undoes it.
        requests: kinds of request that every recipe's clients are sure to make under load.
        plain: whether its sound recipes do nothing but ask the servers, so that a promise that is
            broken is one of ZooKeeper itself.
        checks: what its histories are judged by.
        needs: what must have happened for a verdict to mean anything.
        expired: which expiries of sessions a run must have seen, in words.
    """

    name: ClassVar[str]
    catalogue: ClassVar[Mapping[str, CatalogueEntry[Any]]]
    model: ClassVar[str]
    main: ClassVar[str] = ""
    holding: ClassVar[Words | None] = None
    called: ClassVar[Mapping[str, str]] = {}
    rate: ClassVar[float | None] = None
    cleanup: ClassVar[Mapping[str, str]] = {}
    requests: ClassVar[Sequence[str]] = ("create", "delete", "read")
    plain: ClassVar[bool] = False
    timed_actions: ClassVar[bool] = False
    checks: ClassVar[Sequence[Check]] = ()
    needs: ClassVar[Sequence[Need]] = ()
    expired: ClassVar[str] = "expired sessions"

    def __init__(self, *, clients: int = 0, path: str = "") -> None:
        """As the command line and a client's process make it.

        Args:
            clients: how many there are; 0 where nobody knows yet.
            path: the znode below which everything happens.
        """
        self.clients = clients
        self.path = path or f"/rumpus/{self.name}"

    # What a subclass says.

    @abstractmethod
    def open(self, recipe: Any, context: ClientContext) -> Any:
        """What the operations of one client work on: recipe objects, and what it remembers."""

    @abstractmethod
    def load(self, client: Client) -> Steps:
        """What each client does while there are faults."""

    @abstractmethod
    def final(self) -> Sequence[ScriptFunction]:
        """What each client does once all is healed: scripts, one after the other.

        The next one begins when all clients are through with the one before.
        """

    def shared(self) -> Any:
        """What the scripts of all clients have in common: made for each run, None if nothing."""
        return None

    def believes(self, opened: Any) -> bool | float:  # noqa: ARG002 - nobody holds anything
        """Whether the client believes at this moment that it holds (``WorkloadClient``)."""
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

    # What follows.

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
        """``module:class``, by which a client's process finds it."""
        return f"{type(self).__module__}:{type(self).__qualname__}"

    @property
    def words(self) -> Words:
        """The names of the operations that begin, fill and end a hold; empty where none does."""
        return self.holding or Words(acquire=self.main, work="", release="")

    @property
    def shapes(self) -> dict[str, tuple[Any, Any]]:
        """Operation -> what its calls and answers carry."""
        return {name: bound.shapes() for name, bound in self.operations.items()}

    @property
    def contended(self) -> bool:
        """Whether grants last, and keep others waiting."""
        return self.holding is not None

    def options(self, recipe: str, clients: int) -> dict[str, Any]:
        """What a client's process makes it with."""
        return {"recipe": recipe, "clients": clients, "path": self.path}

    @classmethod
    def builder(
        cls, *, recipe: str, clients: int, path: str
    ) -> "Callable[[ClientContext], OpenClient]":
        """Makes the client's side in its process."""
        workload = cls(clients=clients, path=path)
        kind = cls.catalogue[recipe].recipe
        return lambda context: OpenClient(workload, workload.open(kind, context))

    def load_of(self, context: WorkloadContext) -> Generator:
        """The load as a generator."""
        load = each_client(self.load, context, shared=self.shared())
        if self.rate is None:
            return load
        return stagger(self.rate, load, seed=context.seed.child("rate"))

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
        """From what a run left to its verdict."""
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
    """The client's side of a run. Fulfils ``harness.clients.client_body.WorkloadClient``."""

    def __init__(self, workload: DeclaredWorkload, opened: Any) -> None:
        self._workload = workload
        self._opened = opened
        self._operations = workload.operations
        holding = workload.holding
        self.grants = holding.acquire if holding is not None else ""
        self.ends = holding.release if holding is not None else ""

    def believes(self) -> bool | float:
        """See ``DeclaredWorkload.believes``."""
        return self._workload.believes(self._opened)

    def invoke(self, f: str, value: Any) -> Outcome:
        """Run one operation."""
        operation = self._operations.get(f)
        if operation is None:
            raise ValueError(f"a client of {self._workload.name} knows no operation {f!r}")
        return operation.perform(self._opened, value)
