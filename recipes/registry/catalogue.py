"""Service registries."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests import faulty_contests
from rumpus.recipes.contests.faulty_calls import DoesNotCatchUp
from rumpus.recipes.registry import faulty_registries
from rumpus.recipes.registry.kazoo_registry import (
    KazooServiceTree,
    KazooServiceWatch,
    PartyRegistry,
)
from rumpus.recipes.registry.service_registry import Registration, ServiceRegistry, ServiceView
from rumpus.recipes.view import faulty_views

REGISTRIES: Final[Mapping[str, CatalogueEntry[ServiceRegistry]]] = {
    "registry": sound(ServiceRegistry),
    "kazoo-party": sound(PartyRegistry),
    "kazoo-children-watch": sound(variant(ServiceRegistry, view=KazooServiceWatch)),
    "kazoo-tree-cache": sound(variant(ServiceRegistry, view=KazooServiceTree)),
    "persistent": mutant(
        variant(
            ServiceRegistry,
            _registration_class=variant(Registration, faulty_contests.PersistentNode),
        ),
        "the entry is persistent: it outlives whoever registered it",
        {"ghost-entry"},
    ),
    "registered-once": mutant(
        variant(ServiceRegistry, _registration_class=faulty_registries.Once),
        "does not register again after its session was lost: it serves on, and nobody finds it",
        {"missing-entry"},
        printed="L 4.1",
    ),
    "no-lookup": mutant(
        variant(
            ServiceRegistry, _registration_class=variant(Registration, faulty_contests.NoLookup)
        ),
        "registers again after a lost reply without looking for its entry: it is listed twice, "
        "and the first entry stays when it deregisters",
        {"ghost-entry"},
    ),
    "notified-only": mutant(
        variant(ServiceRegistry, view=variant(ServiceView, faulty_views.NotifiedOnly)),
        "its view lists again on a notification only: the watches were gone with the connection",
        {"stale-view"},
    ),
    "unsynced": mutant(
        variant(ServiceRegistry, DoesNotCatchUp),
        "lists without a sync: a server that is behind lacks those who have registered, and has "
        "those who have left",
        {"ghost-entry", "missing-entry"},
    ),
    "first-session": mutant(
        faulty_registries.FirstSessionRegistry,
        "registers in its first session only: once that has expired nothing is registered any "
        "more, although the client has a new one",
        {"stuck-waiter"},
    ),
}
