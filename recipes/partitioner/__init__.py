"""Sharing out a set among the members of a group."""

from rumpus.recipes.partitioner.member_partitioner import Partitioner

__all__ = ["Partitioner"]
