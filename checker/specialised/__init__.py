"""Deciders that need no search: near-linear in the number of operations."""
