"""Service registries."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.registry.faulty_registries import (
    FirstSessionRegistry,
    NoLookupRegistry,
    NotifiedOnlyRegistry,
    PersistentRegistry,
    RegisteredOnceRegistry,
    UnsyncedRegistry,
)
from rumpus.recipes.registry.kazoo_registry import (
    ChildrenWatchRegistry,
    PartyRegistry,
    TreeCacheRegistry,
)
from rumpus.recipes.registry.service_registry import ServiceRegistry

REGISTRIES: Final[Mapping[str, type[ServiceRegistry]]] = {
    "registry": ServiceRegistry,
    "kazoo-party": PartyRegistry,
    "kazoo-children-watch": ChildrenWatchRegistry,
    "kazoo-tree-cache": TreeCacheRegistry,
    "persistent": PersistentRegistry,
    "registered-once": RegisteredOnceRegistry,
    "no-lookup": NoLookupRegistry,
    "notified-only": NotifiedOnlyRegistry,
    "unsynced": UnsyncedRegistry,
    "first-session": FirstSessionRegistry,
}
