"""Watched views."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.view import faulty_views
from rumpus.recipes.view.follower_view import ChildrenView, DataView
from rumpus.recipes.view.kazoo_views import KazooChildrenView, KazooDataView, KazooTreeView

NOTIFIED_ONLY_DATA: Final = (
    "looks again on a notification only: what changes while the connection is lost is never "
    "told, and its watches are gone with the connection"
)

WATCH_AFTER_READ_DATA: Final = (
    "leaves its watch after the read instead of with it: what changes in between is missed "
    "until the next change"
)

VIEWS: Final[Mapping[str, CatalogueEntry[Recipe]]] = {
    "data": sound(DataView),
    "children": sound(ChildrenView),
    "kazoo-data-watch": sound(KazooDataView),
    "kazoo-children-watch": sound(KazooChildrenView),
    "kazoo-tree-cache": sound(KazooTreeView),
    "notified-only-data": mutant(
        variant(DataView, faulty_views.NotifiedOnly), NOTIFIED_ONLY_DATA, {"stale-view"}
    ),
    "notified-only-children": mutant(
        variant(ChildrenView, faulty_views.NotifiedOnly), NOTIFIED_ONLY_DATA, {"stale-view"}
    ),
    "watch-after-read-data": mutant(
        faulty_views.WatchAfterReadDataView, WATCH_AFTER_READ_DATA, {"stale-view"}
    ),
    "watch-after-read-children": mutant(
        faulty_views.WatchAfterReadChildrenView, WATCH_AFTER_READ_DATA, {"stale-view"}
    ),
    "falls-back": mutant(
        faulty_views.FallsBackDataView,
        "shows the copy that it saved last while the connection is lost, which is older than "
        "what it has shown already",
        {"session-order"},
    ),
}
