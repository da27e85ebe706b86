"""Canaries: known mistakes that a night must find. One that stays green says a check is blind."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Final

from rumpus.campaigns.trial_task import TrialOutcome, TrialTask
from rumpus.checker.verdict import Blamed
from rumpus.nights.measured_mistakes import MEASURED
from rumpus.nights.pieces import Piece
from rumpus.nights.subjects import LOADS_S, OnTrial
from rumpus.recipes.catalogue_entry import CatalogueEntry
from rumpus.results.atomic_file import write_atomically
from rumpus.results.escapes import in_file_name
from rumpus.runs.recorded_settings import settings_of_words
from rumpus.runs.run_settings import RunSettings
from rumpus.simulation.zookeeper.mutants.catalogue import SERVER_MUTANTS
from rumpus.workloads.own.own_lock import OwnLock
from rumpus.workloads.own.own_recipe import has
from rumpus.workloads.own.references import NotFound, is_reference, referred
from rumpus.workloads.registry import WORKLOADS, find_workload

DOUBT: Final = 0.001
"""A canary is tried until it is found, or until chance alone is less likely than this."""

MOST_TRIES: Final = 12

OWN_LOAD_S: Final = 5.0
"""Seconds of load of a run of a recipe that grants without asking: that is soon seen."""

OWN_RATE: Final = 0.9
"""How often a recipe that grants without asking is found, at least, in such a run."""


@dataclass(frozen=True, kw_only=True)
class Canary:
    """A known mistake.

    Attributes:
        name: whose it is.
        family: the workload that shows it.
        mistake: in words.
        settings: of its runs, but for the seed.
        expected: anomalies by which it is found; one of them will do. Empty: any broken promise.
        blamed: whose promise it breaks.
        rate: the share of runs that find it, as measured.
    """

    name: str
    family: str
    mistake: str
    settings: RunSettings
    expected: frozenset[str]
    blamed: Blamed
    rate: float

    @property
    def tries(self) -> int:
        """After how many runs that miss it a check must be blind."""
        if self.rate >= 1 - DOUBT:
            return 1
        return min(MOST_TRIES, math.ceil(math.log(DOUBT) / math.log(1 - self.rate)))

    def found(self, outcome: TrialOutcome) -> bool:
        """Whether a run finds it: by an anomaly that is expected, blamed on the right party."""
        kinds = {seen.fingerprint.kind for seen in outcome.seen if seen.promised}
        by = kinds & self.expected if self.expected else kinds
        return outcome.outcome == "violation" and bool(by) and outcome.blamed == self.blamed

    def piece(self, seed: int) -> Piece:
        """A run of it."""
        settings = replace(self.settings, seed=seed)
        return Piece(
            role="canary",
            subject=self.name,
            world="sim",
            task=TrialTask(settings=settings),
            kind="canary",
            seed=seed,
            name=self.name,
        )


def known_mistakes(families: Collection[str]) -> list[Canary]:
    """The mistakes of recipes and servers of rumpus whose rate was measured, of these families."""
    return [each for each in _measured() if each.family in families]


def _measured() -> Iterator[Canary]:
    for family, name, found, runs in MEASURED:
        # That all runs have found it does not mean that all others will (Laplace).
        rate = (found + 1) / (runs + 2)
        if name in SERVER_MUTANTS:
            server = SERVER_MUTANTS[name]
            usual = _usual(family, server.options)
            yield Canary(
                name=f"servers that {server.mistake}",
                family=family,
                mistake=server.mistake,
                settings=replace(usual, recipe=server.recipe, server_mutant=name),
                expected=server.expected,
                blamed="servers",
                rate=rate,
            )
        else:
            entry = WORKLOADS[family].catalogue[name]
            assert isinstance(entry, CatalogueEntry)
            yield Canary(
                name=f"{family} / {name}",
                family=family,
                mistake=entry.mistake,
                settings=replace(_usual(family, entry.options), recipe=name),
                expected=entry.expected,
                blamed="servers" if WORKLOADS[family].plain else "recipe",
                rate=rate,
            )


def _usual(family: str, options: Sequence[str]) -> RunSettings:
    """The settings of a canary's run, before it has its recipe and its seed."""
    usual = settings_of_words(["run", family, *options])
    return replace(usual, argv=(), ensemble="sim", time_limit=LOADS_S["sim"])


def rotated(canaries: Sequence[Canary], random: Random) -> list[Canary]:
    """Canaries in a random order in which each family comes before another one comes again."""
    by_family: dict[str, list[Canary]] = {}
    for each in random.sample(canaries, len(canaries)):
        by_family.setdefault(each.family, []).append(each)
    rounds = max(map(len, by_family.values()), default=0)
    return [
        of_family[number]
        for number in range(rounds)
        for of_family in by_family.values()
        if number < len(of_family)
    ]


def own_canary(on: OnTrial, directory: Path) -> Canary | None:
    """A mistake put into a recipe of the project's own: it grants without asking anybody.

    That can be had of classes with ``acquire`` and ``release``, or what elections call these. A
    module is written that has a subclass with the mistake, which can be put on trial by hand, too.

    Args:
        on: the recipe.
        directory: where modules are found; the module is written there.

    Raises:
        StoreError: it cannot be written.
    """
    reference = on.settings.recipe or ""
    if not is_reference(reference) or on.subject.world != "sim":
        return None
    try:
        adapter = find_workload(on.settings.workload).adapter
        factory = referred(reference)
    except NotFound:
        return None  # its own runs say what is wrong
    if not isinstance(factory, type) or not issubclass(adapter, OwnLock):
        return None
    if adapter.subject is not OwnLock.subject:
        return None
    enter = [name for name in adapter.enter_names if hasattr(factory, name)]
    leave = [name for name in adapter.leave_names if hasattr(factory, name)]
    if not enter or not leave:
        return None
    belief = next((name for name in adapter.belief_names if has(factory, name)), "")
    module = in_file_name(f"canary_{reference}").replace("-", "_").replace(".", "_")
    text = _module(reference, enter[0], leave[0], belief, callable(getattr(factory, belief, None)))
    write_atomically(directory / f"{module}.py", text)
    return Canary(
        name=f"{on.subject.thing} that grants without asking",
        family=on.settings.workload,
        mistake="grant without asking",
        settings=replace(
            on.settings,
            recipe=f"{module}:Canary",
            time_limit=OWN_LOAD_S,
            nemesis=["client-pause"],
        ),
        expected=frozenset({"double-grant", "split-brain"}),
        blamed="recipe",
        rate=OWN_RATE,
    )


def _module(reference: str, enter: str, leave: str, belief: str, is_method: bool) -> str:
    """The text of a module with the mistake."""
    name, _, attributes = reference.partition(":")
    lines = [
        f'"""A canary: {reference} with a mistake put in, which a night has to find."""',
        "",
        "import importlib",
        "import time",
        "",
        f'_SOUND = importlib.import_module("{name}").{attributes}',
        "",
        "",
        "class Canary(_SOUND):",
        '    """Grants without asking anybody."""',
        "",
        "    _granted = False",
        "",
        f"    def {enter}(self, *_, **__):",
        "        time.sleep(0.1)",
        "        self._granted = True",
        "        return True",
        "",
        f"    def {leave}(self, *_, **__):",
        "        self._granted = False",
    ]
    if belief:
        lines += ["", *([] if is_method else ["    @property"])]
        lines += [f"    def {belief}(self):", "        return self._granted"]
    return "\n".join([*lines, ""])
