"""Views: copies of znodes that are kept up to date."""

from rumpus.recipes.view.follower_view import ChildrenView, DataView

__all__ = ["ChildrenView", "DataView"]
