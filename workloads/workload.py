"""What a workload is: a recipe family put under load, and how its histories are judged."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from checker.holds import Words
from checker.verdict import Verdict
from harness.generator import Generator
from harness.seed import Seed
from recipes.interfaces import Recipe
from workloads.judgement import Evidence


@dataclass(frozen=True)
class Workload:
    """A recipe family under load.

    Args:
        name: what it is called on the command line.
        summary: in one line, what its clients do.
        recipes: the family's recipes by name, sound ones first.
        path: the znode that the clients contend for.
        build: ``module:function`` that makes the client's side (``harness.worker``); it takes
            ``recipe`` and ``path``.
        model: what its histories are held against, by the literature's name.
        words: names of its operations.
        load: the clients' operations; takes a seed, the recipe, and until when (nanoseconds on
            the run's clock) new ones may begin.
        final: their operations once every fault is healed; takes the session timeout (s).
        cleanup: ``f`` of an operation of unknown outcome -> ``f`` that undoes it.
        judge: from what a run left to its verdict.
    """

    name: str
    summary: str
    recipes: Mapping[str, type[Recipe]]
    path: str
    build: str
    model: str
    words: Words
    load: Callable[[Seed, type[Recipe], int], Generator]
    final: Callable[[float], Generator]
    cleanup: Mapping[str, str]
    judge: Callable[[Evidence], Verdict]

    def options(self, recipe: str) -> dict[str, Any]:
        """What ``build`` is called with in each client's process."""
        return {"recipe": recipe, "path": self.path}
