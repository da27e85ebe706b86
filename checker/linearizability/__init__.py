"""Linearizability of any model: the windowed search."""
