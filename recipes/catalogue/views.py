"""Watched views."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.faulty.views import (
    FallsBackDataView,
    NotifiedOnlyChildrenView,
    NotifiedOnlyDataView,
    WatchAfterReadChildrenView,
    WatchAfterReadDataView,
)
from rumpus.recipes.interfaces import Recipe
from rumpus.recipes.kazoo_views import KazooChildrenView, KazooDataView, KazooTreeView
from rumpus.recipes.view import ChildrenView, DataView

VIEWS: Final[Mapping[str, type[Recipe]]] = {
    "data": DataView,
    "children": ChildrenView,
    "kazoo-data-watch": KazooDataView,
    "kazoo-children-watch": KazooChildrenView,
    "kazoo-tree-cache": KazooTreeView,
    "notified-only-data": NotifiedOnlyDataView,
    "notified-only-children": NotifiedOnlyChildrenView,
    "watch-after-read-data": WatchAfterReadDataView,
    "watch-after-read-children": WatchAfterReadChildrenView,
    "falls-back": FallsBackDataView,
}
