"""Service registries."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests import faulty_contests
from rumpus.recipes.contests.common_mutants import FIRST_SESSION, RESTS_AFTER_TIMEOUT
from rumpus.recipes.contests.faulty_calls import DoesNotCatchUp
from rumpus.recipes.registry import faulty_registries
from rumpus.recipes.registry.kazoo_registry import (
    BarePartyRegistry,
    KazooServiceTree,
    KazooServiceWatch,
    PartyRegistry,
)
from rumpus.recipes.registry.service_registry import (
    Registration,
    ServiceRegistry,
    ServiceView,
    Watching,
)
from rumpus.recipes.view import faulty_views


def with_registration(registration: type[Registration]) -> type[ServiceRegistry]:
    """A registry whose entries are kept in another way."""
    return variant(ServiceRegistry, _registration_class=registration)


def with_view(view: type[Watching]) -> type[ServiceRegistry]:
    """A registry whose list is watched in another way."""
    return variant(ServiceRegistry, view=view)


REGISTRIES: Final[Mapping[str, CatalogueEntry[ServiceRegistry]]] = {
    "registry": sound(ServiceRegistry),
    "kazoo-party": sound(PartyRegistry),
    "kazoo-party-bare": sound(BarePartyRegistry),
    "kazoo-children-watch": sound(with_view(KazooServiceWatch)),
    "kazoo-tree-cache": sound(with_view(KazooServiceTree)),
    "persistent": mutant(
        with_registration(variant(Registration, faulty_contests.PersistentNode)),
        "the entry is a persistent node: it outlives the session that registered it",
        {"ghost-entry"},
    ),
    "registered-once": mutant(
        with_registration(faulty_registries.Once),
        "does not register again after its session was lost: it still serves, but is not listed",
        {"missing-entry"},
        printed="L 4.1",
    ),
    "no-lookup": mutant(
        with_registration(variant(Registration, faulty_contests.NoLookup)),
        "registers again after a lost reply without looking for its entry: there are two entries, "
        "and the first one stays when it deregisters",
        {"ghost-entry"},
    ),
    "notified-only": mutant(
        with_view(variant(ServiceView, faulty_views.NotifiedOnly)),
        "its view reads again only when a watch fires: the watches are dropped with the connection",
        {"stale-view"},
    ),
    "unsynced": mutant(
        variant(ServiceRegistry, DoesNotCatchUp),
        "lists without catching up first: a server that lags does not show those that have just "
        "registered, and still shows those that have left",
        {"ghost-entry", "missing-entry"},
    ),
    "rests-after-timeout": mutant(
        faulty_registries.RestsAfterTimeoutRegistry, RESTS_AFTER_TIMEOUT, {"overdue-call"}
    ),
    "returns-early": mutant(
        faulty_registries.ReturnsEarlyRegistry,
        "deregister returns before the entry is gone",
        {"ghost-entry"},
    ),
    "first-session": mutant(
        faulty_registries.FirstSessionRegistry, FIRST_SESSION, {"stuck-waiter"}
    ),
}
