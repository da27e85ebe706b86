"""What the pages of nights are made of, read from the store in one go."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

import msgspec

from rumpus.nights.documents.document import NightDocument
from rumpus.nights.memory.store import Store
from rumpus.nights.memory.store_rows import Tally, thing_of
from rumpus.nights.records import FailureRow, NightRow, Role


class Gathered(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """All that a store knows of its nights.

    Attributes:
        nights: oldest first.
        tallies: by the name of a night, what came of its runs.
        failures: by identifier.
        documents: by the name of a night, its document without runs; of those that have one.
        faults: by the name of a night, kind of fault -> valid runs that had it.
    """

    nights: Sequence[NightRow]
    tallies: dict[str, list[Tally]] = {}
    failures: dict[str, FailureRow] = {}
    documents: dict[str, NightDocument] = {}
    faults: dict[str, dict[str, int]] = {}

    def of(self, night: str, *roles: Role) -> list[Tally]:
        """What came of the runs of a night that have one of these roles."""
        return [each for each in self.tallies.get(night, ()) if each.role in roles]

    def before(self, night: NightRow) -> NightRow | None:
        """The night that one is compared with: the last of its branch, else the last of all."""
        earlier = self.nights[: self.nights.index(night)]
        of_branch = [each for each in earlier if each.branch == night.branch]
        return next(iter((of_branch or list(earlier))[-1:]), None)

    @cached_property
    def performed(self) -> dict[str, dict[str, int]]:
        """By workload and recipe: night -> runs on trial that were performed."""
        found: dict[str, dict[str, int]] = defaultdict(dict)
        for night, tallies in self.tallies.items():
            for each in tallies:
                if each.role == "run" and each.performed:
                    thing = thing_of(each.subject)
                    found[thing][night] = found[thing].get(night, 0) + each.performed
        return found

    @cached_property
    def shown(self) -> dict[str, dict[str, int]]:
        """By failure: night -> runs on trial that showed it."""
        found: dict[str, dict[str, int]] = defaultdict(dict)
        for night, tallies in self.tallies.items():
            for each in tallies:
                for failure, runs in each.shown.items() if each.role == "run" else ():
                    found[failure][night] = found[failure].get(night, 0) + runs
        return found


def gather(store: Store) -> Gathered:
    """Read a store.

    Raises:
        UnreadableRun, StoreError: it cannot be read.
    """
    tallies: dict[str, list[Tally]] = defaultdict(list)
    for each in store.rates():
        tallies[each.night].append(each)
    return Gathered(
        nights=store.nights()[::-1],
        tallies=dict(tallies),
        failures={each.id: each for each in store.failures()},
        documents=store.documents(NightDocument),
        faults=store.faults(),
    )
