"""The catalogue of views: copies of a znode's data or children, kept up to date by watches."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.catalogue_entry import CatalogueEntry, mutant, sound, variant
from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.view import faulty_views
from rumpus.recipes.view.follower_view import ChildrenView, DataView
from rumpus.recipes.view.kazoo_called_views import (
    KazooChildrenDecoratorView,
    KazooDataDecoratorView,
    KazooTreeListenerView,
)
from rumpus.recipes.view.kazoo_views import KazooChildrenView, KazooDataView, KazooTreeView


def notified_only(view: type[Recipe]) -> CatalogueEntry[Recipe]:
    """A mutant of this view that does not read again after a reconnection."""
    return mutant(
        variant(view, faulty_views.NotifiedOnly),
        "reads again only when its watch fires: kazoo drops watches with the connection, and no "
        "later change is seen",
        {"stale-view"},
    )


def watch_after_read(view: type[Recipe]) -> CatalogueEntry[Recipe]:
    """The entry of a faulty view that reads and sets its watch in two requests."""
    return mutant(
        view,
        "sets its watch in a second request after the read: a change between the two is not seen "
        "until the next change",
        {"stale-view"},
    )


VIEWS: Final[Mapping[str, CatalogueEntry[Recipe]]] = {
    "data": sound(DataView),
    "children": sound(ChildrenView),
    "kazoo-data-watch": sound(KazooDataView),
    "kazoo-children-watch": sound(KazooChildrenView),
    "kazoo-tree-cache": sound(KazooTreeView),
    "kazoo-data-decorator": sound(KazooDataDecoratorView),
    "kazoo-children-decorator": sound(KazooChildrenDecoratorView),
    "kazoo-tree-listener": sound(KazooTreeListenerView),
    "notified-only-data": notified_only(DataView),
    "notified-only-children": notified_only(ChildrenView),
    "watch-after-read-data": watch_after_read(faulty_views.WatchAfterReadDataView),
    "watch-after-read-children": watch_after_read(faulty_views.WatchAfterReadChildrenView),
    "takes-all-for-nodes": mutant(
        faulty_views.TakesAllForNodes,
        "takes every event of a cache for a change of a node: those of a lost connection have no "
        "node, so that its listener raises",
        {"unexpected-error"},
    ),
    "falls-back": mutant(
        faulty_views.FallsBackDataView,
        "while the connection is lost, shows a copy that it saved earlier: clients may see an "
        "older state after a newer one",
        {"session-order"},
    ),
}
