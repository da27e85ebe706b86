"""What a workload is: a recipe family put under load, and how its histories are judged."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rumpus.checker.holds import Words
from rumpus.checker.verdict import Verdict
from rumpus.harness.generators.generator import Generator
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.catalogue_entry import CatalogueEntry
from rumpus.recipes.contests.interfaces import Recipe
from rumpus.workloads.framework.judgement import Evidence


@dataclass(frozen=True)
class Workload:
    """A recipe family under load.

    Args:
        name: what it is called on the command line.
        summary: in one line, what its clients do.
        catalogue: the family's recipes by name, sound ones first.
        path: the znode below which everything happens.
        build: ``module:function`` that makes the client's side (``harness.clients.worker``); it
            takes ``recipe`` and ``path``, and ``clients``, how many there are, if ``sized``.
        model: what its histories are held against, by the literature's name.
        words: names of its operations: who has done ``acquire`` and not called ``release`` yet
            plays the holder, at whom faults are aimed.
        load: the clients' operations while there are faults.
        final: their operations once every fault is healed (``until`` says nothing then).
        cleanup: ``f`` of an operation of unknown outcome -> ``f`` that undoes it.
        judge: from what a run left to its verdict.
        sized: whether clients have to know how many they are.
        contended: whether what ``acquire`` gets lasts until ``release`` and keeps others waiting,
            so that handovers and wake-ups can be measured (``checker.measures``).
        timed_actions: whether the time of holders' actions can be chosen
            (``WorkloadContext.action``).
        plain: whether its sound recipes do nothing but ask the servers, so that a promise that is
            broken is one of ZooKeeper itself.
        requests: kinds of request that every recipe's clients are sure to make under load
            (``links.zookeeper_frames.REQUESTS``): what the fault ``client-request`` strikes at.
    """

    name: str
    summary: str
    catalogue: Mapping[str, CatalogueEntry[Recipe]]
    path: str
    build: str
    model: str
    words: Words
    load: Callable[[WorkloadContext], Generator]
    final: Callable[[WorkloadContext], Generator]
    cleanup: Mapping[str, str]
    judge: Callable[[Evidence], Verdict]
    sized: bool = False
    contended: bool = False
    timed_actions: bool = False
    plain: bool = False
    requests: Sequence[str] = ("create", "delete", "read")

    @property
    def recipes(self) -> dict[str, type[Recipe]]:
        """The recipes' classes by name."""
        return {name: entry.recipe for name, entry in self.catalogue.items()}

    def load_of(self, setting: WorkloadContext) -> Generator:
        """The load as a generator."""
        return self.load(setting)

    def final_of(self, setting: WorkloadContext) -> Generator:
        """The final phase as a generator."""
        return self.final(setting)

    def options(self, recipe: str, clients: int) -> dict[str, Any]:
        """What ``build`` is called with in each client's process."""
        options = {"recipe": recipe, "path": self.path}
        return {**options, "clients": clients} if self.sized else options
