"""Views: copies of what the servers hold, kept up to date."""

from rumpus.recipes.view.follower_view import ChildrenView, DataView

__all__ = ["ChildrenView", "DataView"]
