"""Watched views."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.view.faulty_views import (
    FallsBackDataView,
    NotifiedOnlyChildrenView,
    NotifiedOnlyDataView,
    WatchAfterReadChildrenView,
    WatchAfterReadDataView,
)
from rumpus.recipes.view.follower_view import ChildrenView, DataView
from rumpus.recipes.view.kazoo_views import KazooChildrenView, KazooDataView, KazooTreeView

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
