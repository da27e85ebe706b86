"""A set of parts that is divided among the members of a group."""

from rumpus.recipes.partitioner.member_partitioner import Partitioner

__all__ = ["Partitioner"]
